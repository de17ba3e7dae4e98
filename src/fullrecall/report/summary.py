"""Means over samples, with the interval and the coverage that each of them stands on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from typing import Any, overload

from fullrecall.errors import ReportError
from fullrecall.measures import DEFAULT_KS, Measure, parse
from fullrecall.report.bounds import CONFIDENCE, Interval, lower_bound, upper_bound
from fullrecall.report.settlement import Settled, Settlements
from fullrecall.report.totals import Totals
from fullrecall.result import Method, Result, Status

REASONS_SHOWN = 12
"""How many kinds of reasons a summary names; the rest it counts together."""

_REASONS_KEPT = 100
"""How many kinds of reasons a tally counts apart: the first by alphabet, so that it is the same
ones whatever the order of the samples."""

_OTHER = "other reasons"


def default_measures(method: Method) -> tuple[Measure, ...]:
    """Return what is read of a score unless measures are named: its headline, at each k and whole."""
    return (*(method.headline @ k for k in DEFAULT_KS), method.headline)


@dataclass(frozen=True)
class Estimate:
    """One measure of one score over samples.

    `mean` is over the groups of the `samples` that have a value, a sample without a group being
    one; None without any. `undefined` counts samples of which the measure is undefined.
    """

    measure: Measure
    mean: float | None
    samples: int
    groups: int
    undefined: int
    totals: Totals = field(repr=False, compare=False)

    @cached_property
    def interval(self) -> Interval | None:
        """The 95% interval of `mean`, which holds whatever the distribution of the scores.

        Gaffke's test at 2.5% on either side (`fullrecall.report.bounds`); None without a value.
        """
        if self.mean is None:
            return None
        low, high = self.totals.counts()
        alpha = (1 - CONFIDENCE) / 2
        return Interval(lower_bound(low, alpha), upper_bound(high, alpha))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "mean": self.mean,
            "interval": None if self.interval is None else self.interval._asdict(),
            "samples": self.samples,
            "groups": self.groups,
            "undefined": self.undefined,
        }


@dataclass(frozen=True)
class ScoreSummary(Mapping[Measure, Estimate]):
    """One score over all samples: `score[Recall @ 5].mean`.

    `scored`, `undefined` and `unscored` count samples, `reasons` the reasons of the unscored
    ones. `settled` is how much the first judges of a `Cascade` settled, None where they settled
    nothing.
    """

    method: Method
    estimates: Mapping[Measure, Estimate]
    scored: int
    undefined: int
    unscored: int
    reasons: Mapping[str, int]
    settled: Settled | None = None

    def __getitem__(self, measure: Measure) -> Estimate:
        try:
            return self.estimates[measure]
        except KeyError:
            names = ", ".join(map(repr, self.estimates))
            raise KeyError(f"no measure {measure!r} in this summary: it has {names}") from None

    def __iter__(self) -> Iterator[Measure]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def name(self) -> str:
        """The score's name."""
        return self.method.name

    @property
    def main(self) -> Estimate:
        """The headline over all that was retrieved, or the first measure where that is not here."""
        return self.estimates.get(self.method.headline) or next(iter(self.estimates.values()))

    @property
    def mean(self) -> float | None:
        """The mean of `main`; None without a scored sample."""
        return self.main.mean

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of `mean`."""
        return self.main.interval

    @property
    def at(self) -> dict[int, Estimate]:
        """The estimates of the headline by k, ascending."""
        cut = {measure.k: measure for measure in self if measure.whole == self.method.headline}
        return {k: self[cut[k]] for k in sorted(k for k in cut if k is not None)}

    @property
    def coverage(self) -> float | None:
        """The share of samples with a score among those that should have one."""
        due = self.scored + self.unscored
        return self.scored / due if due else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """What `mean` would be if all unscored samples scored 0.0, and if they scored 1.0."""
        means = [_mean_with(self.main.totals, gap) for gap in (0.0, 1.0)]
        low, high = means
        return None if low is None or high is None else (low, high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "scored": self.scored,
            "undefined": self.undefined,
            "unscored": self.unscored,
            "bounds": None if self.bounds is None else list(self.bounds),
            "measures": {one.measure.name: one.to_dict() for one in self.estimates.values()},
            "reasons": dict(self.reasons),
            **({} if self.settled is None else {"settled": self.settled.to_dict()}),
        }


class Summary(Sequence[ScoreSummary]):
    """One `ScoreSummary` for each scorer, in order, also by name: `summary["id_recall"].mean`.

    Prints as a table.
    """

    def __init__(
        self, scores: Sequence[ScoreSummary], samples: int, stopped: str | None = None
    ) -> None:
        self._scores = tuple(scores)
        self.samples = samples
        self.stopped = stopped
        """Why samples are missing; see `Report.stopped`."""

    @overload
    def __getitem__(self, key: int | str) -> ScoreSummary: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[ScoreSummary]: ...
    def __getitem__(self, key: int | str | slice) -> ScoreSummary | Sequence[ScoreSummary]:
        if isinstance(key, str):
            for score in self._scores:
                if key == score.name:
                    return score
            names = ", ".join(score.name for score in self._scores)
            raise KeyError(f"no score {key!r}: choose one of {names}")
        return self._scores[key]

    def __iter__(self) -> Iterator[ScoreSummary]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "samples": self.samples,
            "complete": self.stopped is None,
            "stopped": self.stopped,
            "confidence": CONFIDENCE,
            "scores": [score.to_dict() for score in self],
        }

    def _repr_html_(self) -> str:
        from fullrecall.report.notebook import summary_html

        return summary_html(self)

    def __str__(self) -> str:
        # Imported when a summary is shown: `terminal` draws with rich.
        from fullrecall.report import terminal

        console = terminal.console(StringIO(), width=terminal.WIDEST)
        return terminal.printed(console, [terminal.summary_table(self), *terminal.notes(self)])

    __repr__ = __str__


class Tally:
    """Running totals of one scorer's results by some measures; holds no result.

    Its size is constant but for the groups of samples, of which it keeps one sum each. Tallies
    of parts, merged, give the summary of the whole to the last bit.
    """

    def __init__(self, method: Method, measures: Sequence[Measure]) -> None:
        self.method = method
        self.counts: Counter[Status] = Counter()
        self.reasons: Counter[str] = Counter()
        self.totals = {measure: Totals() for measure in measures}
        self.undefined: Counter[Measure] = Counter()
        self.settled = Settlements()

    def add(self, result: Result, group: str | None = None) -> None:
        """Count one more result, of a sample of this `group`."""
        self.counts[result.status] += 1
        if result.status is Status.UNSCORED:
            self.reasons[result.note] += 1
            self._limit_reasons()
            for totals in self.totals.values():
                totals.add(None, group)
        else:
            for measure, totals in self.totals.items():
                value = result[measure]
                if value is None:
                    self.undefined[measure] += 1
                else:
                    totals.add(value, group)
        self.settled.add(result)

    def merge(self, other: Tally) -> None:
        """Add what another part has counted; raises `ReportError` for another method's."""
        if other.method != self.method or other.totals.keys() != self.totals.keys():
            raise ReportError(
                f"{other.method.name} was scored in another way than {self.method.name}: "
                "only parts of one evaluation add up"
            )
        self.counts.update(other.counts)
        self.reasons.update(other.reasons)
        self._limit_reasons()
        self.undefined.update(other.undefined)
        for measure, totals in self.totals.items():
            totals.merge(other.totals[measure])
        self.settled.merge(other.settled)

    def summary(self) -> ScoreSummary:
        """Return the means so far."""
        return ScoreSummary(
            self.method,
            {
                measure: Estimate(
                    measure,
                    totals.mean,
                    totals.samples,
                    totals.independent,
                    self.undefined[measure],
                    totals,
                )
                for measure, totals in self.totals.items()
            },
            self.counts[Status.SCORED],
            self.counts[Status.UNDEFINED],
            self.counts[Status.UNSCORED],
            self._reasons_shown(),
            self.settled.so_far(),
        )

    def reading(self, measures: Sequence[Measure]) -> Tally:
        """Return these totals with some of the measures alone, in the order given."""
        tally = copy(self)
        tally.totals = {measure: self.totals[measure] for measure in measures}
        return tally

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        from fullrecall.records import plain_method

        return {
            "method": plain_method(self.method),
            "counts": {str(status): count for status, count in self.counts.items()},
            "reasons": dict(self.reasons),
            "measures": {m.name: totals.to_dict() for m, totals in self.totals.items()},
            "undefined": {m.name: count for m, count in self.undefined.items()},
            "settled": self.settled.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Tally:
        """Return the tally that `to_dict` wrote."""
        from fullrecall.records import MethodRecord

        tally = cls(MethodRecord.read(plain["method"]).method, ())
        tally.counts = Counter({Status(name): count for name, count in plain["counts"].items()})
        tally.reasons = Counter(plain["reasons"])
        tally.totals = {parse(m): Totals.from_dict(t) for m, t in plain["measures"].items()}
        tally.undefined = Counter({parse(m): n for m, n in plain["undefined"].items()})
        tally.settled = Settlements.from_dict(plain["settled"])
        return tally

    def _limit_reasons(self) -> None:
        # A reason may quote its sample, and a tally's size is to stay constant.
        if len(self.reasons) > _REASONS_KEPT:
            for reason in sorted(self.reasons.keys() - {_OTHER})[_REASONS_KEPT:]:
                self.reasons[_OTHER] += self.reasons.pop(reason)

    def _reasons_shown(self) -> dict[str, int]:
        apart = [item for item in self.reasons.items() if item[0] != _OTHER]
        apart.sort(key=lambda item: (-item[1], item[0]))
        shown = dict(apart[:REASONS_SHOWN])
        others = self.reasons[_OTHER] + sum(count for _, count in apart[REASONS_SHOWN:])
        return {**shown, _OTHER: others} if others else shown


def _mean_with(totals: Totals, gap: float) -> float | None:
    counts, _ = totals.counts(gap)
    return counts.mean if counts.values else None


def shown(value: float | None) -> str:
    """Return a measure as a table shows it; a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"
