"""How many samples a decision would take, by the spread of those that there are."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from fullrecall.report.statistics import Interval, Spread, decision_bounds, difference_bounds

MOST = 10_000_000
"""No more samples than these are advised."""

_Bounds = Callable[[Spread | None, float], Interval | None]


def samples_needed(
    spread: Spread | None, samples: int, least: float, confidence: float
) -> int | None:
    """Return how many samples would tell on which side of `least` a mean in [0, 1] lies.

    Provided that the mean and the spread stay as they are; `samples` is how many there were, in
    `spread.groups` groups, which did not tell. None if no number up to `MOST` tells, as where the
    mean is `least`.
    """
    return _needed(spread, samples, least, confidence, decision_bounds)


def pairs_needed(
    spread: Spread | None, samples: int, least: float, confidence: float
) -> int | None:
    """Return the same for a mean difference in [-1, 1]."""
    return _needed(spread, samples, least, confidence, difference_bounds)


def _needed(
    spread: Spread | None, samples: int, least: float, confidence: float, bounds: _Bounds
) -> int | None:
    if spread is None or spread.groups < 2:  # noqa: PLR2004 - one group has no spread
        return None

    def tells(groups: int) -> bool:
        times = groups / spread.groups
        larger = Spread(spread.mean, spread.variance / times, max(1.0, spread.df * times), groups)
        at = bounds(larger, confidence)
        return at is not None and (at.low >= least or at.high < least)

    low, high = spread.groups, 2 * spread.groups
    while not tells(high):
        low, high = high, high * 2
        if high * samples > MOST * spread.groups:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tells(middle) else (middle, high)
    return ceil(high * samples / spread.groups)
