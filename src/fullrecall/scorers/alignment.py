"""Which characters of one text occur in another, by exact runs of a stated length.

White space is left out on both sides: chunkers strip and rewrap it, and what they strip at a
border is no loss. Offsets are in the text without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import count
from typing import NamedTuple, TypeAlias

Interval: TypeAlias = tuple[int, int]
"""A half-open range of characters."""


MOST_PLACES = 64
"""In how many places of a context a block is looked at: rows of dots stand in thousands."""


_FEW_BLOCKS = 128
"""From more blocks on, one pass over a context is faster than a search for each."""

_FIRST_STEP = 16
"""Characters that are compared at first where a run is grown; then twice as many."""


class Overlap(NamedTuple):
    """The characters of a reference that a context holds.

    `runs` count by themselves. `edges` are so short that they may be chance: they count only
    next to something that is covered.
    """

    runs: tuple[Interval, ...] = ()
    edges: tuple[Interval, ...] = ()


class Blocks:
    """The blocks of references that are looked for in contexts, which all of them share.

    Every common run of `min_run` characters holds a whole block of half that length that starts
    at a multiple of it in its reference, so that only these are looked up.
    """

    def __init__(self, references: Iterable[str], min_run: int) -> None:
        self.size = max(1, min_run // 2)
        self._references = references

    @cached_property
    def by_reference(self) -> Mapping[str, Sequence[str]]:
        """The blocks of each reference, in order."""
        size = self.size
        return {
            text: [text[start : start + size] for start in range(0, len(text) - size + 1, size)]
            for text in self._references
        }

    @cached_property
    def all(self) -> AbstractSet[str]:
        """The blocks of all references."""
        return set().union(*self.by_reference.values())


class Places:
    """Where the blocks of references stand in one context."""

    def __init__(self, context: str, blocks: Blocks) -> None:
        self.context = context
        self.blocks = blocks

    @cached_property
    def starts(self) -> Mapping[str, Sequence[int]]:
        """Where each block starts that is there."""
        return places(self.blocks.all, self.context)


def places(blocks: AbstractSet[str], text: str) -> dict[str, list[int]]:
    """Return where each of some blocks of one length starts, the first `MOST_PLACES` of each.

    A few are looked for one by one. Of many, the text's windows are looked up among them instead,
    in one pass, which takes the same time however many there are.
    """
    starts: dict[str, list[int]] = {}
    if len(blocks) <= _FEW_BLOCKS:
        for block in blocks:
            at = text.find(block)
            if at >= 0:
                there = starts[block] = [at]
                while len(there) < MOST_PLACES and (at := text.find(block, at + 1)) >= 0:
                    there.append(at)
        return starts
    size = len(next(iter(blocks)))
    for at in [n for n in range(len(text) - size + 1) if text[n : n + size] in blocks]:
        there = starts.setdefault(text[at : at + size], [])
        if len(there) < MOST_PLACES:
            there.append(at)
    return starts


def squeezed(text: str) -> str:
    """Return `text` without white space."""
    return "".join(text.split())


def overlap(reference: str, context: str, min_run: int, shared: Places | None = None) -> Overlap:
    """Return which characters of `reference` occur in `context`; both are squeezed.

    `shared` is made of the context for several references together, whose blocks are looked up
    once.

    A character is covered if it lies in a common run of at least `min_run` characters, or if
    either text is whole inside the other. Where a chunk border may have cut the run (the
    reference's end stands at the context's start, or its start at the context's end) a third of
    that length is enough, and less is an edge.
    """
    length = len(reference)
    if not context or not reference:
        return Overlap()
    if reference in context:
        return Overlap(runs=((0, length),))
    if len(context) < min_run:
        # A chunk shorter than a run counts where it first stands: it is one occurrence.
        at = reference.find(context)
        if at >= 0:
            return Overlap(runs=((at, at + len(context)),))
    cut = list(_cut_runs(reference, context, min_run))
    enough = [run for run in cut if run[1] - run[0] >= min_run // 3]
    shared = shared or Places(context, Blocks((reference,), min_run))
    runs = union([*_runs(reference, shared, min_run), *enough])
    return Overlap(tuple(runs), tuple(edge for edge in cut if edge not in enough))


def _cut_runs(reference: str, context: str, min_run: int) -> Iterable[Interval]:
    """Yield the runs below `min_run` that a chunk border cuts, as ranges of `reference`."""
    length = len(reference)
    longest = min(min_run, length, len(context)) - 1
    if longest < 1:
        return
    size = _shared(reference[-longest:], context[:longest])
    if size:
        yield length - size, length
    size = _shared(context[-longest:], reference[:longest])
    if size:
        yield 0, size


def _shared(end: str, beginning: str) -> int:
    """Return how many of the last characters of one text are the first of another, the most."""
    at = end.find(beginning[0])
    while at >= 0:
        if beginning.startswith(end[at:]):
            return len(end) - at
        at = end.find(beginning[0], at + 1)
    return 0


def _runs(reference: str, shared: Places, min_run: int) -> Iterable[Interval]:
    """Yield the maximal common runs of at least `min_run` characters, as ranges of `reference`.

    Each block of the reference that occurs in the context is grown in both directions.
    """
    context, starts, size = shared.context, shared.starts, shared.blocks.size
    blocks = shared.blocks.by_reference[reference]
    if starts.keys().isdisjoint(blocks):
        return
    reached: dict[int, int] = {}  # diagonal -> where the last run on it ended
    longest = (0, 0)
    for start, block in zip(count(0, size), blocks, strict=False):
        # Deep inside a run that is known, another run can add nothing that a block nearer to its
        # ends would not find too.
        end = start + size
        if longest[0] + min_run <= start and end + min_run <= longest[1]:
            continue
        before, after = _around(reference, (start, end), longest, min_run)
        for at in starts.get(block, ()):
            diagonal = at - start
            if reached.get(diagonal, -1) >= end:
                continue
            if not (
                (before is not None and context.endswith(before, 0, at))
                or (after is not None and context.startswith(after, at + size))
            ):
                continue
            left, right = _maximal(reference, start, context, at, size)
            reached[diagonal] = right
            if right - left >= min_run:
                yield left, right
                if right - left > longest[1] - longest[0]:
                    longest = (left, right)
                    before, after = _around(reference, (start, end), longest, min_run)


def _around(
    reference: str, block: Interval, longest: Interval, min_run: int
) -> tuple[str | None, str | None]:
    """Return what stands before a block and after it: a run around it has one of them, or is idle.

    Inside the longest run so far a run has to go beyond it; elsewhere it needs `min_run`
    characters, of which half of those that the block lacks stand on one of its sides. None where
    the reference does not have so many.
    """
    (start, end), (low, high) = block, longest
    if not (low <= start and end <= high):
        least = (min_run - (end - start) + 1) // 2
        low, high = start - least + 1, end + least - 1
    before = reference[low - 1 : start] if low > 0 else None
    after = reference[end : high + 1] if high < len(reference) else None
    return before, after


def _maximal(reference: str, start: int, context: str, at: int, size: int) -> Interval:
    """Return the maximal common run around `size` characters, as a range of `reference`."""
    end, on = start + size, at + size

    def same_before(n: int, step: int) -> bool:
        return reference.endswith(context[at - n - step : at - n], 0, start - n)

    def same_after(n: int, step: int) -> bool:
        return reference.startswith(context[on + n : on + n + step], end + n)

    before = _grown(min(start, at), same_before)
    after = _grown(min(len(reference) - end, len(context) - on), same_after)
    return start - before, end + after


def _grown(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Return how many characters are the same, at most `most`, in steps that double, then halve.

    `is_same(n, step)` tells whether the `step` characters after the first `n` are.
    """
    same, step = 0, _FIRST_STEP
    while same + step <= most and is_same(same, step):
        same += step
        step *= 2
    while step > 1:  # what is left is shorter than this step
        step //= 2
        if same + step <= most and is_same(same, step):
            same += step
    return same


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the same characters as disjoint ranges in order; ranges that touch are joined."""
    joined: list[Interval] = []
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def covered(length: int, overlaps: Iterable[Overlap]) -> list[Interval]:
    """Return the characters of a reference of `length` that its overlaps cover together."""
    overlaps = list(overlaps)
    runs = union(run for part in overlaps for run in part.runs)
    edges = union(edge for part in overlaps for edge in part.edges)
    return union([*runs, *(edge for edge in edges if _counts(edge, runs, length))])


def _counts(edge: Interval, runs: Iterable[Interval], length: int) -> bool:
    """Whether an edge touches a run, or meets the opposite edge."""
    touches = any(start <= edge[1] and edge[0] <= end for start, end in runs)
    return touches or edge == (0, length)


def total(intervals: Iterable[Interval]) -> int:
    """Return how many characters disjoint ranges hold."""
    return sum(end - start for start, end in intervals)


def within(part: Interval, intervals: Iterable[Interval]) -> bool:
    """Return whether `part` lies whole in one of the disjoint ranges."""
    return any(start <= part[0] and part[1] <= end for start, end in intervals)
