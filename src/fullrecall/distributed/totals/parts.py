"""Parts of a data set that know which rows they have, so that merging cannot miscount.

A part is totals of rows, known by their positions. Positions are cut into cells of equal size: a
part that is a run within one cell is a piece of it. Pieces that cover a cell become one, and so
do 16 whole neighbors, again and again: of parts that came in any order, as often as they like, only
what is not whole yet stays apart. What is whole already takes no piece a second time.

So merging is associative, commutative and idempotent, and a whole of any size is small. Parts
whose rows lie scattered over many cells are kept as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from fullrecall.distributed.ranges import Runs, count, cut, in_words, joined, overlap, without
from fullrecall.errors import ReportError

_FANOUT = 16
"""So many whole neighbors become one."""

_MOST_RUNS = 16
"""Runs that are told apart as parts of their own; rows in more of them are one scattered part."""


class Content(Protocol):
    """What a part holds of its rows; it is never changed."""

    @property
    def weight(self) -> int:
        """How much it counts: parts of the same rows weigh the same, and parts add up."""
        ...

    def merged(self, others: Iterable[Self]) -> Self:
        """Return what all of them hold together, exactly and in any order."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        ...


C = TypeVar("C", bound=Content)


class _Node(NamedTuple):
    """A whole range: at level 0 a cell, at level n 16ⁿ cells."""

    level: int
    place: int

    @property
    def above(self) -> _Node:
        return _Node(self.level + 1, self.place // _FANOUT)

    @property
    def siblings(self) -> list[_Node]:
        start = self.place - self.place % _FANOUT
        return [_Node(self.level, start + each) for each in range(_FANOUT)]

    def runs(self, size: int) -> Runs:
        width = size * _FANOUT**self.level
        return ((self.place * width, (self.place + 1) * width - 1),)


def segments(runs: Runs, size: int) -> list[Runs]:
    """Return the parts that rows make: runs within cells, or one where they lie scattered."""
    apart = list(cut(runs, size)) if len(runs) <= _MOST_RUNS else []
    return [(run,) for run in apart] if 0 < len(apart) <= 2 * _MOST_RUNS else [runs]


class Parts(Generic[C]):
    """Parts of one whole, merged as far as they go; `failures` are those that came to nothing.

    `gaps`: parts that would hold nothing may not be there.
    """

    def __init__(self, size: int, *, gaps: bool = False) -> None:
        self.size = size
        self._gaps = gaps
        self.failures: dict[Runs, str] = {}
        self._whole: dict[_Node, C] = {}
        self._highest = -1  # level of what is whole
        self._pieces: dict[int, dict[tuple[int, int], C]] = {}
        self._scattered: dict[Runs, C] = {}

    def add(self, runs: Runs, content: C) -> None:
        """Add a part that has these rows; one that is there already changes nothing."""
        cell = runs[0][0] // self.size
        if len(runs) > 1 or runs[0][1] // self.size != cell:
            self._scattered.setdefault(runs, content)
        elif not self._is_whole(_Node(0, cell)):
            pieces = self._pieces.setdefault(cell, {})
            if runs[0] not in pieces:
                pieces[runs[0]] = content
                self._complete(cell)

    def merge(self, other: Parts[C]) -> None:
        """Add the parts of another merge, which stays as it is.

        Raises `ReportError` where it is cut in cells of another size.
        """
        if other.size != self.size:
            raise ReportError(
                f"parts of {self.size:,} and of {other.size:,} rows do not add up: pass each "
                "BatchScorer the same part_size"
            )
        for node, content in other._whole.items():
            self._add_whole(node, content)
        for run, content in other._apart():
            self.add(run, content)
        self.failures |= {runs: why for runs, why in other.failures.items() if runs}

    @property
    def covered(self) -> Runs:
        """The rows that are there."""
        return joined(run for runs, _ in self._every() for run in runs)

    def contents(self) -> list[C]:
        """Return what adds up to the whole, each row once.

        Raises `ReportError` where rows are in two parts that are not the same.
        """
        chosen: list[tuple[Runs, C]] = [
            (node.runs(self.size), content) for node, content in self._whole.items()
        ]
        for pieces in self._pieces.values():
            if self._gaps:
                chosen += [((run,), pieces[run]) for run in _heaviest(pieces)]
                continue
            for first, last in joined(pieces):
                chain = _chain(pieces, first, last + 1) or _longest(pieces, first, last)
                chosen += [((run,), pieces[run]) for run in chain]
        known = joined(run for runs, _ in chosen for run in runs)
        chosen += [
            (runs, content)
            for runs, content in sorted_items(self._scattered)
            if without(runs, known)
        ]
        twice = overlap(runs for runs, _ in chosen)
        if twice is not None:
            raise ReportError(
                f"rows {in_words((twice,))} are in two parts that are not the same: score each "
                "row in one batch, or leave one of the parts out"
            )
        return [content for _, content in chosen]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        return {
            "size": self.size,
            "whole": [[*node, content.to_dict()] for node, content in sorted_items(self._whole)],
            "parts": [[runs, content.to_dict()] for runs, content in self._apart()],
            "failures": [[runs, why] for runs, why in sorted_items(self.failures)],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], content: type[C]) -> Parts[C]:
        """Return what `to_dict` wrote; `content` has a `from_dict` of its own."""
        read: Any = content
        parts: Parts[C] = cls(plain["size"])
        for level, index, held in plain["whole"]:
            parts._add_whole(_Node(level, index), read.from_dict(held))
        for runs, held in plain["parts"]:
            parts.add(tuple((first, last) for first, last in runs), read.from_dict(held))
        for runs, why in plain["failures"]:
            parts.failures[tuple((first, last) for first, last in runs)] = why
        return parts

    def _every(self) -> Iterator[tuple[Runs, C]]:
        for node, content in self._whole.items():
            yield node.runs(self.size), content
        yield from self._apart()

    def _apart(self) -> Iterator[tuple[Runs, C]]:
        """Yield the parts that are not in a whole cell, in order."""
        for cell in sorted(self._pieces):
            for run, content in sorted_items(self._pieces[cell]):
                yield (run,), content
        yield from sorted_items(self._scattered)

    def _is_whole(self, node: _Node) -> bool:
        """Whether a node, or one above it, is there."""
        while node.level <= self._highest:
            if node in self._whole:
                return True
            node = node.above
        return False

    def _complete(self, cell: int) -> None:
        """Make one of the pieces of a cell once some of them cover it without a row twice."""
        pieces = self._pieces[cell]
        chain = _chain(pieces, cell * self.size, (cell + 1) * self.size)
        if chain:
            first, *others = [pieces[run] for run in chain]
            self._add_whole(_Node(0, cell), first.merged(others))

    def _add_whole(self, node: _Node, content: C) -> None:
        if self._is_whole(node):
            return
        self._forget_below(node)
        while True:
            self._whole[node] = content
            self._highest = max(self._highest, node.level)
            siblings = node.siblings
            if not all(one in self._whole for one in siblings):
                return
            first, *others = [self._whole.pop(one) for one in siblings]
            node, content = node.above, first.merged(others)

    def _forget_below(self, node: _Node) -> None:
        """Drop what a node that is whole has of its own."""
        if not node.level:
            self._pieces.pop(node.place, None)
            return
        ((first, last),) = node.runs(self.size)
        for cell in [cell for cell in self._pieces if first <= cell * self.size <= last]:
            del self._pieces[cell]
        for one in [one for one in self._whole if one.level < node.level]:
            if first <= one.runs(self.size)[0][0] <= last:
                del self._whole[one]


