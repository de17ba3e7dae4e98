"""How a mean changed from one report to another: one interval, and the outcome it shows.

The interval is Gaffke's, two-sided, of paired differences (`fullrecall.stats.bounds`): it holds
for every distribution of the differences and every number of independent groups. A change is called
better or worse only where the interval excludes 0. Elsewhere Student's t-test may say which is
likely: an approximation, which errs where losses are rare and large.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from fullrecall._util.truth import NoTruth
from fullrecall.measures import Measure
from fullrecall.measures.lists import Floats
from fullrecall.stats.bounds import Interval, alpha_of
from fullrecall.stats.pairs import ScorePairs, changes, gained_and_lost
from fullrecall.stats.plain import plain_of
from fullrecall.stats.special import t_tails
from fullrecall.stats.totals import Totals

FEWEST_LIKELY = 30
"""Groups below which the t-test is not asked."""


class Direction(StrEnum):
    """The outcome of a change: shown by an interval, or by the lists themselves as a fact."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    NOT_WORSE = "not_worse"
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
    """One measure of one score, over the samples where it is defined in both reports.

    `before`, `after` and `difference` are means over `groups`, a sample without a group being one;
    None without samples. `interval` contains the true mean change with the comparison's
    confidence, for any distribution of the changes (`fullrecall.stats.bounds`). `outcome` is
    better or worse where the interval excludes 0; the same where all lists are the same, and not
    worse where each list only extends the one before, by fact; else CANNOT TELL, and `needed` is
    then how many samples with these changes would settle it, None where no number would. `p` is
    the p-value of "the mean did not change" that belongs to the interval; `p_adjusted` is `p` by
    Holm's method for all requested measures and then decides `outcome`; None for the curve over
    k that is shown by default. `p_t` is that of Student's t-test, adjusted alike, from 30 groups
    on; `likely` is its approximate answer where the outcome is CANNOT TELL, None without one.
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
    p_t: float | None = None
    totals: Totals = field(repr=False, compare=False)
    values: tuple[Floats, Floats] = field(repr=False, compare=False)
    """The measure of each pair before and after, NaN where it is not compared."""
    pairs: ScorePairs = field(repr=False, compare=False)

    @property
    def likely(self) -> Direction | None:
        """Better or worse by the t-test, where the interval cannot tell."""
        if self.outcome is not Direction.CANNOT_TELL or self.interval is None or self.p_t is None:
            return None
        if self.p_t > alpha_of(self.interval.confidence):
            return None
        return _direction(self.difference or 0.0, self.measure)

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

    def corrected(self, p: float, likely: float) -> Difference:
        """Return the difference with adjusted p-values; `p` decides its outcome."""
        if self.interval is None:
            return self
        is_shown = p <= alpha_of(self.interval.confidence)
        outcome = self.outcome if is_shown else Direction.CANNOT_TELL
        p_t = None if self.p_t is None else likely
        return replace(self, p_adjusted=p, p_t=p_t, outcome=outcome)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("measure", "samples", "groups", "before", "after", "difference", "interval")
        more = (
            "outcome",
            "needed",
            "p",
            "p_adjusted",
            "p_t",
            "likely",
            "wins",
            "ties",
            "losses",
            "flips",
        )
        return plain_of(self, *names, *more)


def difference(measure: Measure, pairs: ScorePairs, *, confidence: float) -> Difference:
    """Return the difference of a measure over pairs, with its own interval and p-values."""
    pair_values = pairs.values(measure)
    before, after, totals = map(pairs.totals, (*pair_values, changes(*pair_values)))
    known = Difference(
        measure=measure,
        before=before.mean,
        after=after.mean,
        difference=totals.mean,
        samples=totals.samples,
        groups=totals.independent,
        totals=totals,
        values=pair_values,
        pairs=pairs,
    )
    if totals.mean is None:
        return known
    values, alpha = totals.counts(least=-1.0), alpha_of(confidence) / 2
    interval = values.interval(confidence)
    outcome, needed = Direction.CANNOT_TELL, None
    if not interval.low <= 0 <= interval.high:
        outcome = _direction(totals.mean, measure)
    elif totals.mean:
        needed = values.needed(0.0, alpha, totals.samples, above=totals.mean > 0)
    return replace(
        known,
        interval=interval,
        outcome=outcome,
        needed=needed,
        # Twice the smaller side: the interval's own test, so that both agree about 0.
        p=min(1.0, 2 * min(values.p_above(0.0), values.p_below(0.0))),
        p_t=_t_test(totals, totals.mean),
    )


def _direction(change: float, measure: Measure) -> Direction:
    """Return whether a change of a mean is for the better or for the worse."""
    return Direction.BETTER if (change > 0) != measure.lower_is_better else Direction.WORSE


def _t_test(totals: Totals, mean: float) -> float | None:
    """Return the p-value of "the mean is 0" by Student's t-test; None for few or equal changes."""
    group_changes, counts = totals.group_values(least=-1.0)
    df = float(counts.sum()) - 1
    squares = float(counts @ (group_changes - mean) ** 2)
    if df + 1 < FEWEST_LIKELY or not squares:
        return None
    return t_tails(df, mean / sqrt(squares / df / (df + 1)))
