"""Estimate how complete references are, from people's labels of a sample of unlabeled pairs.

Each pair of a question and a context that the references do not name belongs to a stratum, by the
judge's verdict and by its ranks. People label a sample of each stratum. Totals are Horvitz-Thompson
estimates. Each stratum with many relevant pairs has its own mid-p hypergeometric interval; the
strata with few relevant pairs share one interval, by Fay and Kim, "Confidence intervals for
directly standardized rates using mid-p gamma intervals", Biometrical Journal 59, 2017. The MOVER
method combines these intervals (Zou and Donner, "Construction of confidence limits about effect
measures", Statistics in Medicine 27, 2008). bench/testset_completeness.py measures how often the
intervals hold.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, islice
from math import ceil, comb, exp, floor, lgamma, log, sqrt
from typing import Literal, NamedTuple, TypeAlias

from fullrecall._util.allocation import allocation
from fullrecall.stats.bounds import root

PairVerdict: TypeAlias = Literal["yes", "no", "no verdict"]
"""The judge's verdict on whether the context of a pair is relevant."""

_TAIL = 0.025
_DEVIATES = 1.959963984540054
FEWEST = 10
"""The fewest labels of each stratum."""

WIDTH = 0.2
"""The width of the interval for which the number of labels is planned."""

_DENSE, _DENSE_HITS = 0.15, 3
_ROUNDING = 1e-9
_EPSILON = 2.0**-53
_FAR = 20.0
"""A gamma variable is never, in floating point, more than this many standard deviations above its
mean.
"""


# The strata of each verdict, from the top ranks down. A stratum has two numbers: its share of the
# verdict's pairs, and the share of its pairs that is assumed to be relevant (to plan the labels).
# For "no", the assumed shares differ little: steeper plans gave wider intervals on Cranfield and
# CISI, and a second draw that learns from the first is biased and no narrower.
_PLAN: Mapping[PairVerdict, tuple[tuple[float, float], ...]] = {
    "yes": ((0.4, 0.6), (0.6, 0.3)),
    "no": ((0.05, 0.03), (0.10, 0.02), (0.25, 0.015), (0.60, 0.01)),
    "no verdict": ((0.1, 0.3), (0.3, 0.1), (0.6, 0.03)),
}


class Stratum(NamedTuple):
    """A group of `size` pairs that no reference names; people label a random sample of the pairs.

    `kind` is the judge's verdict on the pairs. `labeled` pairs have a label, and `relevant` of them
    are relevant. `twice` is True if a second person labeled each pair that the first one labeled
    relevant.
    """

    kind: PairVerdict
    size: int
    labeled: int
    relevant: int
    twice: bool = True


class Figure(NamedTuple):
    """A number of relevant pairs, or a share in [0, 1], with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval."""
        return self.high - self.low


def strata_of(kinds: Sequence[PairVerdict], nearness: Sequence[float]) -> list[list[int]]:
    """Divide pairs into strata by verdict and rank; return the indices of each stratum's pairs.

    Empty strata are included. `kinds` (verdicts) and `nearness` have an item for each pair.
    `nearness` is the sum of 1 / (10 + rank) over the retrievers, which is higher for pairs nearer
    to the top.
    """
    strata: list[list[int]] = []
    for kind, plan in _PLAN.items():
        members = [at for at, own in enumerate(kinds) if own == kind]
        members.sort(key=lambda at: (-nearness[at], at))
        rest = iter(members)
        strata += [list(islice(rest, round(share * len(members)))) for share, _ in plan[:-1]]
        strata.append(list(rest))
    return strata


KINDS: tuple[PairVerdict, ...] = tuple(kind for kind, plan in _PLAN.items() for _ in plan)
"""The judge's verdict on the pairs of each stratum, in the order of `strata_of`."""

_PLANNED = tuple(share for plan in _PLAN.values() for _, share in plan)
_SPREAD = tuple(sqrt(share * (1 - share)) for share in _PLANNED)


def drawn(strata: Sequence[Sequence[int]], n: int, seed: int) -> list[int]:
    """Return the indices of `n` random pairs; more if needed for ten from each stratum.

    `n` is divided among the strata by Neyman's allocation, with the shares of relevant pairs that
    `_PLAN` assumes. A larger draw with the same seed contains the smaller one.
    """
    sizes = [len(members) for members in strata]
    weights = [size * spread for size, spread in zip(sizes, _SPREAD, strict=True)]
    drawn: list[int] = []
    for number, count in enumerate(allocation(weights, sizes, n, fewest=FEWEST)):
        # Each stratum has its own generator, so that the size of one draw does not reorder another
        # stratum.
        order = list(strata[number])
        random.Random(f"{seed}:{number}").shuffle(order)  # noqa: S311 - a sample, no secret
        drawn += order[:count]
    return drawn


