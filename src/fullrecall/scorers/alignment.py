"""Which characters of one text occur in another, by exact runs of a stated length.

White space is left out on both sides: chunkers strip and rewrap it, and what they strip at a
border is no loss. Offsets are in the text without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

Interval: TypeAlias = tuple[int, int]
"""A half-open range of characters."""


MOST_PLACES = 64
"""In how many places of a context a block is looked at: rows of dots stand in thousands."""


class Overlap(NamedTuple):
    """The characters of a reference that a context holds.

    `runs` count by themselves. `edges` are so short that they may be chance: they count only
    next to something that is covered.
    """

    runs: tuple[Interval, ...] = ()
    edges: tuple[Interval, ...] = ()


def squeezed(text: str) -> str:
    """Return `text` without white space."""
    return "".join(text.split())


def overlap(reference: str, context: str, min_run: int) -> Overlap:
    """Return which characters of `reference` occur in `context`; both are squeezed.

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
    runs = union([*_runs(reference, context, min_run), *enough])
    return Overlap(tuple(runs), tuple(edge for edge in cut if edge not in enough))


def _cut_runs(reference: str, context: str, min_run: int) -> Iterable[Interval]:
    """Yield the runs below `min_run` that a chunk border cuts, as ranges of `reference`."""
    length = len(reference)
    longest = min(min_run, length, len(context)) - 1
    for size in range(longest, 0, -1):
        if reference.endswith(context[:size]):
            yield length - size, length
            break
    for size in range(longest, 0, -1):
        if reference.startswith(context[-size:]):
            yield 0, size
            break


def _runs(reference: str, context: str, min_run: int) -> Iterable[Interval]:
    """Yield the maximal common runs of at least `min_run` characters, as ranges of `reference`.

    Every such run holds a whole block of half that length that starts at a multiple of it, so
    only these are looked up, and grown in both directions where they are found.
    """
    block = max(1, min_run // 2)
    reached: dict[int, int] = {}  # diagonal -> where the last run on it ended
    longest = (0, 0)
    for start in range(0, len(reference) - block + 1, block):
        # Deep inside a run that is known, another run can add nothing that a block nearer to its
        # ends would not find too.
        if longest[0] + min_run <= start and start + block + min_run <= longest[1]:
            continue
        seed = reference[start : start + block]
        at = context.find(seed)
        seen = 0
        while at >= 0 and seen < MOST_PLACES:
            seen += 1
            diagonal = at - start
            if reached.get(diagonal, -1) < start + block:
                left, right = start, start + block
                while (
                    left and left + diagonal and reference[left - 1] == context[left - 1 + diagonal]
                ):
                    left -= 1
                last = min(len(reference), len(context) - diagonal)
                while right < last and reference[right] == context[right + diagonal]:
                    right += 1
                reached[diagonal] = right
                if right - left >= min_run:
                    longest = max(longest, (left, right), key=lambda run: run[1] - run[0])
                    yield left, right
            at = context.find(seed, at + 1)


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
