"""Totals of ID recall over whole Arrow columns: what `evaluate` totals, with no object for a row.

Only where nothing else is asked: `IdRecall`, read by measures of ranks, of columns that hold what
their type says. Rows with a missing list are left to whoever reads row by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from fullrecall.read.rows import FIELDS, Columns
from fullrecall.report.tally import Tallies
from fullrecall.scorers import list_columns
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LISTS = ("retrieved_context_ids", "reference_context_ids")
_NAMES = ("id", "group")
_IGNORED = ("user_input", "reference", "response")
"""Texts that change nothing of what is totaled."""


def asks_for_columns(scorers: Sequence[Scorer], tallies: Tallies) -> bool:
    """Whether columns are enough for these scorers and for what is counted of them."""
    return all(type(scorer) is IdRecall for scorer in scorers) and tallies.counts_ranks


def fields_of(table: Any, columns: Columns) -> Mapping[str, Any] | None:
    """Return the columns of an Arrow table by the fields that they hold; None if rows are needed.

    That is where a column holds anything but the IDs, names and texts that a sample takes.
    """
    import pyarrow as pa

    found: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        given = columns.field(name)
        if given is None:
            continue
        field = FIELDS.get(given)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        whole = pa.types.is_integer(column.type)
        if (
            field is None
            or field in found
            or (field in _NAMES and not (text or whole))
            or (field in _IGNORED and not text)
            or field not in (*_LISTS, *_NAMES, *_IGNORED)
        ):
            return None
        found[field] = column
        columns.renamed({name: None})  # it was met
    return found if all(name in found for name in _LISTS) else None


def count(found: Mapping[str, Any], tallies: Tallies) -> NDArray[np.signedinteger[Any]] | None:
    """Count the rows of these columns; return the places of those that are not counted.

    Those have no list, or a list with a gap or a blank text: whoever reads row by row says what is
    wrong with them. None where nothing was counted: a list holds what is no plain ID.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    retrieved, references = (_whole(found[name]) for name in _LISTS)
    there = pc.and_(_is_whole(retrieved), _is_whole(references))
    left: NDArray[np.signedinteger[Any]] = np.flatnonzero(~there.to_numpy(zero_copy_only=False))
    names = {name: _whole(found[name]) for name in _NAMES if name in found}
    if len(left):
        retrieved, references = (column.filter(there) for column in (retrieved, references))
        names = {name: column.filter(there) for name, column in names.items()}
    lists = list_columns.as_lists(retrieved, references)
    ranked = None if lists is None else list_columns.first_ranks(*lists)
    if ranked is None:
        return None
    ids, groups = (
        names[name].cast(pa.string()).to_pylist() if name in names else None for name in _NAMES
    )
    if groups is None or not any(group is not None for group in groups):
        for rows in ranked:
            tallies.add_rank_rows(rows)
        for name in ids or ():
            if name is not None:
                tallies.ids.add(name)
        return left
    named = zip(ids or repeat(None), groups, strict=False)
    for rows in ranked:
        for hits, targets, retrieved in rows.told():
            tallies.add_ranks(hits, targets, retrieved, *next(named))
    return left


def _is_whole(column: Any) -> Any:
    """Return which rows of a column of lists have a list, and in it an ID at each place."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    there = pc.is_valid(column)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return there
    values = column.flatten()
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    gaps = pc.is_null(values)
    if text:
        gaps = pc.or_kleene(gaps, pc.equal(pc.binary_length(values), pa.scalar(0)))
    if not pc.any(gaps).as_py():
        return there
    whole = there.to_numpy(zero_copy_only=False).copy()
    whole[np.unique(pc.list_parent_indices(column).filter(gaps).to_numpy())] = False
    return pa.array(whole)


def _whole(column: Any) -> Any:
    import pyarrow as pa

    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
