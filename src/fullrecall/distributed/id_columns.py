"""Totals of ID recall over whole Arrow columns: what `evaluate` totals, with no object for a row.

Only where nothing else is asked: `IdRecall` alone, read by plain recall at any k, of columns that
hold what their type says. Rows with a missing list are left to whoever reads row by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fullrecall.datasets.rows import FIELDS, Columns
from fullrecall.measures import Measure, Recall
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


def asks_for_columns(scorers: Sequence[Scorer], measures: Sequence[Measure]) -> bool:
    """Whether columns are enough for these scorers, read by these measures."""
    one = scorers[0]
    return (
        len(scorers) == 1
        and type(one) is IdRecall
        and all(measure.whole == Recall for measure in measures)
    )


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

    None where nothing was counted: a list holds what is no plain ID.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    retrieved, references = (_whole(found[name]) for name in _LISTS)
    there = pc.and_(pc.is_valid(retrieved), pc.is_valid(references))
    left: NDArray[np.signedinteger[Any]] = np.flatnonzero(~there.to_numpy(zero_copy_only=False))
    names = {name: _whole(found[name]) for name in _NAMES if name in found}
    if len(left):
        retrieved, references = (column.filter(there) for column in (retrieved, references))
        names = {name: column.filter(there) for name, column in names.items()}
    lists = list_columns.as_lists(retrieved, references)
    if lists is None:
        return None
    (score,) = tallies.scores
    measures = list(score.totals)
    recalls = list_columns.recalls(*lists, tuple(measure.k for measure in measures))
    if recalls is None:
        return None
    ids, groups = (
        names[name].cast(pa.string()).to_pylist() if name in names else None for name in _NAMES
    )
    tallies.add_values(recalls, ids, groups)
    return left


def _whole(column: Any) -> Any:
    import pyarrow as pa

    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
