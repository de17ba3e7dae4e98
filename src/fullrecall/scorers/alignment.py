"""Find which characters of one text occur in another, by exact runs of a stated length.

Both texts are compared without white space: chunkers change it, and it has no content. Offsets are
in the text without white space.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import NamedTuple, TypeAlias

from fullrecall._util.pieces import pause

CharacterRange: TypeAlias = tuple[int, int]
"""A half-open range of characters."""


_TOGETHER = 100_000
"""Stretches that are cut between two pauses."""


class Overlap(NamedTuple):
    """The characters of a reference that a context holds.

    `runs` count by themselves. `edges` may be chance, since they are short: they count only next to
    covered characters.
    """

    runs: tuple[CharacterRange, ...] = ()
    edges: tuple[CharacterRange, ...] = ()


class Windows:
    """All substrings of one length of a context, in which references are looked up.

    A block is half a run long and starts at a multiple of its length. Each run of `min_run`
    characters of a reference contains a whole block: if no block occurs in the context, no run
    does.
    """

    def __init__(self, context: str, min_run: int) -> None:
        self.context = context
        self.min_run = min_run
        self.block = max(1, min_run // 2)

    @cached_property
    def blocks(self) -> AbstractSet[str]:
        """The context's substrings of a block's length."""
        return windows(self.context, self.block)

    @cached_property
    def runs(self) -> AbstractSet[str]:
        """The context's substrings of `min_run` characters."""
        return windows(self.context, self.min_run)


def windows(text: str, size: int) -> set[str]:
    """Return all substrings of a text that have this length."""
    # One set for all references, not a search for each: linear where hundreds of references share a
    # heading (bench/span_growth.py).
    stretches: set[str] = set()
    for first in range(0, len(text) - size + 1, _TOGETHER):
        pause()
        last = min(first + _TOGETHER, len(text) - size + 1)
        stretches.update(text[start : start + size] for start in range(first, last))
    return stretches


def squeezed(text: str) -> str:
    """Return `text` without white space."""
    return "".join(text.split())


def overlap(reference: str, context: Windows) -> Overlap:
    """Return which characters of `reference` occur in a context; both are squeezed.

    A character is covered if it lies in a common run of at least `min_run` characters, or if the
    reference contains the whole context or the context the whole reference. A chunk border may
    have cut a run where the reference's end is the context's start, or its start the context's
    end: there a third of that length is enough, and a shorter run is an edge.
    """
    text, min_run = context.context, context.min_run
    if not text or not reference:
        return Overlap()
    if reference in text:
        return Overlap(runs=((0, len(reference)),))
    if len(text) < min_run:
        # A chunk shorter than a run counts only where it first occurs.
        start = reference.find(text)
        if start >= 0:
            return Overlap(runs=((start, start + len(text)),))
    cut_runs = list(_cut_runs(reference, text, min_run))
    long_enough = [run for run in cut_runs if run[1] - run[0] >= min_run // 3]
    runs = union([*_runs(reference, context), *long_enough])
    return Overlap(tuple(runs), tuple(edge for edge in cut_runs if edge not in long_enough))


def _runs(reference: str, context: Windows) -> Iterable[CharacterRange]:
    """Yield the stretches of `min_run` characters that both have, as ranges of `reference`."""
    block, size = context.block, context.min_run
    unseen = 0  # Runs that start before it were looked up.
    for at in range(0, len(reference) - block + 1, block):
        # One look-up rules out every run that holds this block; most of a reference ends here.
        if reference[at : at + block] not in context.blocks:
            continue
        pause()
        for start in range(max(unseen, at + block - size), min(at, len(reference) - size) + 1):
            if reference[start : start + size] in context.runs:
                yield start, start + size
        unseen = at + 1


def _cut_runs(reference: str, context: str, min_run: int) -> Iterable[CharacterRange]:
    """Yield the runs below `min_run` that a chunk border may have cut, as ranges of `reference`."""
    length = len(reference)
    longest = min(min_run, length, len(context)) - 1
    if longest < 1:
        return
    size = _longest_shared(reference[-longest:], context[:longest])
    if size:
        yield length - size, length
    size = _longest_shared(context[-longest:], reference[:longest])
    if size:
        yield 0, size


def _longest_shared(end: str, beginning: str) -> int:
    """Return the length of the longest suffix of `end` that is a prefix of `beginning`."""
    # Both are shorter than a run, so trying every place is cheap even in a row of dots.
    at = end.find(beginning[0])
    while at >= 0:
        if beginning.startswith(end[at:]):
            return len(end) - at
        at = end.find(beginning[0], at + 1)
    return 0


def union(intervals: Iterable[CharacterRange]) -> list[CharacterRange]:
    """Return the same characters as disjoint ranges in order; ranges that touch are joined."""
    joined: list[CharacterRange] = []
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def covered(length: int, overlaps: Iterable[Overlap]) -> list[CharacterRange]:
    """Return the characters of a reference of `length` that its overlaps cover together."""
    overlaps = list(overlaps)
    runs = union(run for part in overlaps for run in part.runs)
    # The edges of all contexts come last: a run cut by a chunk border may continue in the next
    # chunk.
    edges = union(edge for part in overlaps for edge in part.edges)
    return union([*runs, *(edge for edge in edges if _counts(edge, runs, length))])


def _counts(edge: CharacterRange, runs: Iterable[CharacterRange], length: int) -> bool:
    """Return whether an edge touches a run, or meets the opposite edge."""
    touches = any(start <= edge[1] and edge[0] <= end for start, end in runs)
    return touches or edge == (0, length)


def total(intervals: Iterable[CharacterRange]) -> int:
    """Return how many characters are in disjoint ranges."""
    return sum(end - start for start, end in intervals)


def within(part: CharacterRange, intervals: Iterable[CharacterRange]) -> bool:
    """Return whether one of the disjoint ranges contains the whole `part`."""
    return any(start <= part[0] and part[1] <= end for start, end in intervals)
