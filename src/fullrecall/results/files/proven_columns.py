"""Columns of a file held against those that its samples give.

A row group is written anew, as it would be of what the samples give, and compared: no column of a
score can say anything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fullrecall.errors import ReportError
from fullrecall.identifiers import shown
from fullrecall.result import Method
from fullrecall.results.files import columns
from fullrecall.results.files.plain import parsed
from fullrecall.results.files.proof import Contradiction, Proof, difference
from fullrecall.results.files.row_groups import RowGroup
from fullrecall.sample import Sample
from fullrecall.table.lists import Integers

_AT_ONCE = 1_024
"""Rows that are held against their samples together."""


def prove(group: RowGroup, methods: Sequence[Method], proofs: Sequence[Proof]) -> None:
    """Raise `ReportError` for a row whose scores do not follow from its sample.

    Rows of a batch that failed have no scores, and are passed over.
    """
    statuses = [group.cells(f"{method.name}_status") for method in methods]
    scored = np.array([row for row, cells in enumerate(statuses[0]) if cells is not None], np.int64)
    saved = [_Saved(group, score, method) for score, method in enumerate(methods)]
    for first in range(0, len(scored), _AT_ONCE):
        rows = scored[first : first + _AT_ONCE]
        samples = [group.sample(row) for row in rows.tolist()]
        for each, proof, cells in zip(saved, proofs, statuses, strict=True):
            each.check(rows, samples, proof, [cells[row] for row in rows.tolist()])


class _Saved:
    """The columns of one score, as a file has them."""

    def __init__(self, group: RowGroup, score: int, method: Method) -> None:
        self._group = group
        self._score = score
        self._method = method
        self._schema = pa.schema(
            [(f"{method.name}{end}", kind) for end, kind in columns.SCORE_COLUMNS.items()]
        )
        self._columns = {name: group.column(name) for name in self._schema.names}

    def check(
        self, rows: Integers, samples: Sequence[Sample], proof: Proof, statuses: Sequence[str]
    ) -> None:
        """Raise `ReportError` for a cell of these rows that is not what their samples give."""
        try:
            part = proof.derived(
                samples, statuses, lambda row: self._group.result(int(rows[row]), self._score)
            )
        except Contradiction as error:
            raise ReportError(f"{self._group}: row {rows[error.row]}: {error}") from None
        cells = columns.score_cells(part, 0, self._method)
        own = {f"{self._method.name}{end}": values for end, values in cells.items()}
        derived = columns.filled(own, self._schema, len(rows))
        for name in self._schema.names:
            expected = derived.column(name).combine_chunks()
            column = self._columns[name]
            some = (
                pa.nulls(len(rows), expected.type)
                if column is None
                else column.take(pa.array(rows))
            )
            if some.equals(expected):
                continue
            for row, problem in _differences(some.to_pylist(), expected.to_pylist(), name):
                raise ReportError(f"{self._group}: row {rows[row]}: {problem}")


def _differences(cells: list[Any], derived: list[Any], name: str) -> Iterator[tuple[int, str]]:
    """Yield the rows that differ, and how; an empty list is as good as none."""
    for row, (each, other) in enumerate(zip(cells, derived, strict=True)):
        if name.endswith("_details") and each is not None and other is not None:
            problem = _difference_of_details(each, other, name)
        elif not each and not other and each != 0.0 and other != 0.0:
            continue
        else:
            problem = difference(each, other, name)
        if problem is not None:
            yield row, problem


def _difference_of_details(saved: str, derived: str, name: str) -> str | None:
    try:
        return difference(parsed(saved), parsed(derived), name)
    except (ReportError, ValueError) as error:
        return f"{name} must be {shown(derived)}, as the sample gives, got {shown(saved)}: {error}"
