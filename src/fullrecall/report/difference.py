"""One measure in two reports: the mean difference, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from fullrecall.measures import Measure
from fullrecall.report.pairs import Common, change, turned
from fullrecall.report.row import Row
from fullrecall.report.sign_flips import RESAMPLES, sign_flips
from fullrecall.report.totals import Totals
from fullrecall.results.bounds import (
    CONFIDENCE,
    Interval,
    alpha_of,
    lower_bound,
    mean_above,
    upper_bound,
)


class Settings(NamedTuple):
    """How differences are tested; see `fullrecall.report.compare` for the fields."""

    confidence: float = CONFIDENCE
    margin: float | None = None
    resamples: int = RESAMPLES
    seed: int = 0


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


class Changed(NamedTuple):
    """A sample whose value changed: its rows, and its results over the targets that both have."""

    before: Row
    after: Row
    both: Common


class Changes:
    """What is counted of one measure over the samples that two reports have: sums, no samples.

    `changed` returns the samples whose value changed with their rows in both reports, the largest
    change first: all of them, or the 1,000 largest where the reports are not in memory.
    """

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.before = Totals()
        self.after = Totals()
        self.change = Totals()
        self.wins = 0
        self.losses = 0
        self.changed: Callable[[], Sequence[Changed]] = tuple

    def add(self, before: float, after: float, group: str | None, times: int = 1) -> float:
        """Add a sample with its two values, or so many equal ones; return the change."""
        moved = change(before, after)
        self.before.add(before, group, times=times)
        self.after.add(after, group, times=times)
        self.change.add(moved, group, times=times)
        self.wins += times * (moved > 0)
        self.losses += times * (moved < 0)
        return moved

    def close(self) -> None:
        """Let go of the groups: no more of their samples come."""
        for totals in (self.before, self.after, self.change):
            totals.fold()


@dataclass(frozen=True)
class Difference:
    """One measure of one score, over the samples of which it is defined in both reports.

    `before`, `after` and `difference` are means over groups, a sample without a group being one;
    None without samples. `p` is the two-sided sign-flip p-value of no difference and `interval`
    the inversion of that test: `p` is at most 1 - confidence exactly where `interval` excludes 0.
    Both assume that differences are symmetric; where nothing changed, they say nothing, and
    `interval` is the guaranteed one. `guaranteed` is an interval that assumes nothing
    but independent groups (`fullrecall.results.bounds`). `p_adjusted` is `p` by Holm's method for
    all measures that were asked for, None for the curve over k that is shown unasked.
    """

    measure: Measure
    changes: Changes = field(repr=False, compare=False)
    before: float | None
    after: float | None
    difference: float | None
    interval: Interval | None
    guaranteed: Interval | None
    p: float | None
    p_adjusted: float | None = None
    margin: float | None = None
    non_inferior: bool | None = None
    """Whether the mean is shown to have fallen by less than the margin; None without one."""

    @property
    def samples(self) -> int:
        """How many samples were compared."""
        return self.totals.samples

    @property
    def wins(self) -> int:
        """Samples whose value rose."""
        return self.changes.wins

    @property
    def losses(self) -> int:
        """Samples whose value fell."""
        return self.changes.losses

    @property
    def ties(self) -> int:
        """Samples whose value stayed."""
        return self.samples - self.wins - self.losses

    @property
    def totals(self) -> Totals:
        """The totals of the changes."""
        return self.changes.change

    @property
    def groups(self) -> int:
        """How many independent groups were compared."""
        return self.totals.independent

    @cached_property
    def flips(self) -> tuple[Flip, ...]:
        """Every sample whose value changed, the largest change first.

        Of reports that `Report.open` reads from directories the 1,000 with the largest changes:
        `wins + losses` counts all.
        """
        return tuple(flip(one.before, one.both, self.measure) for one in self.changes.changed())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "measure": self.measure.name,
            "samples": self.samples,
            "groups": self.groups,
            "before": self.before,
            "after": self.after,
            "difference": self.difference,
            "interval": _plain(self.interval),
            "guaranteed": _plain(self.guaranteed),
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


def difference(changes: Changes, settings: Settings) -> Difference:
    """Return what the changes of a measure show."""
    margin = settings.margin
    if not changes.change.samples:
        return Difference(changes.measure, changes, *(None,) * 6, margin=margin)
    low, high = changes.change.counts(least=-1.0)
    mean, alpha = changes.change.mean or 0.0, alpha_of(settings.confidence)
    guaranteed = Interval(
        lower_bound(low, alpha / 2, least=-1.0), upper_bound(high, alpha / 2), settings.confidence
    )
    # Values that are too many to tell apart were rounded down: their mean is put right.
    shift = 0.0 if low == high else mean - low.mean
    (flipped,) = sign_flips(
        [[value + shift] for value in low.values],
        counts=low.counts,
        confidence=settings.confidence,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    return Difference(
        changes.measure,
        changes,
        changes.before.mean,
        changes.after.mean,
        changes.change.mean,
        flipped.interval if changes.wins + changes.losses else guaranteed,
        guaranteed,
        flipped.p,
        margin=margin,
        non_inferior=None if margin is None else mean_above(low, -margin, least=-1.0) <= alpha,
    )


def flip(row: Row, both: Common, measure: Measure) -> Flip:
    """Return how the value of a measure changed in a sample, and by which targets."""
    before, after = both.before[measure] or 0.0, both.after[measure] or 0.0
    gained, lost = turned(both.before, both.after, measure.k)
    return Flip(row.label, row.sample.user_input, before, after, gained, lost)


def _plain(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()
