"""One measure in two reports: the mean difference, and what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

from fullrecall.measures import Measure
from fullrecall.report.bounds import CONFIDENCE, Interval, lower_bound, mean_above, upper_bound
from fullrecall.report.pairs import Common, change, turned
from fullrecall.report.row import Row
from fullrecall.report.sign_flips import RESAMPLES, SignFlips, alpha_of, sign_flips
from fullrecall.report.totals import Totals, totals_of


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


class Pair(NamedTuple):
    """One sample with a value of the measure in both reports."""

    row: Row
    results: Common
    before: float
    after: float
    group: str | None

    @property
    def change(self) -> float:
        """The value after less the value before; 0.0 where they differ by rounding."""
        return change(self.before, self.after)


@dataclass(frozen=True)
class Difference:
    """One measure of one score, over the samples of which it is defined in both reports.

    `before`, `after` and `difference` are means over groups, a sample without a group being one;
    None without samples. `p` is the two-sided sign-flip p-value of no difference and `interval`
    the inversion of that test: `p` is at most 1 - confidence exactly where `interval` excludes 0.
    Both assume that differences are symmetric; where nothing changed, they say nothing, and
    `interval` is the guaranteed one. `guaranteed` is an interval that assumes nothing
    but independent groups (`fullrecall.report.bounds`). `p_adjusted` is `p` by Holm's method for
    all measures that were asked for, None for the curve over k that is shown unasked.
    """

    measure: Measure
    pairs: Sequence[Pair] = field(repr=False)
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
        return len(self.pairs)

    @property
    def wins(self) -> int:
        """Samples whose value rose."""
        return sum(pair.change > 0 for pair in self.pairs)

    @property
    def losses(self) -> int:
        """Samples whose value fell."""
        return sum(pair.change < 0 for pair in self.pairs)

    @property
    def ties(self) -> int:
        """Samples whose value stayed."""
        return self.samples - self.wins - self.losses

    @cached_property
    def totals(self) -> Totals:
        """The totals of the changes."""
        return totals_of((pair.change, pair.group) for pair in self.pairs)

    @property
    def groups(self) -> int:
        """How many independent groups were compared."""
        return self.totals.independent

    @cached_property
    def flips(self) -> tuple[Flip, ...]:
        """Every sample whose value changed, the largest change first."""
        changed = sorted((p for p in self.pairs if p.change), key=lambda p: -abs(p.change))
        return tuple(_flip(pair, self.measure.k) for pair in changed)

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


def differences(
    measured: Sequence[tuple[Measure, Sequence[Pair]]], settings: Settings
) -> Iterator[Difference]:
    """Yield the difference of each measure; those over as many groups share their flips."""
    sums = [_group_means(pairs) for _, pairs in measured]
    flipped: dict[int, SignFlips] = {}
    for size in {len(means) for means in sums if means}:
        columns = [n for n, means in enumerate(sums) if len(means) == size]
        tested = sign_flips(
            list(zip(*(sums[n] for n in columns), strict=True)),
            confidence=settings.confidence,
            resamples=settings.resamples,
            seed=settings.seed,
        )
        flipped |= dict(zip(columns, tested, strict=True))
    for n, (measure, pairs) in enumerate(measured):
        if pairs:
            yield _difference(measure, pairs, flipped[n], settings)
        else:
            yield Difference(measure, pairs, *(None,) * 6, margin=settings.margin)


def _difference(
    measure: Measure, pairs: Sequence[Pair], flipped: SignFlips, settings: Settings
) -> Difference:
    changes = totals_of((pair.change, pair.group) for pair in pairs)
    low, high = changes.counts(least=-1.0)
    alpha, margin = alpha_of(settings.confidence), settings.margin
    guaranteed = Interval(
        lower_bound(low, alpha / 2, least=-1.0), upper_bound(high, alpha / 2), settings.confidence
    )
    return Difference(
        measure,
        pairs,
        totals_of((pair.before, pair.group) for pair in pairs).mean,
        totals_of((pair.after, pair.group) for pair in pairs).mean,
        changes.mean,
        flipped.interval if any(pair.change for pair in pairs) else guaranteed,
        guaranteed,
        flipped.p,
        margin=margin,
        non_inferior=None if margin is None else mean_above(low, -margin, least=-1.0) <= alpha,
    )


def _group_means(pairs: Sequence[Pair]) -> list[float]:
    """Return the mean change of each group, a pair without a group being one."""
    groups: dict[object, list[float]] = {}
    for position, pair in enumerate(pairs):
        groups.setdefault(position if pair.group is None else pair.group, []).append(pair.change)
    return [fsum(changes) / len(changes) for changes in groups.values()]


def _flip(pair: Pair, k: int | None) -> Flip:
    gained, lost = turned(pair.results.before, pair.results.after, k)
    return Flip(pair.row.label, pair.row.sample.user_input, pair.before, pair.after, gained, lost)


def _plain(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()
