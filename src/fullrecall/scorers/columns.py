"""ID recall over whole columns: the numbers of `IdRecall.score`, with no object for each row.

For tables of millions of rows, where only the scores are wanted. What needs findings (the
missed IDs, precision, nDCG) is asked of `IdRecall.score`, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

from fullrecall.dataframes import Backend, frame_of
from fullrecall.errors import InputError
from fullrecall.identifiers import of_array
from fullrecall.measures import Measure, Recall
from fullrecall.result import Result, Status
from fullrecall.sample import Sample
from fullrecall.scorers import list_columns

_UNEVEN = object()
_LISTS = frozenset({list, tuple})
_COLLECTIONS = _LISTS | {set, frozenset}
_NUMBERS = frozenset({int, float})


@dataclass(frozen=True)
class ColumnScores:
    """Recall of each row at each k, in row order.

    `recall[i]` holds one float in [0, 1] for each of `ks` (None among them is the whole list),
    or is None where row i has no score; then `gaps[i]` tells its status and why.
    """

    ks: tuple[int | None, ...]
    recall: Sequence[Sequence[float] | None]
    gaps: dict[int, tuple[Status, str]]

    def at(self, k: int | None) -> list[float | None]:
        """Return the column of recall@k; raises `KeyError` for a k that was not asked for."""
        if k not in self.ks:
            raise KeyError(f"k must be one of ks={self.ks}, got {k!r}")
        position = self.ks.index(k)
        return [None if row is None else row[position] for row in self.recall]

    def mean(self, k: int | None) -> float | None:
        """Return the mean recall@k over the rows that have one; None if none has."""
        scored = [value for value in self.at(k) if value is not None]
        return sum(scored) / len(scored) if scored else None

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return one row per row and one column per k: `recall@k`, or `recall` for all.

        The library is chosen, and errors are raised, as in `Report.to_frame`.
        """
        columns = dict.fromkeys(("recall" if k is None else f"recall@{k}" for k in self.ks), float)
        nothing = (None,) * len(self.ks)
        rows = (nothing if row is None else row for row in self.recall)
        return frame_of(columns, rows, backend, "ColumnScores.to_frame()")


def score_columns(
    retrieved: Iterable[Any],
    references: Iterable[Any],
    *,
    ks: tuple[int | None, ...],
    score: Callable[[Sample], Result],
) -> ColumnScores:
    """Return recall at `ks` for columns of retrieved and reference IDs.

    Arrow columns of lists of whole numbers or of texts are counted as arrays, a row that is a list
    or tuple of `str` or `int`, or for references a set or a mapping of them, is counted in place;
    `score` takes any other form that a `Sample` takes. Raises `InputError` for columns of different
    lengths, and naming the row for values that are no IDs.
    """
    recalls: list[Sequence[float] | None] = []
    gaps: dict[int, tuple[Status, str]] = {}
    cuts = [slice(start, end) for start, end in pairwise((0, *ks))]
    if list_columns.is_arrow(retrieved) and list_columns.is_arrow(references):
        whole = _of_lists(retrieved, references, ks)
        if whole is not None:
            return whole
    measures = [Recall if k is None else Recall @ k for k in ks]
    retrieved, references = map(_as_rows, (retrieved, references))
    for row, (given, wanted) in enumerate(_rows(retrieved, references)):
        ids: Any = given if type(given) in _LISTS else of_array(given)
        missing = _plain(ids, wanted)
        if missing:
            total = len(missing)
            at = []
            for cut in cuts:
                # Each stretch of the ranking is read once; what it holds is struck off.
                missing.difference_update(ids[cut])
                at.append((total - len(missing)) / total)
            recalls.append(at)
            continue
        result = score(_sample(row, given, wanted))
        if result.status is not Status.SCORED:
            gaps[row] = (result.status, result.reason)
        recalls.append(_recalls(result, measures))
    return ColumnScores(ks, recalls, gaps)


def _of_lists(retrieved: Any, references: Any, ks: tuple[int | None, ...]) -> ColumnScores | None:
    """Return the scores of two Arrow columns; None where they have to be read row by row."""
    lists = list_columns.as_lists(retrieved, references)
    if lists is None or len(lists[0].offsets) != len(lists[1].offsets):
        return None
    recall = list_columns.recalls(*lists, ks)
    if recall is None:
        return None
    undefined = (Status.UNDEFINED, "no reference items")
    return ColumnScores(ks, recall, {n: undefined for n, row in enumerate(recall) if row is None})


def _plain(ids: Any, wanted: Any) -> set[Any]:
    """Return the reference IDs where both have `str` alone, or `int`, in order; else nothing."""
    if type(wanted) not in _COLLECTIONS:
        wanted = _relevant(wanted) if type(wanted) is dict else of_array(wanted)
    if type(ids) not in _LISTS or not wanted:
        return set()
    if type(next(iter(wanted))) is int:
        # Whole numbers are equal where their texts are; a `bool` is no ID.
        both = {*map(type, ids), *map(type, wanted)}
        return set(wanted) if both == {int} else set()
    try:
        # Raises for whatever is no str, at a third of the cost of looking at each type.
        all_blank = ids and not "".join(ids)
        "".join(wanted)
    except TypeError:
        return set()
    if all_blank:
        return set()
    missing = set(wanted)
    missing.discard("")
    return missing


def _relevant(graded: dict[Any, Any]) -> list[Any]:
    """Return the IDs of a mapping to grades above 0; nothing where one is another, or no number."""
    grades = graded.values()
    plain = _NUMBERS.issuperset(map(type, grades)) and all(0 < grade < inf for grade in grades)
    return [*graded] if plain else []


def _as_rows(column: Iterable[Any]) -> Iterable[Any]:
    """Return a column of Arrow or polars as Python's own values, which are made faster at once."""
    package = type(column).__module__.partition(".")[0]
    name = {"polars": "to_list", "pyarrow": "to_pylist"}.get(package)
    given: Iterable[Any] = column if name is None else getattr(column, name, lambda: column)()
    return given


def _rows(retrieved: Iterable[Any], references: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    row = 0
    ids, wanted = iter(retrieved), iter(references)
    for pair in zip(ids, wanted, strict=False):
        yield pair
        row += 1
    if next(ids, _UNEVEN) is not _UNEVEN or next(wanted, _UNEVEN) is not _UNEVEN:
        raise InputError(
            f"the columns have different lengths: one ends after {row} rows, another does not"
        )


def _sample(row: int, ids: Any, wanted: Any) -> Sample:
    try:
        return Sample(retrieved_context_ids=ids, reference_context_ids=wanted)
    except InputError as error:
        raise error.at(path=f"row {row}") from None


def _recalls(result: Result, measures: Sequence[Measure]) -> list[float] | None:
    values = [result[measure] for measure in measures]
    return None if None in values else [value for value in values if value is not None]
