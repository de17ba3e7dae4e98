"""How a mean changed from one report to another: one interval, and what it shows.

The interval is Gaffke's, two-sided, of paired differences (`fullrecall.stats.bounds`): it holds
for every distribution of the differences and every number of independent groups. Better and worse
are said where it leaves out 0, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from fullrecall._util.truth import NoTruth
from fullrecall.errors import ParameterError
from fullrecall.measures import Measure
from fullrecall.measures.lists import Floats
from fullrecall.stats.bounds import (
    Interval,
    alpha_of,
    bracketed,
    groups_needed,
    lower_bound,
    mean_above,
    mean_below,
    upper_bound,
)
from fullrecall.stats.pairs import ScorePairs, changes, gained_and_lost
from fullrecall.stats.plain import plain_of
from fullrecall.stats.totals import Totals

_ROUNDING = 1e-9
"""How far a difference may exceed the range, as a mean of a group may by rounding."""


class Direction(StrEnum):
    """What an interval of a change shows."""

    BETTER = "better"
    WORSE = "worse"
    CANNOT_TELL = "cannot_tell"


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
class Difference(NoTruth):
    """One measure of one score, over the samples of which it is defined in both reports.

    `before`, `after` and `difference` are means over `groups`, a sample without a group being one;
    None without samples. `interval` has the true mean change in it with the comparison's
    confidence, whatever the distribution of the changes (`fullrecall.stats.bounds`); `outcome` is
    better or worse where it leaves out 0, else CANNOT TELL, and `needed` is then how many samples
    with these changes would settle it, None where no number would. `p` is the p-value of "the mean
    did not change" that belongs to the interval; `p_adjusted` the same by Holm's method for all
    measures that were asked for, which then decides `outcome`; None for the curve over k that is
    shown unasked.
    """

    measure: Measure
    before: float | None
    after: float | None
    difference: float | None
    samples: int
    groups: int
    interval: Interval | None = None
    outcome: Direction = Direction.CANNOT_TELL
    needed: int | None = None
    p: float | None = None
    p_adjusted: float | None = None
    totals: Totals = field(repr=False, compare=False)
    values: tuple[Floats, Floats] = field(repr=False, compare=False)
    """The measure of each pair before and after, NaN where it is not compared."""
    pairs: ScorePairs = field(repr=False, compare=False)

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

    def corrected(self, p: float) -> Difference:
        """Return the difference with an adjusted p-value, which then decides its outcome."""
        if self.interval is None:
            return self
        is_shown = p <= alpha_of(self.interval.confidence)
        outcome = self.outcome if is_shown else Direction.CANNOT_TELL
        return replace(self, p_adjusted=p, outcome=outcome)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("measure", "samples", "groups", "before", "after", "difference", "interval")
        more = ("outcome", "needed", "p", "p_adjusted", "wins", "ties", "losses", "flips")
        return plain_of(self, *names, *more)


def difference(
    measure: Measure,
    pairs: ScorePairs,
    *,
    confidence: float,
    range: float,  # noqa: A002 - the word that users know
) -> Difference:
    """Return what a measure of pairs shows, with an interval and a p-value of its own.

    Raises `ParameterError` for changes out of the range; see `fullrecall.compare`.
    """
    values = pairs.values(measure)
    before, after, totals = map(pairs.totals, (*values, changes(*values)))
    known = Difference(
        measure=measure,
        before=before.mean,
        after=after.mean,
        difference=totals.mean,
        samples=totals.samples,
        groups=totals.independent,
        totals=totals,
        values=values,
        pairs=pairs,
    )
    if totals.mean is None:
        return known
    sign = -1 if measure.lower_is_better else 1  # a rise of what is better lower is a loss
    group_changes, counts = totals.group_values(least=-1.0)
    gains = sign * group_changes
    wrong = gains[np.abs(gains) > range + _ROUNDING]
    if len(wrong):
        bad = float(wrong[0])
        raise ParameterError(f"must be from {-range:g} to {range:g}, got {bad!r}", "differences")
    low, high = bracketed(np.clip(gains, -range, range), counts, least=-range, most=range)
    alpha = alpha_of(confidence) / 2
    ends = lower_bound(low, alpha, least=-range), upper_bound(high, alpha, most=range)
    outcome, needed = Direction.CANNOT_TELL, None
    if ends[0] > 0:
        outcome = Direction.BETTER
    elif ends[1] < 0:
        outcome = Direction.WORSE
    elif totals.mean:
        side = low if sign * totals.mean > 0 else high
        groups = groups_needed(side, 0.0, alpha, least=-range, most=range)
        # Groups are what counts, samples what a user can add.
        needed = groups and ceil(groups * known.samples / known.groups)
    # Twice the smaller side: the same test as the interval, so that both say the same of 0.
    sides = mean_above(low, 0.0, least=-range), mean_below(high, 0.0, most=range)
    least, most = sorted(sign * end for end in ends)
    return replace(
        known,
        interval=Interval(least, most, confidence),
        outcome=outcome,
        needed=needed,
        p=min(1.0, 2 * min(sides)),
    )
