"""How many labels each stratum of a sample gets."""

from __future__ import annotations

from collections.abc import Sequence


def allocation(weights: Sequence[float], most: Sequence[int], n: int, *, fewest: int) -> list[int]:
    """Return how many of `n` labels each stratum gets.

    Each stratum first gets `fewest` labels, or its `most` if that is less. The sum of these labels
    may exceed `n`. Each further label goes to the stratum with the largest weight / (labels + 1),
    by Jefferson's rule, among the strata that have fewer labels than their `most`.
    """
    counts = [min(fewest, limit) for limit in most]
    for _ in range(min(n, sum(most)) - sum(counts)):
        free = [at for at, count in enumerate(counts) if count < most[at]]
        counts[max(free, key=lambda at: weights[at] / (counts[at] + 1))] += 1
    return counts
