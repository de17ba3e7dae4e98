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
from fullrecall.result import Method, Result, Status
from fullrecall.results.files import columns
from fullrecall.results.files.json_lines import parsed
from fullrecall.results.files.proof import Proof, difference
from fullrecall.results.files.row_groups import RowGroup
from fullrecall.sample import Sample
from fullrecall.table.lists import Integers
from fullrecall.table.part import MemoryPart, Rescored, ScoreColumns

_AT_ONCE = 1_024
"""Rows that are held against their samples together."""


def prove(group: RowGroup, methods: Sequence[Method], proofs: Sequence[Proof]) -> None:
    """Raise `ReportError` for a row whose scores do not follow from its sample.

    Rows of a batch that failed have no scores, and are passed over.
    """
    statuses = [group.cells(f"{method.name}_status") for method in methods]
    scored = np.array([row for row, told in enumerate(statuses[0]) if told is not None], np.int64)
    saved = [_Saved(group, score, method) for score, method in enumerate(methods)]
    for first in range(0, len(scored), _AT_ONCE):
        rows = scored[first : first + _AT_ONCE]
        samples = [group.sample(row) for row in rows.tolist()]
        for one, proof, told in zip(saved, proofs, statuses, strict=True):
            one.check(rows, samples, proof, [told[row] for row in rows.tolist()])


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
        derived = self._derived(rows, samples, proof, statuses)
        for name in self._schema.names:
            own = derived.column(name).combine_chunks()
            column = self._columns[name]
            some = pa.nulls(len(rows), own.type) if column is None else column.take(pa.array(rows))
            if some.equals(own):
                continue
            for row, problem in _differences(some.to_pylist(), own.to_pylist(), name):
                raise ReportError(f"{self._group}: row {rows[row]}: {problem}")

    def _derived(
        self, rows: Integers, samples: Sequence[Sample], proof: Proof, statuses: Sequence[str]
    ) -> pa.Table:
        """Return the columns that samples give."""
        together: ScoreColumns | None = None
        if str(Status.UNSCORED) not in statuses:  # maybe by its run
            together = proof.columns(samples)
        if together is None:
            results = self._results(rows, samples, proof, statuses)
            part = MemoryPart.of(samples, [(result,) for result in results])
        else:
            later = Rescored(proof.score, follows=True)
            part = MemoryPart(samples, [together], [later])
        cells = columns.score_cells(part, 0, self._method)
        every = {field.name: pa.nulls(len(rows), field.type) for field in self._schema}
        own = {f"{self._method.name}{end}": values for end, values in cells.items()}
        return pa.table({**every, **own}, schema=self._schema)

    def _results(
        self, rows: Integers, samples: Sequence[Sample], proof: Proof, statuses: Sequence[str]
    ) -> list[Result]:
        results = []
        for row, sample, status in zip(rows.tolist(), samples, statuses, strict=True):
            if proof.asks_nobody and status != Status.UNSCORED:
                results.append(proof.score(sample))
            else:
                results.append(proof.result(sample, self._group.result(row, self._score)))
        return results


def _differences(told: list[Any], derived: list[Any], name: str) -> Iterator[tuple[int, str]]:
    """Yield the rows that differ, and how; an empty list is as good as none."""
    for row, (one, other) in enumerate(zip(told, derived, strict=True)):
        if name.endswith("_details") and one is not None and other is not None:
            problem = _difference_of_details(one, other, name)
        elif not one and not other and one != 0.0 and other != 0.0:
            continue
        else:
            problem = difference(one, other, name)
        if problem is not None:
            yield row, problem


def _difference_of_details(told: str, derived: str, name: str) -> str | None:
    try:
        return difference(parsed(told), parsed(derived), name)
    except (ReportError, ValueError) as error:
        return f"{name} must be {shown(derived)}, as the sample gives, got {shown(told)}: {error}"
