"""How a mean changed from one report to another: one interval, and what it shows.

The interval is Gaffke's, two-sided, of paired differences (`fullrecall.results.bounds`): it holds
for every distribution of the differences and every number of independent groups. Better and worse
are said where it leaves out 0, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from fullrecall.errors import ParameterError
from fullrecall.parameters import check_share
from fullrecall.results.bounds import (
    CONFIDENCE,
    Interval,
    alpha_of,
    bracketed,
    groups_needed,
    holm,
    lower_bound,
    mean_above,
    mean_below,
    upper_bound,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_ROUNDING = 1e-9
"""How far a difference may exceed the range, as a mean of a group may by rounding."""


class Direction(StrEnum):
    """What an interval of a change shows."""

    BETTER = "better"
    WORSE = "worse"
    CANNOT_TELL = "cannot_tell"

    @property
    def words(self) -> str:
        """The direction as a sentence has it."""
        return "CANNOT TELL" if self is Direction.CANNOT_TELL else self.value


@dataclass(frozen=True, kw_only=True)
class Change:
    """The mean of paired differences, after less before, and what it shows.

    `interval` has the true mean in it with probability `interval.confidence` at least. `outcome` is
    better or worse where it leaves out 0. `needed` is how many groups with these differences would
    settle it where it is CANNOT TELL; None where no number would. `p` is the p-value of "the mean
    did not change" that belongs to the interval; `p_adjusted` the same by Holm's method for all
    changes that `corrected` took together, which then decides `outcome`. Without groups
    `difference`, `interval`, and `p` are None.
    """

    difference: float | None = None
    interval: Interval | None = None
    outcome: Direction = Direction.CANNOT_TELL
    groups: int = 0
    needed: int | None = None
    p: float | None = None
    p_adjusted: float | None = None


_Change = TypeVar("_Change", bound=Change)


def change(
    differences: ArrayLike,
    counts: ArrayLike | None = None,
    *,
    range: float = 1.0,  # noqa: A002 - the word that users know
    confidence: float = CONFIDENCE,
) -> Change:
    """Return how the mean changed, from the difference of each independent group.

    - `differences`: after less before, in [-range, range]; `counts` says how many groups have each
      (default: 1).
    - `range`: the largest difference that is possible. A smaller one, such as 0.2, makes a narrower
      interval; it must be known beforehand, not read off the data.

    Raises `ParameterError` for differences out of the range and for arguments out of theirs.
    """
    import numpy as np

    check_share(confidence, "confidence", whole=False)
    if not 0 < range <= 1:
        raise ParameterError(f"range must be above 0 and at most 1, got {range!r}")
    values = _checked(np.asarray(differences, dtype=np.float64).ravel(), range)
    frequencies = None if counts is None else np.asarray(counts, dtype=np.float64).ravel()
    if not len(values):
        return Change()
    low, high = bracketed(values, frequencies, least=-range, most=range)
    mean = float(np.average(values, weights=frequencies))
    alpha = alpha_of(confidence)
    interval = Interval(
        lower_bound(low, alpha / 2, least=-range),
        upper_bound(high, alpha / 2, most=range),
        confidence,
    )
    outcome, needed = Direction.CANNOT_TELL, None
    if interval.low > 0:
        outcome = Direction.BETTER
    elif interval.high < 0:
        outcome = Direction.WORSE
    elif mean:
        side = low if mean > 0 else high
        needed = groups_needed(side, 0.0, alpha / 2, least=-range, most=range)
    sides = mean_above(low, 0.0, least=-range), mean_below(high, 0.0, most=range)
    return Change(
        difference=mean,
        interval=interval,
        outcome=outcome,
        groups=round(low.size),
        needed=needed,
        p=min(1.0, 2 * min(sides)),
    )


def corrected(changes: Sequence[_Change]) -> list[_Change]:
    """Return changes that are shown together with one error rate for all of them.

    By Holm's method: any is called better or worse in error with probability 1 - confidence at
    most, however they depend on each other. Each interval remains that of its change alone.
    """
    adjusted = holm([1.0 if each.p is None else each.p for each in changes])
    return [
        each
        if each.interval is None
        else replace(
            each,
            p_adjusted=p,
            outcome=each.outcome
            if p <= alpha_of(each.interval.confidence)
            else Direction.CANNOT_TELL,
        )
        for each, p in zip(changes, adjusted, strict=True)
    ]


def _checked(values: Floats, largest: float) -> Floats:
    """Return the values; differences that exceed the range by rounding only are put right."""
    import numpy as np

    wrong = values[~(np.abs(values) <= largest + _ROUNDING)]
    if len(wrong):
        raise ParameterError(
            f"differences must be from {-largest:g} to {largest:g}, got {float(wrong[0])!r}"
        )
    return np.clip(values, -largest, largest)