def labels_needed(sizes: Sequence[int], labeled: int) -> int:
    """Return the approximate number of labels for a completeness interval 0.2 wide.

    The number assumes the shares of relevant pairs in `_PLAN`. `sizes` are those of the strata;
    `labeled` is the number of pairs that the references name.
    """
    missed = sum(size * share for size, share in zip(sizes, _PLANNED, strict=True))
    spread = sum(size * spread for size, spread in zip(sizes, _SPREAD, strict=True))
    if not labeled or not missed:
        return min(sum(sizes), FEWEST * sum(map(bool, sizes)))
    deviation = WIDTH / 2 / _DEVIATES * (labeled + missed) ** 2 / labeled
    return min(sum(sizes), max(FEWEST * sum(map(bool, sizes)), ceil((spread / deviation) ** 2)))


def missing(strata: Iterable[Stratum], error: float = 0.0) -> Figure:
    """Return an estimate of the number of relevant pairs in the strata, with its interval.

    Each stratum that is not empty needs at least one labeled pair. `error` is the largest share of
    a person's labels that may be wrong; the interval is the union of the intervals for 0 and for
    `error`. In strata of another kind than "yes", a "relevant" label counts as confirmed by two
    people if the stratum is labeled `twice`.
    """
    # The user states the error. Only some 22 pairs have two labels: an estimate of the error from
    # them would be so uncertain that the interval would be wider than this union.
    filled = [stratum for stratum in strata if stratum.size]
    totals = [_total(filled, rate) for rate in {0.0, error}]
    value = _total(filled, 0.0).value
    return Figure(value, min(t.low for t in totals), max(t.high for t in totals))


def _total(strata: Sequence[Stratum], error: float) -> Figure:
    # Use the gamma interval for sparse strata: if no labeled pair is relevant, normal and bootstrap
    # intervals are [0, 0]. Jeffreys' interval held in 0 to 96 % of draws, depending on the setting;
    # the gamma interval held in at least 95 % in over 50 settings.
    dense = [s for s in strata if _is_dense(s)]
    sparse = sorted((s for s in strata if not _is_dense(s)), key=lambda s: s.twice)
    parts = [_corrected(_counted(s), s.size, s, error) for s in dense]
    for _, group in groupby(sparse, key=lambda s: s.twice):
        members = list(group)
        size = sum(s.size for s in members)
        parts.append(_corrected(_rare(members), size, members[0], error))
    value = sum(part.value for part in parts)
    below = sum((part.value - part.low) ** 2 for part in parts)
    above = sum((part.high - part.value) ** 2 for part in parts)
    # Widen the interval, since the number of wrong labels varies; `_corrected` removes only their
    # mean effect.
    yeses = sum(s.size for s in strata if s.kind == "yes")
    others = sum(s.relevant * s.size / s.labeled for s in strata if s.kind != "yes")
    noise = _DEVIATES * sqrt(yeses * error * (1 - error) + 2 * error * others)
    # A count is a whole number, so round both ends down. Rounding the low end down widens the
    # interval. Nearly fully labeled strata need this rounding: their totals take few values, and
    # MOVER alone would exclude the smallest total, although it is not rare.
    low = floor(value - sqrt(below) - noise + _ROUNDING)
    high = floor(value + sqrt(above) + noise + _ROUNDING)
    least, most = 0, sum(s.size for s in strata)
    if not error:  # no label is wrong, so the labeled pairs bound the total
        least = sum(s.relevant for s in strata)
        most -= sum(s.labeled for s in strata) - least
    return Figure(value, min(value, max(least, low)), max(value, min(most, high)))


def _is_dense(s: Stratum) -> bool:
    many = s.relevant >= _DENSE_HITS and s.relevant >= _DENSE * s.labeled
    return s.kind == "yes" or many or s.labeled >= s.size


def _corrected(total: Figure, size: int, s: Stratum, error: float) -> Figure:
    """Return a total corrected for wrong labels: size · (p - f) / (g - f), in [0, size].

    p is the total divided by the size; f and g are the shares of irrelevant and of relevant pairs
    that were labeled relevant.
    """
    f, g = error, 1 - error
    if s.kind != "yes" and s.twice:
        f, g = f * f, g * g
    low, value, high = (
        min(size, max(0.0, (count - f * size) / (g - f)))
        for count in (total.low, total.value, total.high)
    )
    return Figure(value, low, high)


