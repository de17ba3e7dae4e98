"""Columns of a file held against those that its samples give.

A row group is written anew, as it would be of what the samples give, and compared: no column of a
score can say anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
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
from fullrecall.table.lists import Integers
from fullrecall.table.part import MemoryPart

_AT_ONCE = 1_024
"""Rows that are held against their samples together."""


def prove(group: RowGroup, methods: Sequence[Method], proofs: Sequence[Proof]) -> None:
    """Raise `ReportError` for a row whose scores do not follow from its sample.

    Rows of a batch that failed have no scores, and are passed over.
    """
    column_of = cache(group.column)
    cells = group.cells(f"{methods[0].name}_status")
    scored = np.array([row for row, cell in enumerate(cells) if cell is not None], np.int64)
    for first in range(0, len(scored), _AT_ONCE):
        rows = scored[first : first + _AT_ONCE]
        samples = [group.sample(row) for row in rows.tolist()]
        for score, (method, proof) in enumerate(zip(methods, proofs, strict=True)):
            statuses = _taken(column_of(f"{method.name}_status"), rows, pa.string()).to_pylist()
            saved = [partial(group.result, row, score) for row in rows.tolist()]
            try:
                part = proof.derived(samples, list(map(str, statuses)), saved)
                _check(column_of, rows, part, method)
            except Contradiction as error:
                raise ReportError(f"{group}: row {rows[error.row]}: {error}") from None


def _taken(column: Any, rows: Integers, kind: pa.DataType) -> Any:
    """Return some rows of a column, which is None where it is null throughout."""
    return pa.array([None] * len(rows), kind) if column is None else column.take(pa.array(rows))


def _check(
    column_of: Callable[[str], Any], rows: Integers, part: MemoryPart, method: Method
) -> None:
    """Raise `Contradiction` for a cell of these rows that is not what their samples give."""
    cells = columns.score_cells(part, 0, method)
    for end, kind in columns.SCORE_COLUMNS.items():
        name = f"{method.name}{end}"
        saved = _taken(column_of(name), rows, kind)
        expected: Any = pa.array(cells.get(end, [None] * len(rows)), kind)
        if saved.equals(expected):
            continue
        for row, pair in enumerate(zip(saved.to_pylist(), expected.to_pylist(), strict=True)):
            problem = _difference(*pair, name)
            if problem is not None:
                raise Contradiction(row, problem)


def _difference(saved: Any, derived: Any, name: str) -> str | None:
    """Return how a cell differs; an empty list is as good as none."""
    if not saved and not derived and saved != 0.0 and derived != 0.0:
        return None
    if not name.endswith("_details") or saved is None or derived is None:
        return difference(saved, derived, name)
    try:
        return difference(parsed(saved), parsed(derived), name)
    except (ReportError, ValueError) as error:
        return f"{name} must be {shown(derived)}, as the sample gives, got {shown(saved)}: {error}"
