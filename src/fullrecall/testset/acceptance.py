"""How many questions people must review, and what the reviewed ones prove of all."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, comb

from fullrecall.errors import ParameterError
from fullrecall.results.special import beta_quantile, binomial_tail

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
    if total is not None:
        # The most bad ones of all at which so few would still turn up now and then.
        low, high = bad, total - (reviewed - bad)
        while low < high:
            middle = (low + high + 1) // 2
            if _few_of_set(bad, reviewed, middle, total) > chance:
                low = middle
            else:
                high = middle - 1
        return 1 - low / total
    return beta_quantile(reviewed - bad, bad + 1, chance)


def at_least_by_chance(seen: int, count: int, share: float) -> float:
    """Return the probability of `seen` or more of `count`, each with probability `share`."""
    return binomial_tail(seen, count, share)


def _few_of_set(bad: int, drawn: int, bad_in_all: int, total: int) -> float:
    """Return the probability of at most `bad` among `drawn` of a set with `bad_in_all`."""
    return sum(_ways(bad, drawn, bad_in_all, total)) / comb(total, drawn)


def _ways(bad: int, drawn: int, bad_in_all: int, total: int) -> Iterator[int]:
    for k in range(bad + 1):
        if k <= bad_in_all and drawn - k <= total - bad_in_all:
            yield comb(bad_in_all, k) * comb(total - bad_in_all, drawn - k)


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
