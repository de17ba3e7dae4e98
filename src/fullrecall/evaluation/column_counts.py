"""A batch of which only the totals of ID recall are kept: counted by columns, without rows.

For Arrow tables, and frames that turn into them, with columns of lists of IDs. Any other batch is
read row by row, with the same totals and errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fullrecall.datasets.rows import FIELDS
from fullrecall.evaluation.tables import Table
from fullrecall.identifiers import as_id
from fullrecall.report.report import Report
from fullrecall.scorers import list_columns
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    from fullrecall.datasets.rows import Rename

_LISTS = ("retrieved_context_ids", "reference_context_ids")
_TEXTS = frozenset({"user_input", "reference", "response"})


def count_columns(
    table: Table, rename: Rename | None, position: str | None, scorers: Sequence[Scorer], to: Report
) -> bool:
    """Count a batch in a report that keeps totals; return False, nothing counted, if it cannot."""
    if to.tallies is None or not to.tallies.counts_ranks:
        return False
    if not all(type(scorer) is IdRecall for scorer in scorers):
        return False
    arrow = table.arrow()
    if arrow is None or not arrow.num_rows:
        return False
    columns = _columns(arrow, dict(rename or {}), position)
    if columns is None:
        return False
    lists = list_columns.as_lists(*(columns[name] for name in _LISTS))
    found = None if lists is None else list_columns.first_ranks(*lists)
    if found is None:
        return False
    names = columns["id"].to_pylist() if "id" in columns else ()
    ids = [as_id(name) for name in names if name is not None]
    for ranks in found:
        to.tallies.add_rank_rows(ranks)
    for name in ids:
        to.tallies.ids.add(name)
    return True


def _columns(
    arrow: Any, rename: dict[str, str | None], position: str | None
) -> dict[str, Any] | None:
    """Return the columns by the fields of a sample; None where one is not plain."""
    import pyarrow as pa

    fields: dict[str, Any] = {}
    if rename.keys() - set(arrow.column_names):
        return None
    for name in arrow.column_names:
        column = arrow[name]
        whole = pa.types.is_integer(column.type)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if name == position:
            if not whole or column.null_count:
                return None
            continue
        renamed = rename.get(name, name)
        if renamed is None:
            continue
        field = FIELDS.get(renamed)
        empty = column.null_count == len(column)
        plain = (
            field in _LISTS
            or (field in _TEXTS and text)
            or (field == "id" and (text or whole))
            or (field == "group" and empty)
        )
        if field is None or field in fields or not plain:
            return None
        fields[field] = column
    return fields if fields.keys() >= set(_LISTS) else None
