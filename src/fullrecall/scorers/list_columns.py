"""Columns of lists of whole numbers, as Arrow has them: recall of all rows by array arithmetic.

IDs that are texts become the numbers of their places in one dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from fullrecall.measures.ranks import NOWHERE, RankRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.signedinteger[Any]]

_MOST_COMPARED = 20_000
"""Pairs of a retrieved and a reference ID in a row: with more, sets are faster."""

_CELLS = 100_000
"""Retrieved IDs that are compared at once: as many as a processor's cache holds."""

_MOST_SMALL = 2**31
"""Numbers below it take half of the time."""


class Lists(NamedTuple):
    """A column of lists: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Integers
    offsets: Integers

    @property
    def longest(self) -> int:
        """How many values the longest row has."""
        return int((self.offsets[1:] - self.offsets[:-1]).max(initial=0))

    def padded(self, start: int, stop: int, fill: int) -> Integers:
        """Return rows as a matrix, shorter ones filled up."""
        import numpy as np

        offsets = self.offsets[start : stop + 1]
        lengths = offsets[1:] - offsets[:-1]
        width = int(lengths.max(initial=0))
        values = self.values[offsets[0] : offsets[-1]]
        if len(values) == width * len(lengths):
            return values.reshape(len(lengths), width)
        matrix = np.full((len(lengths), width), fill, dtype=values.dtype)
        matrix[np.arange(width) < lengths[:, None]] = values
        return matrix


def as_lists(retrieved: Any, references: Any) -> tuple[Lists, Lists] | None:
    """Return two Arrow columns of lists of IDs as numbers; None for any others.

    None, too, where a list or an ID is missing or blank, or is neither text nor whole number. A
    number below 0 stands for an ID that is no reference.
    """
    import pyarrow as pa

    found, wanted = _flat(retrieved), _flat(references)
    if found is None or wanted is None:
        return None
    types = [values.type for values, _ in (found, wanted)]
    if all(map(pa.types.is_signed_integer, types)):
        numbers = _numbers(found[0], wanted[0])
    elif all(pa.types.is_string(one) or pa.types.is_large_string(one) for one in types):
        numbers = _codes(found[0], wanted[0])
    else:
        return None
    if numbers is None:
        return None
    return Lists(numbers[0], found[1]), Lists(numbers[1], wanted[1])


def _flat(column: Any) -> tuple[Any, Integers] | None:
    """Return the values of an Arrow column of lists, and their offsets; None if any is missing."""
    import pyarrow as pa

    whole: Any = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    is_list = pa.types.is_list(whole.type) or pa.types.is_large_list(whole.type)
    if not is_list or not len(whole) or whole.null_count:
        return None
    offsets = whole.offsets.to_numpy().astype("int64")
    values = whole.values.slice(offsets[0], offsets[-1] - offsets[0])
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return None if values.null_count else (values, offsets - offsets[0])


def _numbers(found: Any, wanted: Any) -> tuple[Integers, Integers] | None:
    columns = [values.to_numpy() for values in (found, wanted)]
    if any(column.min(initial=0) < 0 for column in columns):
        return None  # -1 and -2 stand for what is not there
    small = all(column.max(initial=0) < _MOST_SMALL for column in columns)
    both = [column.astype("int32" if small else "int64") for column in columns]
    return both[0], both[1]


def _codes(found: Any, wanted: Any) -> tuple[Integers, Integers] | None:
    """Return texts as the places of references in their dictionary; -3 for any other text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if any(pc.min(pc.binary_length(texts)).as_py() == 0 for texts in (found, wanted)):
        return None
    coded = wanted.cast(pa.large_string()).dictionary_encode()
    places = pc.index_in(found.cast(pa.large_string()), value_set=coded.dictionary)
    return places.fill_null(-3).to_numpy(), coded.indices.to_numpy()


def first_ranks(retrieved: Lists, references: Lists) -> Iterator[RankRows] | None:
    """Return an iterator over the ranks of all rows, many at once; None if sets are faster."""
    width = retrieved.longest
    if width * references.longest > _MOST_COMPARED:
        return None
    return _first_ranks(retrieved, references, max(1, _CELLS // max(1, width)))


def _first_ranks(retrieved: Lists, references: Lists, step: int) -> Iterator[RankRows]:
    import numpy as np

    rows = len(references.offsets) - 1
    for start in range(0, rows, step):
        stop = min(rows, start + step)
        listed = retrieved.padded(start, stop, -1)
        wanted = np.sort(references.padded(start, stop, -2), axis=1)
        counted = wanted >= 0
        counted[:, 1:] &= wanted[:, 1:] != wanted[:, :-1]  # a reference given twice is one
        ranks = np.full(wanted.shape, NOWHERE, dtype=np.int64)
        for column in range(wanted.shape[1] if listed.shape[1] else 0):
            same = listed == wanted[:, column : column + 1]
            first = same.argmax(axis=1)
            there = same[np.arange(len(same)), first] & counted[:, column]
            ranks[there, column] = first[there] + 1
        ranks.sort(axis=1)
        offsets = retrieved.offsets[start : stop + 1]
        yield RankRows(counted.sum(axis=1), ranks, offsets[1:] - offsets[:-1])


def recalls(
    retrieved: Lists, references: Lists, ks: tuple[int | None, ...]
) -> list[Sequence[float] | None] | None:
    """Return recall at each of `ks` for each row, None for a row without references.

    None for all where sets would be faster.
    """
    import numpy as np

    found = first_ranks(retrieved, references)
    if found is None:
        return None
    made: list[Sequence[float] | None] = []
    for rows in found:
        start = len(made)
        counts = np.array([rows.within(k) for k in ks], dtype=np.int64)
        shares = counts.reshape(len(ks), len(rows.targets)).T / np.maximum(rows.targets, 1)[:, None]
        made += shares.tolist()
        for row in np.flatnonzero(rows.targets == 0):
            made[start + int(row)] = None
    return made


def is_arrow(column: Any) -> TypeGuard[Any]:
    """Return whether a column is one of pyarrow's, without loading it."""
    return type(column).__module__.partition(".")[0] == "pyarrow"