def sorted_items(mapping: Mapping[Any, C] | Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the items of a mapping by their keys, which are distinct."""
    return [(key, mapping[key]) for key in sorted(mapping)]


def missing_in_words(planned: Runs, covered: Runs) -> str:
    """Return which rows of a plan are missing, for people; empty where none is."""
    missing = without(planned, covered)
    if not missing:
        return ""
    return f"{count(missing):,} of {count(planned):,} rows are missing: {in_words(missing)}"


def _chain(pieces: Mapping[tuple[int, int], Any], start: int, end: int) -> list[tuple[int, int]]:
    """Return pieces that lie end to end from `start` to before `end`; none where none do."""
    by_end: dict[int, tuple[int, int]] = {}
    reached = {start}
    for run in sorted(pieces):
        if run[0] in reached and run[1] + 1 not in reached:
            reached.add(run[1] + 1)
            by_end[run[1] + 1] = run
    chain: list[tuple[int, int]] = []
    while end in by_end:
        chain.append(by_end[end])
        end = chain[-1][0]
    return chain[::-1]


def _heaviest(pieces: Mapping[tuple[int, int], Content]) -> list[tuple[int, int]]:
    """Return the pieces apart from each other that count most: of other cuts of the same rows one.

    No row is in two of them, so they count at most what all rows do; and where some cut has all
    rows that count, they count that. Of choices that count the same, the pieces that end sooner.
    """
    runs = sorted(pieces, key=lambda run: (run[1], run[0]))
    ends = [run[1] for run in runs]
    best = [0]  # what the first n count
    taken: list[bool] = []
    for nth, run in enumerate(runs):
        before = bisect_left(ends, run[0], hi=nth)
        count = best[before] + pieces[run].weight
        taken.append(count > best[nth])
        best.append(max(count, best[nth]))
    chosen: list[tuple[int, int]] = []
    nth = len(runs)
    while nth:
        if taken[nth - 1]:
            chosen.append(runs[nth - 1])
            nth = bisect_left(ends, runs[nth - 1][0], hi=nth - 1)
        else:
            nth -= 1
    return chosen[::-1]


def _longest(pieces: Iterable[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    """Return the pieces from `first` to `last` but those that lie within the one before."""
    longest: list[tuple[int, int]] = []
    for run in sorted(pieces, key=lambda run: (run[0], -run[1])):
        if first <= run[0] <= last and not (longest and run[1] <= longest[-1][1]):
            longest.append(run)
    return longest
