"""Rows that are no samples: set aside with the reason, so that one of them ends no job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fullrecall.errors import InputError
from fullrecall.read.rows import FIELDS, Columns, sample_of
from fullrecall.result import Result, Status
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import BAD_ROW, Scorer

_KEPT = ("id", "user_input", "group")
"""What is kept of a row that is no sample, as far as it can be read."""


def sample_or_problem(
    row: Mapping[Any, Any], columns: Columns, cell: Callable[[Any], Any]
) -> tuple[Sample, str]:
    """Return the sample of a row and "", or what is left of it and why it is none.

    Raises `InputError` for a column that no sample has: that is no matter of the row.
    """
    try:
        for value in row.values():
            if isinstance(value, InputError):
                raise value
        return sample_of(row, columns, cell), ""
    except InputError as error:
        if error.field in row and columns.field(str(error.field)) not in FIELDS:
            raise
        return _left_of(row, columns, cell), error.problem


def unscored(scorers: Sequence[Scorer], problem: str) -> tuple[Result, ...]:
    """Return the results of a row that is no sample."""
    note = f"{BAD_ROW}: {problem}"
    return tuple(Result(scorer.method, Status.UNSCORED, note=note) for scorer in scorers)


def _left_of(row: Mapping[Any, Any], columns: Columns, cell: Callable[[Any], Any]) -> Sample:
    fields: dict[str, Any] = {}
    for column, value in row.items():
        name = columns.field(column)
        if isinstance(name, str) and FIELDS.get(name) in _KEPT:
            try:
                fields |= columns.renamed({column: cell(value)})
                Sample(**fields)
            except InputError:
                fields.pop(name, None)
    return Sample(**fields)
