"""One sample's findings as plain numbers, for formulas where arrays would cost more."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import fsum, log2


class Terms(list[float]):
    """The terms whose sum is a row's value."""

    @property
    def counts(self) -> int:
        """The number of terms."""
        return len(self)

    @property
    def sums(self) -> float:
        """The sum of the terms, rounded once."""
        return fsum(self)


class FoundRow:
    """The positions of a sample's targets. At most one context finds each target.

    All targets have the grade 1 and the size 1. The class has the attributes of `FoundColumns` that
    the formulas of `plain` measures read.
    """

    grade = size = None
    lists = 1

    def __init__(self, positions: Sequence[int], retrieved: int) -> None:
        """Take the 1-based position of each target, 0 for a missed one."""
        self.positions = positions
        self.retrieved = retrieved
        self.targets = len(positions)
        self._found = sorted(filter(None, positions))

    def graded(self, min_grade: float) -> FoundRow:
        """Return the targets whose grade is at least `min_grade`: all, or none."""
        return self if min_grade <= 1.0 else FoundRow((), self.retrieved)

    def attainable(self, k: int | None) -> int:
        """Return how many targets `k` ranks can hold."""
        return self.targets if k is None else min(self.targets, k)

    def contexts_within(self, k: int | None) -> int:
        """Return how many contexts are within the first `k` ranks."""
        return self.retrieved if k is None else min(self.retrieved, k)

    def found_within(self, k: int | None) -> int:
        """Return how many targets are found within the first `k` ranks."""
        return len(self._found) if k is None else bisect_right(self._found, k)

    relevant_count = found_within

    def credit_sums(self, k: int | None, weights: None = None) -> int:
        """Return the credit within the first `k` ranks."""
        return self.found_within(k)

    @property
    def first_relevant(self) -> int:
        """The rank of the first context that supports a target, or 0."""
        return self._found[0] if self._found else 0

    def precisions(self, k: int | None) -> Terms:
        """Return the precision at each relevant context within `k`."""
        within = self._found[: self.found_within(k)]
        return Terms([hits / position for hits, position in enumerate(within, start=1)])

    rising_precisions = precisions

    def discounted_gains(self, k: int | None) -> tuple[Terms, Terms]:
        """Return the DCG terms within `k`, and those of the ideal ranking; each target gains 1."""
        within = self._found[: self.found_within(k)]
        ideal = range(1, self.attainable(k) + 1)
        added, best = (Terms([1.0 / log2(rank + 1) for rank in ranks]) for ranks in (within, ideal))
        return added, best

    def share(self, part: float, whole: float) -> float:
        """Return `part / whole`, at most 1.0, and 0.0 for a whole of 0."""
        return min(part / whole, 1.0) if whole else 0.0

    def defined(self, value: float, otherwise: float | None, *, needs_target: bool) -> float | None:
        """Return the value; without a target, return `otherwise` if the measure needs a target."""
        return value if self.targets or not needs_target else otherwise