def _counted(s: Stratum) -> Figure:
    """Return a stratum's total with its mid-p hypergeometric interval."""
    value = s.size * s.relevant / s.labeled
    counts = range(s.relevant, s.size - (s.labeled - s.relevant) + 1)
    # The interval has each number of relevant pairs for which both tail probabilities of the
    # observed hits are above `_TAIL`.
    least = bisect_left(counts, x=True, key=lambda count: _at_most(s, count) < 1 - _TAIL)
    beyond = bisect_left(counts, x=True, key=lambda count: _at_most(s, count) <= _TAIL)
    low, high = counts[min(least, len(counts) - 1)], counts[max(0, beyond - 1)]
    return Figure(value, min(low, value), max(high, value))


def _at_most(s: Stratum, relevant: int) -> float:
    """Return the mid-p probability of at most the observed hits (labeled relevant pairs).

    It assumes that the stratum has `relevant` relevant pairs.
    """
    seen = s.relevant, s.relevant - 1  # The observed count has half the weight.
    return sum(hypergeometric_cdf(hits, s.labeled, relevant, s.size) for hits in seen) / 2


def hypergeometric_cdf(hits: int, drawn: int, relevant: int, size: int) -> float:
    """Return the probability of at most `hits` relevant items in a draw of `drawn` from `size`."""
    # Sum exact integers and divide once, so that only the division rounds.
    ways = (comb(relevant, k) * comb(size - relevant, drawn - k) for k in range(hits + 1))
    return sum(ways) / comb(size, drawn)


def _rare(strata: Sequence[Stratum]) -> Figure:
    """Return the total of strata with few relevant pairs, with the interval of Fay and Kim.

    The interval is their mid-p gamma interval, with each weight reduced by 0.5 because draws
    without replacement vary less.
    """
    value = sum(s.relevant * s.size / s.labeled for s in strata)
    weights = [s.size / s.labeled - 0.5 for s in strata]
    mean = sum(w * s.relevant for w, s in zip(weights, strata, strict=True))
    variance = sum(w * w * s.relevant for w, s in zip(weights, strata, strict=True))
    # The upper bound assumes one more hit, of the largest weight (Fay and Feuer), so it is above 0
    # even without a hit.
    widest = max(weights)
    fewer, more = _Gamma.of(mean, variance), _Gamma.of(mean + widest, variance + widest**2)
    low, high = (_mid_p_quantile(fewer, more, chance) for chance in (_TAIL, 1 - _TAIL))
    return Figure(value, max(0.0, value + low - mean), max(value, value + high - mean))


class _Gamma(NamedTuple):
    """A gamma distribution; the constant 0 if `scale` is 0."""

    shape: float
    scale: float

    @classmethod
    def of(cls, mean: float, variance: float) -> _Gamma:
        return cls(mean**2 / variance, variance / mean) if mean else cls(1.0, 0.0)

    def cdf(self, x: float) -> float:
        return _gamma_cdf(self.shape, x / self.scale) if self.scale else 1.0

    @property
    def far(self) -> float:
        """A value that the variable certainly does not exceed, in floating point."""
        return (self.shape + _FAR * (sqrt(self.shape) + 2)) * self.scale


def _gamma_cdf(shape: float, x: float) -> float:
    """Return the probability that a gamma variable of this `shape` > 0 and scale 1 is at most x."""
    if x <= 0:
        return 0.0
    if x > shape + _FAR * (sqrt(shape) + 2):
        return 1.0
    # The series of the lower incomplete gamma function; all terms are positive, so none cancel.
    term = total = 1 / shape
    steps = shape
    while term > total * _EPSILON:
        steps += 1
        term *= x / steps
        total += term
    return min(1.0, exp(shape * log(x) - x - lgamma(shape)) * total)


def _mid_p_quantile(fewer: _Gamma, more: _Gamma, chance: float) -> float:
    """Return a quantile of the equal mixture of two gamma distributions."""

    def beyond(x: float) -> float:
        return (fewer.cdf(x) + more.cdf(x)) / 2 - chance

    far = max(fewer.far, more.far)
    return root(beyond, 0.0, far, more.shape * more.scale, (far, 1 - chance))


def completeness(named_count: float, missed: Figure) -> Figure:
    """Return named_count / (named_count + missed) with its interval; 1 if both are 0."""
    if not named_count:
        return Figure(float(not missed.value), 0.0, float(not missed.low))
    low, value, high = (
        named_count / (named_count + part) for part in (missed.high, missed.value, missed.low)
    )
    return Figure(value, low, high)
