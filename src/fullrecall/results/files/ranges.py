"""Which rows: whole numbers as runs of neighbors, each from its first to its last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Runs: TypeAlias = tuple[tuple[int, int], ...]
"""Runs of whole numbers, both ends included: ascending, apart, and not next to each other."""

_SHOWN = 5


def runs_of(numbers: Iterable[int]) -> Runs:
    """Return the runs of whole numbers that are given in any order."""
    return joined((number, number) for number in numbers)


def runs_of_sorted(numbers: NDArray[np.int64]) -> Runs:
    """Return the same of an array of distinct numbers that ascend."""
    import numpy as np

    if not len(numbers):
        return ()
    ends = np.flatnonzero(np.diff(numbers) > 1)
    firsts = numbers[np.concatenate([[0], ends + 1])].tolist()
    lasts = numbers[np.concatenate([ends, [len(numbers) - 1]])].tolist()
    return tuple(zip(firsts, lasts, strict=True))


def joined(runs: Iterable[Sequence[int]]) -> Runs:
    """Return all numbers that stand in any of these runs."""
    made: list[tuple[int, int]] = []
    for first, last in sorted((run[0], run[1]) for run in runs):
        if made and first <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(made[-1][1], last))
        else:
            made.append((first, last))
    return tuple(made)


def without(runs: Runs, others: Runs) -> Runs:
    """Return the numbers of `runs` that are not among `others`."""
    left: list[tuple[int, int]] = []
    place = 0
    for first, last in runs:
        start = first
        while place < len(others) and others[place][1] < start:
            place += 1
        at = place
        while at < len(others) and others[at][0] <= last:
            if others[at][0] > start:
                left.append((start, others[at][0] - 1))
            start = others[at][1] + 1
            at += 1
        if start <= last:
            left.append((start, last))
    return tuple(left)


def count(runs: Runs) -> int:
    """Return how many numbers there are."""
    return sum(last - first + 1 for first, last in runs)


def overlap(some: Iterable[Runs]) -> tuple[int, int] | None:
    """Return numbers that two of these have in common, None where none has."""
    every = sorted(run for runs in some for run in runs)
    for one, two in pairwise(every):
        if two[0] <= one[1]:
            return two[0], min(one[1], two[1])
    return None


def cut(runs: Runs, size: int) -> Iterator[tuple[int, int]]:
    """Yield the runs, none of which reaches over a multiple of `size`."""
    for first, last in runs:
        start = first
        while start <= last:
            end = min(last, (start // size + 1) * size - 1)
            yield start, end
            start = end + 1


def in_words(runs: Runs) -> str:
    """Return the runs for people: "500 to 999, 2,000, and 12 more ranges"."""
    told = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in runs[:_SHOWN]]
    more = len(runs) - _SHOWN
    if more > 0:
        told.append(f"and {more:,} more range{'s' if more > 1 else ''}")
    return ", ".join(told)
