"""Measures of single IDs by the ranks at which they are found, without a finding or a result.

All that a measure of this package reads of such findings is how many targets there are, at which
ranks they are found, and how many contexts were retrieved. Of ten thousand samples many agree in
what a measure reads of that, and each value is worked out once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.findings import SingleFindings
from fullrecall.measures.measure import Measure
from fullrecall.measures.ranking import AP, RR, ContextPrecision, nDCG
from fullrecall.measures.sets import F1, AllFound, Hit, Precision, Recall

_COUNTED = frozenset(
    map(type, (Recall, Precision, F1, Hit, AllFound, RR, AP, ContextPrecision, nDCG))
)
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.signedinteger[Any]]

NOWHERE = 2**31 - 1
"""The rank of what was not found."""

_BY_COUNT = frozenset(map(type, (Recall, AllFound)))
"""What does not depend on the ranks within k, nor on how many contexts there are."""

_BY_RANK = frozenset(map(type, (Precision, F1, Hit, RR, AP, ContextPrecision, nDCG)))

_MOST_KEPT = 4_096
"""Values that are remembered at a time."""


class RankRows(NamedTuple):
    """Samples of single IDs: how many targets each has, where they are found, of how many contexts.

    `ranks[i]` ascends; what was not found stands at `NOWHERE`.
    """

    targets: Integers
    ranks: Integers
    retrieved: Integers

    def within(self, k: int | None) -> Integers:
        """Return how many targets of each row are found within the first `k` ranks."""
        found: Integers = (self.ranks <= (NOWHERE - 1 if k is None else k)).sum(axis=1)
        return found

    def told(self) -> Iterator[tuple[list[int], int, int]]:
        """Yield of each row the ranks at which targets are found, and the two numbers."""
        columns = (self.ranks, self.within(None), self.targets, self.retrieved)
        for ranks, found, targets, retrieved in zip(*(c.tolist() for c in columns), strict=True):
            yield ranks[:found], targets, retrieved

    def often(self, k: int | None) -> Iterator[tuple[int, int, int]]:
        """Yield how many are found within `k` of how many targets, and in how many rows."""
        import numpy as np

        width = self.ranks.shape[1] + 1
        codes, often = np.unique(self.targets * width + self.within(k), return_counts=True)
        for code, times in zip(codes.tolist(), often.tolist(), strict=True):
            targets, found = divmod(code, width)
            yield found, targets, times

    @property
    def scored(self) -> int:
        """How many rows have a target."""
        return int((self.targets > 0).sum())


class RankLists(NamedTuple):
    """The same as lists, of samples that were found one by one: `ranks[i]` has what was found."""

    targets: list[int]
    ranks: list[list[int]]
    retrieved: list[int]

    def told(self) -> Iterator[tuple[list[int], int, int]]:
        """Yield of each row the ranks at which targets are found, and the two numbers."""
        return zip(self.ranks, self.targets, self.retrieved, strict=True)

    def often(self, k: int | None) -> Iterator[tuple[int, int, int]]:
        """Yield how many are found within `k` of how many targets, and in how many rows."""
        found = map(len, self.ranks) if k is None else map(bisect_right, self.ranks, repeat(k))
        for (within, targets), times in Counter(zip(found, self.targets, strict=True)).items():
            yield within, targets, times

    @property
    def scored(self) -> int:
        """How many rows have a target."""
        return len(self.targets) - self.targets.count(0)


class Ranked(NamedTuple):
    """What a measure reads of one sample, and of how many samples the same."""

    hits: list[int]
    targets: int
    retrieved: int
    times: int = 1


def counts_ranks(measure: Measure) -> bool:
    """Return whether a measure reads nothing of single IDs but their ranks."""
    return type(measure) in _BY_COUNT or type(measure) in _BY_RANK


def ignores_grades(measure: Measure) -> bool:
    """Return whether a measure of ranks is the same for targets of whatever grade."""
    graded = type(measure) is type(nDCG) or getattr(measure, "weight", "equal") == "grade"
    return not graded and getattr(measure, "min_grade", None) is None


class RankMeasure:
    """A measure of targets that are single IDs by their ranks: of grade 1, or it ignores grades."""

    __slots__ = ("_measure", "_values", "by_count", "k")

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self.k = measure.k
        self.by_count = type(measure) in _BY_COUNT
        """Whether the value depends on nothing but how many targets are found within `k`."""
        self._values: dict[tuple[object, ...], float | None] = {}

    def of(self, hits: list[int], targets: int, retrieved: int) -> float | None:
        """Return the value for the ranks of the targets that were found, ascending."""
        within = len(hits) if self.k is None else bisect_right(hits, self.k)
        key = (within, targets) if self.by_count else (tuple(hits[:within]), targets, retrieved)
        try:
            return self._values[key]
        except KeyError:
            if len(self._values) >= _MOST_KEPT:
                self._values.clear()
            value = self._values[key] = self._worked_out(hits, targets, retrieved)
            return value

    def distinct(self, rows: RankRows | RankLists) -> Iterator[Ranked]:
        """Yield what the measure reads of samples, some that it cannot tell apart together."""
        if self.by_count:
            for found, targets, times in rows.often(self.k):
                yield Ranked(list(range(1, found + 1)), targets, 0, times)
            return
        for ranks, targets, retrieved in rows.told():
            yield Ranked(ranks, targets, retrieved)

    def _worked_out(self, hits: Sequence[int], targets: int, retrieved: int) -> float | None:
        if not targets:
            return self._measure.of((), retrieved)
        # The names do not matter: those that are found are the first.
        names = tuple([str(n) for n in range(targets)])
        places: list[str | None] = [None] * (hits[-1] if hits else 0)
        for name, rank in zip(names, hits, strict=False):
            places[rank - 1] = name
        return self._measure.of(SingleFindings(names, list(hits), tuple(places), None), retrieved)
