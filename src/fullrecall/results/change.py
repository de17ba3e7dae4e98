"""How a mean changed from one report to another: one interval, and what it shows.

The interval is Gaffke's, two-sided, of paired differences (`fullrecall.results.bounds`): it holds
for every distribution of the differences and every number of independent groups. Better and worse
are said where it leaves out 0, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fullrecall.errors import ParameterError
from fullrecall.measures import Measure
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
from fullrecall.results.pairs import ScorePairs, changes, gained_and_lost
from fullrecall.results.plain import plain_of
from fullrecall.results.totals import Totals
from fullrecall.table.lists import Floats, Integers

_ROUNDING = 1e-9
"""How far a difference may exceed the range, as a mean of a group may by rounding."""


class Direction(StrEnum):
    """What an interval of a change shows."""

    BETTER = "better"
    WORSE = "worse"
    CANNOT_TELL = "cannot_tell"


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
    check_share(confidence, "confidence", whole=False)
    if not 0 < range <= 1:
        raise ParameterError(f"range must be above 0 and at most 1, got {range!r}")
    values = np.asarray(differences, dtype=np.float64).ravel()
    wrong = values[~(np.abs(values) <= range + _ROUNDING)]
    if len(wrong):
        bad = float(wrong[0])
        raise ParameterError(f"differences must be from {-range:g} to {range:g}, got {bad!r}")
    values = np.clip(values, -range, range)
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
    # Twice the smaller side: the same test as the interval, so that both say the same of 0.
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


MOST_FLIPS = 10_000
"""Samples that changed are named, those with the largest changes."""


class Flip(NamedTuple):
    """A sample whose value changed: the targets that are now found, and those that no longer are.

    `sample` is its label, as in `Row.label`; targets count as found within the measure's `k`.
    """

    sample: str
    question: str | None
    before: float
    after: float
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def change(self) -> float:
        """The value after less the value before."""
        return self.after - self.before


@dataclass(frozen=True, kw_only=True)
class Difference(Change):
    """One measure of one score, over the samples of which it is defined in both reports.

    `before`, `after` and `difference` are means over groups, a sample without a group being one;
    None without samples. `interval` has the true mean change in it with the comparison's
    confidence, whatever the distribution of the changes (`fullrecall.results.bounds`); `outcome` is
    better or worse where it leaves out 0, else CANNOT TELL, and `needed` is then how many samples
    with these changes would settle it. `p` is the p-value of "the mean did not change" that belongs
    to the interval; `p_adjusted` the same by Holm's method for all measures that were asked for,
    which then decides `outcome`; None for the curve over k that is shown unasked.
    """

    measure: Measure
    before: float | None
    after: float | None
    totals: Totals = field(repr=False, compare=False)
    values: tuple[Floats, Floats] = field(repr=False, compare=False)
    """The measure of each pair before and after, NaN where it is not compared."""
    pairs: ScorePairs = field(repr=False, compare=False)

    @property
    def samples(self) -> int:
        """How many samples were compared."""
        return self.totals.samples

    @property
    def wins(self) -> int:
        """Samples whose value is better."""
        return int((self._gains > 0).sum())

    @property
    def losses(self) -> int:
        """Samples whose value is worse."""
        return int((self._gains < 0).sum())

    @property
    def ties(self) -> int:
        """Samples whose value stayed."""
        return self.samples - self.wins - self.losses

    @cached_property
    def flips(self) -> tuple[Flip, ...]:
        """The samples whose value changed, the largest change first: 10,000 at most."""
        moved = np.flatnonzero(np.nan_to_num(self._gains))
        largest = moved[np.argsort(-np.abs(self._gains[moved]), kind="stable")]
        return tuple(map(self._flip, largest[:MOST_FLIPS].tolist()))

    @cached_property
    def _gains(self) -> Floats:
        """By how much each pair is better, NaN where it is not compared."""
        return changes(*self.values) * (-1 if self.measure.lower_is_better else 1)

    def _flip(self, pair: int) -> Flip:
        row = self.pairs.row(pair)
        before, after = (float(values[pair]) for values in self.values)
        gained, lost = gained_and_lost(*self.pairs.results(pair), self.measure)
        return Flip(row.label, row.sample.user_input, before, after, gained, lost)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("measure", "samples", "groups", "before", "after", "difference", "interval")
        more = ("outcome", "needed", "p", "p_adjusted", "wins", "ties", "losses", "flips")
        return plain_of(self, *names, *more)


def difference(
    measure: Measure,
    pairs: ScorePairs,
    groups: Integers | None,
    *,
    confidence: float,
    range: float,  # noqa: A002 - the word that users know
) -> Difference:
    """Return what a measure of pairs shows; `groups` numbers the group of each pair.

    See `fullrecall.report.compare` for the others.
    """
    values = pairs.values(measure)
    due = np.zeros(len(values[0]), np.bool_)
    before, after, totals = (
        Totals.of(each, due=due, groups=groups) for each in (*values, changes(*values))
    )
    sign = -1 if measure.lower_is_better else 1  # a rise of what is better lower is a loss
    group_changes, counts = totals.group_values(least=-1.0)
    of_groups = change(sign * group_changes, counts, confidence=confidence, range=range)
    interval, needed = of_groups.interval, of_groups.needed
    if interval is not None and measure.lower_is_better:
        interval = Interval(-interval.high, -interval.low, confidence)
    if needed is not None:
        # Groups are what counts, samples what a user can add.
        needed = ceil(needed * totals.samples / totals.independent)
    of_samples = {"difference": totals.mean, "interval": interval, "needed": needed}
    return Difference(
        **{**vars(of_groups), **of_samples},
        measure=measure,
        before=before.mean,
        after=after.mean,
        totals=totals,
        values=values,
        pairs=pairs,
    )
