"""Bounds of the true mean of scores: Gaffke's test, and the bounds that follow by inverting it.

For independent values x_1 … x_n, each at least b, and independent standard exponential E_0 … E_n,

    K(m) = P( Σ (x_i - m) E_i <= (m - b) E_0 )

is a p-value of "the true mean is at most m": if this statement is true, P(K <= alpha) <= alpha, for
every n, every alpha, and every distribution of the values. The distribution may differ from value
to value. The lower bound is the m with K(m) = alpha; for 0/1 scores it is that of Clopper and
Pearson. Upper bounds are the mirror image. Raising a value never raises K, the order of values does
not matter, and no random numbers are drawn.

Only independence is assumed. Samples of one group are not independent: pass each group once, as its
mean. For samples without a score, pass the value that is worst for the conclusion; the bound then
holds whatever the reason for the missing score. K is valid for one look at the data, not for
repeated looks while samples come in.

Sources: Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
nonnegative variable", Mathematical Methods of Statistics 14(4), 2005, who conjectured it;
Learned-Miller and Thomas, "A new confidence interval for the mean of a bounded random variable",
arXiv:1905.06208; proof: Vlassis and Thomas, "An exact distribution-free test for means of
nonnegative random variables", arXiv:2607.08415, 2026.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil, exp, fsum, inf, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullrecall.errors import ParameterError
from fullrecall.measures.lists import Floats
from fullrecall.stats.gamma_sum import log_probability_below_zero

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CONFIDENCE = 0.95
"""The default confidence of an interval."""

MOST_GROUPS = 10_000_000
"""The largest number that `groups_needed` returns."""

MOST_VALUES = 4_096
"""The most distinct values that are used exactly; more are rounded, `low` down and `high` up."""

_FINEST = 60
"""The most binary digits to which values are rounded, although floats may differ in later ones."""

_ROOT_DIGITS = 1e-14
"""The relative precision of a bound."""

_ROUNDING = 1e-12
"""The largest distance by which rounding may place a value, such as a mean, out of range."""


class Interval(NamedTuple):
    """An interval that contains the true mean with probability `confidence`, such as 0.95."""

    low: float
    high: float
    confidence: float = CONFIDENCE


def alpha_of(confidence: float) -> float:
    """Return 1 - `confidence` in decimal: 0.1 for 0.9, not 0.09999999999999998."""
    return round(1 - confidence, 12)


class Counts(NamedTuple):
    """The distinct values, ascending, and their counts: all that a bound depends on."""

    values: tuple[float, ...]
    counts: tuple[float, ...]

    @classmethod
    def of(cls, values: ArrayLike, counts: ArrayLike | None = None) -> Counts:
        """Return the counts of `values` in any order; `counts` says how often each occurs."""
        distinct, position = np.unique(np.asarray(values, np.float64), return_inverse=True)
        frequencies = np.bincount(position.ravel(), weights=counts, minlength=len(distinct))
        present = frequencies > 0
        frequencies = frequencies[present].astype(float)
        return cls(tuple(distinct[present].tolist()), tuple(frequencies.tolist()))

    @property
    def size(self) -> float:
        """The number of values, with equal ones counted separately."""
        return fsum(self.counts)

    @property
    def mean(self) -> float:
        """The mean of all values; raises `ZeroDivisionError` without values."""
        return fsum(map(float.__mul__, self.values, map(float, self.counts))) / self.size

    @property
    def mirrored(self) -> Counts:
        """The same counts of the negated values."""
        return Counts(tuple(-value for value in reversed(self.values)), self.counts[::-1])

    def scaled(self, factor: float) -> Counts:
        """Return the same values in the same proportions, `factor` times as many."""
        return Counts(self.values, tuple(count * factor for count in self.counts))


class Bracket(NamedTuple):
    """Lower and upper limits of values in [`least`, 1], for tests of their true mean.

    `low` and `high` differ if some values are unknown, or if more than `MOST_VALUES` are distinct.
    """

    low: Counts
    high: Counts
    least: float = 0.0

    def p_above(self, mean: float) -> float:
        """Return the p-value of "the true mean is at most `mean`"."""
        return mean_above(self.low, mean, least=self.least)

    def p_below(self, mean: float) -> float:
        """Return the p-value of "the true mean is at least `mean`"."""
        return mean_below(self.high, mean)

    def lower(self, alpha: float) -> float:
        """Return the one-sided lower bound of the true mean at the error rate `alpha`."""
        return lower_bound(self.low, alpha, least=self.least)

    def upper(self, alpha: float) -> float:
        """Return the one-sided upper bound of the true mean at the error rate `alpha`."""
        return upper_bound(self.high, alpha)

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the two-sided interval of the true mean."""
        alpha = alpha_of(confidence) / 2
        return Interval(self.lower(alpha), self.upper(alpha), confidence)

    def needed(self, threshold: float, alpha: float, samples: int, *, above: bool) -> int | None:
        """Return how many samples would show the mean above, or below, the threshold.

        This assumes that the values keep their proportions. `samples` is the number of samples from
        which the values were computed. Returns None if no number is enough.
        """
        side = self.low if above else self.high
        groups = groups_needed(side, threshold, alpha, least=self.least)
        # The tests count groups, but a user adds samples, so convert groups to samples.
        return groups and ceil(groups * samples / side.size)


