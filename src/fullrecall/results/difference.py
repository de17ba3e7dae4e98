"""One measure in two reports: its means, its change, and the samples that changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from fullrecall.measures import Measure
from fullrecall.results.bounds import Interval
from fullrecall.results.change import Change, Direction, change
from fullrecall.results.pairs import Pairing, ScorePairs, turned
from fullrecall.results.pairs import changes as changes_of
from fullrecall.results.totals import Totals
from fullrecall.table.lists import Floats, Integers
from fullrecall.table.table import Table

MOST_FLIPS = 10_000
"""Samples that changed are named, those with the largest changes."""


class Settings(NamedTuple):
    """How differences are tested; see `fullrecall.results.comparison.compare` for the fields."""

    confidence: float
    margin: float | None = None
    range: float = 1.0


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


@dataclass(frozen=True)
class PairedValues:
    """A measure of each pair before and after, NaN where it is not compared; and its samples."""

    measure: Measure
    before: Floats
    after: Floats
    table: Table
    pairing: Pairing
    pairs: ScorePairs

    @cached_property
    def changes(self) -> Floats:
        """The value after less the value before, 0.0 where they differ by rounding."""
        return changes_of(self.before, self.after)

    @cached_property
    def flipped(self) -> Integers:
        """The pairs whose value changed, the largest change first."""
        moved = np.flatnonzero(np.nan_to_num(self.changes))
        return moved[np.argsort(-np.abs(self.changes[moved]), kind="stable")]

    def flip(self, pair: int) -> Flip:
        """Return how the value changed in a sample, and by which targets."""
        gained, lost = turned(*self.pairs.results(pair), self.measure)
        row = int(self.pairing.before[pair])
        sample = self.table.sample(row)
        return Flip(
            sample.id or f"#{row + 1}",
            sample.user_input,
            float(self.before[pair]),
            float(self.after[pair]),
            gained,
            lost,
        )


@dataclass(frozen=True)
class Difference:
    """One measure of one score, over the samples of which it is defined in both reports.

    `before`, `after` and `difference` are means over groups, a sample without a group being one;
    None without samples. `interval` has the true mean change in it with the comparison's
    confidence, whatever the distribution of the changes (`fullrecall.results.bounds`); `outcome` is
    better or worse where it leaves out 0, else CANNOT TELL, and `needed` is then how many samples
    with these changes would settle it. `p` is the sign-flip p-value of "before and after are
    exchangeable", which is not about the mean. `p_adjusted` is the p-value of the mean by Holm's
    method for all measures that were asked for, which then decides `outcome`; None for the curve
    over k that is shown unasked.
    """

    measure: Measure
    before: float | None
    after: float | None
    change: Change
    totals: Totals = field(repr=False, compare=False)
    paired: PairedValues = field(repr=False, compare=False)
    p_adjusted: float | None = None
    margin: float | None = None

    @property
    def difference(self) -> float | None:
        """The mean change; None without samples."""
        return self.totals.mean

    @property
    def interval(self) -> Interval | None:
        """The interval of the mean change; None without samples."""
        return self.change.interval if self.samples else None

    @property
    def outcome(self) -> Direction:
        """Whether the change is shown to be for the better or the worse."""
        return self.change.outcome

    @property
    def needed(self) -> int | None:
        """How many samples with these changes would settle it; None if it is, or none would."""
        groups = self.change.needed
        return None if groups is None else ceil(groups * self.samples / max(1, self.groups))

    @property
    def p(self) -> float | None:
        """The sign-flip p-value; None without samples."""
        return self.change.p if self.samples else None

    @property
    def non_inferior(self) -> bool | None:
        """Whether the mean is shown to have fallen by less than the margin; None without one."""
        return self.change.non_inferior

    @property
    def samples(self) -> int:
        """How many samples were compared."""
        return self.totals.samples

    @property
    def wins(self) -> int:
        """Samples whose value is better."""
        return int((self.paired.changes * self._better > 0).sum())

    @property
    def losses(self) -> int:
        """Samples whose value is worse."""
        return int((self.paired.changes * self._better < 0).sum())

    @property
    def _better(self) -> int:
        return -1 if self.measure.lower_is_better else 1

    @property
    def ties(self) -> int:
        """Samples whose value stayed."""
        return self.samples - self.wins - self.losses

    @property
    def groups(self) -> int:
        """How many independent groups were compared."""
        return self.totals.independent

    @cached_property
    def flips(self) -> tuple[Flip, ...]:
        """The samples whose value changed, the largest change first: 10,000 at most."""
        return tuple(map(self.paired.flip, self.paired.flipped[:MOST_FLIPS].tolist()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "measure": self.measure.name,
            "samples": self.samples,
            "groups": self.groups,
            "before": self.before,
            "after": self.after,
            "difference": self.difference,
            "interval": None if self.interval is None else self.interval._asdict(),
            "outcome": str(self.outcome),
            "needed": self.needed,
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "margin": self.margin,
            "non_inferior": self.non_inferior,
            "flips": [
                {**flip._asdict(), "gained": list(flip.gained), "lost": list(flip.lost)}
                for flip in self.flips
            ],
        }


def difference(paired: PairedValues, groups: Integers | None, settings: Settings) -> Difference:
    """Return what a measure of pairs shows; `groups` numbers the group of each pair."""
    due = np.zeros(len(paired.before), np.bool_)
    before, after, totals = (
        Totals.of(values, due=due, groups=groups)
        for values in (paired.before, paired.after, paired.changes)
    )
    values, counts = totals.group_values(least=-1.0)
    return Difference(
        paired.measure,
        before.mean,
        after.mean,
        _change(values, counts, settings, lower_is_better=paired.measure.lower_is_better),
        totals,
        paired,
        margin=settings.margin,
    )


def _change(values: Floats, counts: Floats, settings: Settings, *, lower_is_better: bool) -> Change:
    """Return how the mean changed; for a measure that is better lower, a rise is a loss."""
    raw_change = change(
        -values if lower_is_better else values,
        counts,
        confidence=settings.confidence,
        margin=settings.margin,
        range=settings.range,
    )
    if not lower_is_better:
        return raw_change
    low, high, confidence = raw_change.interval
    mean = None if raw_change.mean is None else -raw_change.mean
    return replace(raw_change, mean=mean, interval=Interval(-high, -low, confidence))
