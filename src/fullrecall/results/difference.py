"""One measure in two reports: its means, its change, and the samples that changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from fullrecall.measures import Measure
from fullrecall.results.bounds import Interval
from fullrecall.results.change import Change, change
from fullrecall.results.pairs import ScorePairs, changes, turned
from fullrecall.results.plain import plain_of
from fullrecall.results.totals import Totals
from fullrecall.table.lists import Floats, Integers

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
        sample = self.pairs.sample(pair)
        before, after = (float(values[pair]) for values in self.values)
        gained, lost = turned(*self.pairs.results(pair), self.measure)
        return Flip(self.pairs.label(pair), sample.user_input, before, after, gained, lost)

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
    found = vars(change(sign * group_changes, counts, confidence=confidence, range=range))
    interval, needed = found["interval"], found["needed"]
    if interval is not None and measure.lower_is_better:
        interval = Interval(-interval.high, -interval.low, confidence)
    if needed is not None:
        needed = ceil(needed * totals.samples / totals.independent)
    more = {"difference": totals.mean, "interval": interval, "needed": needed}
    return Difference(
        **{**found, **more},
        measure=measure,
        before=before.mean,
        after=after.mean,
        totals=totals,
        values=values,
        pairs=pairs,
    )