def bracketed(values: Floats, counts: Floats | None = None, *, least: float) -> Bracket:
    """Return `values` with their counts, rounded down and rounded up.

    At most `MOST_VALUES` distinct values are not rounded. More values are rounded to multiples of
    the smallest power of 2 that leaves at most `MOST_VALUES`, within [`least`, 1].
    """
    exact = Counts.of(values, counts)
    if len(exact.values) <= MOST_VALUES:
        return Bracket(exact, exact, least)
    distinct, frequencies = np.array(exact.values), np.array(exact.counts)

    def kept_apart(bits: int) -> int:
        return len(np.unique(np.floor(distinct * 2.0**bits)))

    bits = bisect_right(range(_FINEST), MOST_VALUES, key=kept_apart) - 1
    # Raising a value never raises the p-value K, so rounding `low` down and `high` up widens
    # bounds.
    low = np.floor(distinct * 2.0**bits) / 2.0**bits
    high = np.minimum(low + 2.0**-bits, 1.0)
    low = np.maximum(low, least)
    return Bracket(Counts.of(low, frequencies), Counts.of(high, frequencies), least)


def mean_above(counts: Counts, mean: float, *, least: float = 0.0) -> float:
    """Return the p-value of "the true mean is at most `mean`" for values that are >= `least`.

    This is K as defined at the top of this module, to 11 digits: a small p-value shows that the
    true mean is above `mean`. `least` is 0 for scores and -1 for differences of scores. Without
    values, the p-value is 1. Raises `ParameterError` for values below `least`.
    """
    _check_range(counts, least=least)
    return exp(_log_k(counts, mean, least))


def mean_below(counts: Counts, mean: float, *, most: float = 1.0) -> float:
    """Return the p-value of "the true mean is at least `mean`" for values that are <= `most`.

    The mirror image of `mean_above`: a small p-value shows that the true mean is below `mean`.
    """
    _check_range(counts, most=most)
    return mean_above(counts.mirrored, -mean, least=-most)


def lower_bound(counts: Counts, alpha: float, *, least: float = 0.0) -> float:
    """Return the lower bound: the true mean is below it with probability `alpha` at most.

    The bound is the mean at which the p-value of `mean_above` is `alpha`; it is between `least` and
    the largest value. Without values, it is `least`. Raises `ParameterError` for values below
    `least`.
    """
    _check_range(counts, least=least)
    if not counts.values or counts.values[-1] <= least:
        return least
    return _inverted(counts, alpha, least)


@lru_cache(maxsize=128)  # Recall at 5, at 10, and over all contexts are often equal.
def _inverted(counts: Counts, alpha: float, least: float) -> float:
    # Search for the mean at which the p-value K is `alpha`. The square root of -ln K is roughly
    # linear in the mean, so the secant method converges in a few steps. Each step computes an
    # integral: with 2,293 distinct values a bound takes about 450 ms.
    target = sqrt(-log(alpha))

    def beyond(mean: float) -> float:
        return target - sqrt(-_log_k(counts, mean, least))

    start = counts.mean - target / sqrt(2 * counts.size)  # This is Hoeffding's bound.
    # The second point for the secant method: at the mean of the values, the p-value K is about 1/2.
    at_the_mean = (counts.mean, target - sqrt(log(2)))
    return root(beyond, least, counts.values[-1], start, at_the_mean)


