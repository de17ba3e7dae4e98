"""Lists of the IDs of many rows, stored together, without an object for each list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fullrecall._util.dataframes import FrameColumn
from fullrecall.measures.lists import Integers, offsets_of
from fullrecall.scorers.scorer import first_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullrecall.scorers.arrow_ids import ArrowIds

_ROWS = 128
"""The number of rows whose IDs are processed together: so few stay in the processor's cache while
they are read several times.
"""


_FEW = 400
"""The most pairs of a retrieved and a reference ID in a row that are compared one by one; for more,
one pass over the retrieved IDs is faster.
"""


class IdLists(NamedTuple):
    """Lists of IDs, as texts or whole numbers.

    `offsets` has the number of IDs before each row; its last item is the number of all IDs. Each of
    `pieces` has the IDs of `_ROWS` rows, since one long list would be copied while it grows.
    """

    pieces: Sequence[Sequence[Any]]
    offsets: Integers

    @classmethod
    def of(cls, lists: Sequence[Sequence[Any]]) -> IdLists:
        """Return a copy of lists of IDs."""
        parts = (lists[start : start + _ROWS] for start in range(0, len(lists), _ROWS))
        pieces = [joined(part) for part in parts]
        return cls(pieces, offsets_of(map(len, lists)))

    @property
    def counts(self) -> Integers:
        """The number of IDs of each row."""
        return np.diff(self.offsets)

    @property
    def names(self) -> Sequence[str]:
        """All IDs as texts."""
        return texts_of(joined(self.pieces))

    def of_row(self, row: int) -> Sequence[str]:
        """Return the IDs of one row as texts."""
        piece, nth = divmod(row, _ROWS)
        start, end, before = self.offsets[row], self.offsets[row + 1], self.offsets[row - nth]
        return texts_of(tuple(self.pieces[piece][start - before : end - before]))


def joined(lists: Iterable[Sequence[Any]]) -> list[Any]:
    """Return the items of all lists in one list; this is faster than `itertools.chain`."""
    items: list[Any] = []
    for each in lists:
        items += each
    return items  # a copy as a tuple would be smaller by some percent, but takes longer


def texts_of(ids: Sequence[Any]) -> Sequence[str]:
    """Return IDs as texts."""
    return ids if set(map(type, ids)) <= {str} else list(map(str, ids))


class FoundIds(NamedTuple):
    """The retrieved IDs and the distinct references of rows.

    `first` has the 1-based position of each reference in its row's retrieved IDs, 0 if missed.
    """

    retrieved: IdLists | ArrowIds
    references: IdLists | ArrowIds
    first: Sequence[int] | NDArray[np.int32]

    @classmethod
    def of(cls, retrieved: Sequence[Any], references: Sequence[Any]) -> FoundIds | None:
        """Find the references of each row among its retrieved IDs.

        Returns None if a column has a blank ID, or an item that is not a plain list of IDs.
        """
        if isinstance(retrieved, FrameColumn) and isinstance(references, FrameColumn):
            found = cls._of_arrow(retrieved, references)
            if found is not None:
                return found
        return cls._of_lists(list(retrieved), list(references))

    @classmethod
    def _of_arrow(cls, retrieved: FrameColumn, references: FrameColumn) -> FoundIds | None:
        from fullrecall.scorers.arrow_ids import ArrowIds

        found, wanted = (ArrowIds.of(each.arrow, _SEPARATORS) for each in (retrieved, references))
        if found is None or wanted is None:
            return None
        return cls(found, *wanted.found_in(found))

    @classmethod
    def _of_lists(cls, retrieved: Sequence[Any], references: Sequence[Any]) -> FoundIds | None:
        pieces: list[Sequence[Any]] = []
        reference_pieces: list[Sequence[Any]] = []
        lengths: list[int] = []
        first: list[int] = []
        for start in range(0, len(retrieved), _ROWS):
            part = slice(start, start + _ROWS)
            found, wanted = plain_lists(retrieved[part]), plain_lists(references[part])
            if found is None or wanted is None or "" in wanted.ids:
                return None
            # The number 1 and the text "1" are the same ID.
            if found.are_numbers is not wanted.are_numbers:
                found, wanted = found.as_texts, wanted.as_texts
            positions, blank, is_repeated = first_ranks(found.lists, wanted.lists)
            if blank:
                return None
            if is_repeated:
                wanted = wanted.distinct
                positions, _, _ = first_ranks(found.lists, wanted.lists)
            pieces.append(found.ids)
            reference_pieces.append(wanted.ids)
            lengths += map(len, wanted.lists)
            first += positions
        lists = IdLists(pieces, offsets_of(map(len, retrieved)))
        return cls(lists, IdLists(reference_pieces, offsets_of(lengths)), first)


class PlainLists(NamedTuple):
    """Lists of texts or of whole numbers; `ids` has the items of all lists."""

    lists: Sequence[Sequence[Any]]
    ids: Sequence[Any]

    @property
    def are_numbers(self) -> bool:
        """Whether the items are whole numbers."""
        return len(self.ids) > 0 and type(self.ids[0]) is int

    @property
    def as_texts(self) -> PlainLists:
        """The same lists with texts as items."""
        names, ends = texts_of(self.ids), accumulate(map(len, self.lists), initial=0)
        return PlainLists([names[start:end] for start, end in pairwise(ends)], names)

    @property
    def distinct(self) -> PlainLists:
        """The same lists without repetitions, in order of first appearance."""
        lists = [list(dict.fromkeys(row)) for row in self.lists]
        return PlainLists(lists, joined(lists))


_LISTS = frozenset({list, tuple})
_SEPARATORS = ("; ", " | ")
"""Separators of several IDs in one text."""


def plain_lists(column: Sequence[Any]) -> PlainLists | None:
    """Return a column of lists of IDs, some perhaps blank; None for other forms.

    A text with several IDs ("d1; d2") is another form.
    """
    if not _LISTS.issuperset(map(type, column)):
        return None
    ids = joined(column)
    try:
        text = "".join(ids)  # the fastest check that all are texts
    except TypeError:
        return PlainLists(column, ids) if _are_numbers(ids) else None
    # Look for a space first: a search for one letter is much faster than one for two.
    is_one = " " not in text or not any(each in text for each in _SEPARATORS)
    return PlainLists(column, ids) if is_one else None


def _are_numbers(ids: Sequence[Any]) -> bool:
    """Return whether all IDs are whole numbers, and short enough for Python to convert to text."""
    if set(map(type, ids)) != {int}:
        return False
    try:
        sum(ids, 0.0)  # fails for a number of more than 308 digits, and is faster than `max`
    except OverflowError:
        return False
    return True


def first_ranks(
    retrieved: Sequence[Sequence[str | None]], references: Sequence[Sequence[str]]
) -> tuple[list[int], list[int], bool]:
    """Return the 1-based position of each reference among its row's retrieved IDs, 0 if missed.

    Also return the numbers of the rows that have a retrieved ID that is blank or None, and whether
    a row may have a reference twice.
    """
    longest = max(map(len, retrieved), default=0) * max(map(len, references), default=0)
    pairs = zip(retrieved, references, strict=True)
    if longest <= _FEW:
        return (
            [row.index(name) + 1 if name in row else 0 for row, names in pairs for name in names],
            [
                number
                for number, row in enumerate(retrieved)
                if not all(row) and ("" in row or None in row)  # 0 is falsy, but an ID
            ],
            sum(map(len, map(set, references))) < sum(map(len, references)),
        )
    positions: list[int] = []
    blank = []
    is_repeated = False
    for number, (row, names) in enumerate(pairs):
        found = first_positions(row, names)
        if "" in found or None in found:
            blank.append(number)
        elif len(found) == len(names):
            positions += found.values()
            continue
        # Several references of a row may have the same ID among their alternatives.
        is_repeated = True
        positions += [found[name] for name in names]
    return positions, blank, is_repeated
