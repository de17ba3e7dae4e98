"""Score rows that have only IDs: column by column, without making a sample for each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fullrecall._util.dataframes import is_missing
from fullrecall.files.cells import cell_of
from fullrecall.files.formats import RawRow
from fullrecall.files.paths import Condition
from fullrecall.files.plans import ReadPlan
from fullrecall.scorers.id_samples import FIELDS, ScoredIds, cells_of


def scored_rows(
    rows: Sequence[RawRow],
    plan: ReadPlan,
    keys: Mapping[str, None],
    cell: Callable[[Any], Any] | None,
) -> ScoredIds | None:
    """Return the scores of rows that have only IDs; None for rows with other data.

    `keys` are the columns that the rows have. `cell` converts a cell's value to plain form.
    """
    columns = _columns_of(plan)
    if not columns.keys() <= FIELDS:
        return None
    by_column = cells_of(rows, set(columns.values()))
    cells: dict[str, Any] = {name: by_column[column] for name, column in columns.items()}
    if keys.keys() - plan.taken or "metadata" in keys:
        values = (
            ({key: cell(value) for key, value in row.items()} for row in rows) if cell else rows
        )
        cells["metadata"] = [plan.metadata_of(row, None, {}) for row in values]

    def read(name: str, value: Any) -> Any:
        if name == "metadata":
            return value
        value = value if cell is None else cell(value)
        if is_missing(value):
            return None
        return cell_of(name, columns[name], value)

    return ScoredIds.of_cells(cells, read)


def _columns_of(plan: ReadPlan) -> dict[str, str]:
    """Return the column of each field; add the key "" if any field's path is not just a column."""
    columns = {}
    for name, path in plan.paths.items():
        is_other = isinstance(path, Condition) and (path.is_negated or path.pattern is not None)
        column = (path.path if isinstance(path, Condition) else path).column
        columns["" if is_other or column is None else name] = column or ""
    return columns
