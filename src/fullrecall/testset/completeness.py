"""How complete references are, from samples of what was not labeled.

Totals are estimated by Horvitz and Thompson over strata, with the gamma interval of Fay and Feuer,
"Confidence intervals for directly standardized rates", Statistics in Medicine 16, 1997: for a
weighted sum of rare counts. Capture-recapture, the jackknife, discovery curves, the bootstrap and
a normal interval do not hold here; tests/testset/test_completeness.py shows by how much.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from math import ceil, inf, sqrt
from typing import NamedTuple

_TAIL = 0.025
_NO_HIT = 3.6888794541139363
"""The 0.975 quantile of an exponential: what a sample without a hit leaves possible, over w."""

FEWEST = 5
_POWER = 0.6
_STRATA = 5
WIDEST = 0.5
"""Of an interval that is shown; a wider one is a lower bound."""


class Stratum(NamedTuple):
    """A part of what was not labeled: `size` pairs, `drawn` of them looked at, `hits` relevant."""

    size: int
    drawn: int
    hits: int


class Total(NamedTuple):
    """A number of relevant pairs, with its 95 % interval."""

    value: float
    low: float
    high: float

    def plus(self, count: float) -> Total:
        """Return it with a known number more, or less; never below 0."""
        return Total(*(max(0.0, each + count) for each in self))


class Share(NamedTuple):
    """A share of all, in [0, 1], with its 95 % interval."""

    value: float
    low: float
    high: float


def total(strata: Sequence[Stratum]) -> Total | None:
    """Return how many relevant pairs the strata hold; None where one of them was not looked at.

    A stratum that was looked at as a whole is counted and adds no uncertainty.
    """
    if any(stratum.size and not stratum.drawn for stratum in strata):
        return None
    counted = sum(s.hits for s in strata if s.drawn >= s.size)
    sampled = [s for s in strata if s.drawn < s.size]
    if not sampled:
        return Total(counted, counted, counted)
    from scipy.special import gammaincinv

    weights = [s.size / s.drawn for s in sampled]
    estimate = sum(w * s.hits for w, s in zip(weights, sampled, strict=True))
    variance = sum(w * w * s.hits for w, s in zip(weights, sampled, strict=True))
    widest = max(weights)
    shape = (estimate + widest) ** 2 / (variance + widest**2)
    high = float(gammaincinv(shape, 1 - _TAIL)) * (variance + widest**2) / (estimate + widest)
    low = 0.0
    if estimate:
        low = float(gammaincinv(estimate**2 / variance, _TAIL)) * variance / estimate
    most = sum(s.size for s in sampled)
    seen = sum(s.hits for s in sampled)
    return Total(
        counted + estimate, counted + max(low, seen), counted + min(max(high, estimate), most)
    )


def completeness(known: Total, missed: Total) -> Share:
    """Return known / (known + missed), with the interval of their ratio.

    The ratio's is Donner and Zou's, "Closed-form confidence intervals for functions of the normal
    mean and standard deviation", Statistical Methods in Medical Research 21, 2012 (MOVER-R).
    Nothing known and nothing missed is complete.
    """
    if known.value + missed.value == 0:
        return Share(1.0, 0.0 if missed.high else 1.0, 1.0)
    low, high = _ratio_interval(missed, known)
    return Share(
        known.value / (known.value + missed.value),
        0.0 if high == inf else 1 / (1 + high),
        1 / (1 + low),
    )


def _ratio_interval(over: Total, under: Total) -> tuple[float, float]:
    def bound(edge: float, of_under: float, sign: int) -> float:
        below = of_under * (2 * under.value - of_under)
        if below <= 0:
            return inf if sign > 0 else 0.0
        product = over.value * under.value
        inside = product**2 - edge * (2 * over.value - edge) * below
        return max(0.0, (product + sign * sqrt(max(0.0, inside))) / below)

    return bound(over.low, under.high, -1), bound(over.high, under.low, 1)


def tail_needed(frame: int, known: float, wanted: float) -> int:
    """Return how many pairs of a frame must be drawn to show completeness `wanted` without a hit.

    `frame` pairs were not pooled, `known` relevant ones are; `wanted` is in (0, 1).
    """
    if known <= 0 or not 0 < wanted < 1:
        return frame
    return min(frame, ceil(_NO_HIT * frame / (known * (1 / wanted - 1))))


def edges(depth: int, frame: int, strata: int = _STRATA) -> list[int]:
    """Return the last rank of each stratum between `depth` and `frame`, in geometric steps."""
    steps = {round(depth * (frame / depth) ** (n / strata)) for n in range(1, strata + 1)}
    return sorted(step for step in steps if step > depth)


def allocation(sizes: Sequence[int], ranks: Sequence[float], n: int) -> list[int]:
    """Return how many of each stratum to draw, `n` in all where there are as many.

    In proportion to size · rank^-0.6, which is Neyman's where the share of relevant pairs falls
    as rank^-1.2; at least five of each.
    """
    wanted = min(n, sum(sizes))
    drawn = [min(FEWEST, size) for size in sizes]
    if sum(drawn) > wanted:
        drawn = [0] * len(sizes)
    weights = [size * rank**-_POWER for size, rank in zip(sizes, ranks, strict=True)]
    while sum(drawn) < wanted:
        free = [at for at, size in enumerate(sizes) if drawn[at] < size]
        at = max(free, key=lambda at: weights[at] / (drawn[at] + 1))
        drawn[at] += 1
    return drawn


def drawn(
    strata: Mapping[int, Sequence[int]], ranks: Mapping[int, float], n: int, seed: int
) -> dict[int, list[int]]:
    """Return the members of each stratum that a seeded random draw of `n` takes, in order."""
    names = sorted(strata)
    counts = allocation([len(strata[s]) for s in names], [ranks[s] for s in names], n)
    draw = random.Random(f"{seed}:tail")  # noqa: S311 - a sample, no secret
    return {
        name: sorted(draw.sample(list(strata[name]), count))
        for name, count in zip(names, counts, strict=True)
    }
