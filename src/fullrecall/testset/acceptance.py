"""How many questions people must review, and what the reviewed ones prove of all."""

from __future__ import annotations

from bisect import bisect_left
from math import ceil, comb

from fullrecall.errors import ParameterError
from fullrecall.results.special import beta_quantile

GOOD = 0.9
CONFIDENCE = 0.95
ALLOWED = 2
"""Bad questions that a review of the default size may find."""


def reviews_needed(
    allowed: int = ALLOWED,
    *,
    total: int | None = None,
    good: float = GOOD,
    confidence: float = CONFIDENCE,
) -> int:
    """Return how many questions must be drawn to be sure that at least `good` of all are good.

    If at most `allowed` of them are bad, the share of good ones is at least `good` with this
    confidence: by Clopper and Pearson, "The use of confidence or fiducial limits illustrated in
    the case of the binomial", Biometrika 26, 1934; of a set of `total` questions by the
    hypergeometric distribution, which takes fewer. `total` itself where no smaller number will
    do. Fix it before the review: to go on until it passes makes the confidence a lie.

    Raises `ParameterError` for arguments out of range.
    """
    _check(allowed, total, good, confidence)
    count = allowed + 1
    while total is None or count < total:
        if lower_bound(count, allowed, total=total, confidence=confidence) >= good:
            return count
        count += 1
    return total


def lower_bound(
    reviewed: int, bad: int, *, total: int | None = None, confidence: float = CONFIDENCE
) -> float:
    """Return the share of good questions, in [0, 1], that a random review proves at least.

    `total` is the size of the set that the reviewed ones were drawn from; None for an endless
    one. 0 where nothing was reviewed.
    """
    if reviewed < 1 or bad >= reviewed:
        return 0.0
    chance = 1 - confidence
    if total is None:
        return beta_quantile(reviewed - bad, bad + 1, chance)
    # The most bad ones of all at which so few would still turn up now and then.
    numbers = range(bad, total - (reviewed - bad) + 1)
    rare = bisect_left(
        numbers, x=True, key=lambda bad_in_all: _few(bad, reviewed, bad_in_all, total) <= chance
    )
    return 1 - numbers[max(0, rare - 1)] / total


def _few(bad: int, drawn: int, bad_in_all: int, total: int) -> float:
    """Return the probability of at most `bad` among `drawn` of a set with `bad_in_all`."""
    ways = (comb(bad_in_all, k) * comb(total - bad_in_all, drawn - k) for k in range(bad + 1))
    return sum(ways) / comb(total, drawn)


def _check(allowed: int, total: int | None, good: float, confidence: float) -> None:
    if not isinstance(allowed, int) or isinstance(allowed, bool) or allowed < 0:
        raise ParameterError(f"allowed must be a whole number of at least 0, got {allowed!r}")
    if total is not None and (not isinstance(total, int) or total < 1):
        raise ParameterError(f"total must be a whole number of at least 1, got {total!r}")
    for name, value in (("good", good), ("confidence", confidence)):
        if not isinstance(value, (int, float)) or not 0 < value < 1:
            raise ParameterError(f"{name} must be above 0 and below 1, got {value!r}")


def allowed_bad(reviewed: int, total: int | None = None, *, good: float = GOOD) -> int | None:
    """Return how many bad ones a review of this size may find and pass; None where none may."""
    most = None
    for bad in range(ceil(reviewed * (1 - good)) + 1):
        if lower_bound(reviewed, bad, total=total) < good:
            break
        most = bad
    return most