def upper_bound(counts: Counts, alpha: float) -> float:
    """Return the upper bound: the true mean is above it with probability `alpha` at most.

    It mirrors `lower_bound`: it is between the smallest value and 1; without values, it is 1.
    """
    _check_range(counts, most=1.0)
    return -lower_bound(counts.mirrored, alpha, least=-1.0)


def groups_needed(
    counts: Counts, threshold: float, alpha: float, *, least: float = 0.0
) -> int | None:
    """Return how many independent values would show that the mean is above or below `threshold`.

    This is the smallest number at which the p-value is at most `alpha`, if the values keep their
    proportions in `counts`. Returns None without values, or if no number up to `MOST_GROUPS` is
    enough, as when the mean equals the threshold.
    """
    _check_range(counts, least=least, most=1.0)
    if counts.values and counts.mean < threshold:
        counts, threshold, least = counts.mirrored, -threshold, -1.0
    target, share = sqrt(-log(alpha)), 1 / counts.size if counts.values else 1.0

    def beyond(size_root: float) -> float:
        return (
            sqrt(-_log_k(counts.scaled(share * size_root * size_root), threshold, least)) - target
        )

    def decided(groups: int) -> bool:
        return _log_k(counts.scaled(share * groups), threshold, least) <= log(alpha)

    if not decided(MOST_GROUPS):
        return None
    # The square root of -ln K is roughly linear in that of n, so search for the root of n.
    square_root = root(beyond, 1.0, sqrt(MOST_GROUPS), sqrt(counts.size), (0.0, -target))
    needed = max(1, round(square_root * square_root))
    # The root is a real number, exact to about 14 digits, so check the whole numbers next to it.
    while not decided(needed):
        needed += 1
    while needed > 1 and decided(needed - 1):
        needed -= 1
    return needed


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's method.

    If each hypothesis with an adjusted p-value of at most alpha is rejected, the probability that
    any true hypothesis is rejected is alpha at most, for any dependence between the p-values.
    Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6(2), 1979.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rejected, position in enumerate(order):
        # Adjusted p-values must not fall: once a hypothesis is not rejected, no later one is.
        largest = max(largest, min(1.0, p_values[position] * (len(p_values) - rejected)))
        adjusted[position] = largest
    return adjusted


def _log_k(counts: Counts, mean: float, least: float) -> float:
    """Return ln K in [-inf, 0], where K is defined at the top of this module."""
    if mean < least:
        return -inf
    # The last weight is that of E_0; without it, equal values would have an interval of width 0.
    weights = np.array([*counts.values, least], dtype=np.float64) - mean
    shapes = np.array([*counts.counts, 1.0], dtype=np.float64)
    return log_probability_below_zero(weights, shapes)


def root(
    function: Callable[[float], float],
    low: float,
    high: float,
    start: float,
    other: tuple[float, float],
) -> float:
    """Return the root of an increasing function between `low` and `high`, to about 14 digits.

    The secant method begins at `start` and at `other`, a point with its approximate value. If a
    step does not shrink by half, the range is halved instead (Dekker's safeguard). The function may
    be infinite in part of the range.
    """
    point, step = min(max(start, low), high), 2 * (high - low)
    for steps in range(200):
        value = function(point)
        low, high = (point, high) if value < 0 else (low, point)
        slope = (value - other[1]) / (point - other[0]) if point != other[0] else 0.0
        following = point - value / slope if 0 < slope < inf else inf
        if not (low <= following <= high and abs(following - point) <= step / 2):
            following = (low + high) / 2
        other, step, point = (point, value), abs(following - point), following
        if value == 0 or (steps and step <= _ROOT_DIGITS * max(1.0, abs(point))):
            break
    return other[0] if value == 0 else point


def _check_range(counts: Counts, *, least: float = -inf, most: float = inf) -> None:
    for value in counts.values[:1] + counts.values[-1:]:
        if not least - _ROUNDING <= value <= most + _ROUNDING:
            raise ParameterError(f"must be from {least:g} to {most:g}, got {value!r}", "values")
