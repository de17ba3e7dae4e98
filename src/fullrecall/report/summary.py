"""Means over samples, with the coverage that each of them stands on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, overload

from fullrecall.errors import MissingExtraError, ReportError
from fullrecall.report.settled import Settled, Settlements
from fullrecall.report.statistics import Interval, Spread, mean_interval
from fullrecall.report.totals import Totals, exact, ratio
from fullrecall.result import Method, Result, Status

MEASURES_SHOWN = (
    "precision", "f1", "hit", "all_found", "reciprocal_rank", "average_precision", "ndcg",
)  # fmt: skip
"""The measures that a summary averages beside the headline, each at the scorer's `k`."""

REASONS_SHOWN = 12
"""How many kinds of reasons a summary names; the rest it counts together."""

_REASONS_KEPT = 100
"""How many kinds of reasons a tally counts apart: the first by alphabet, so that it is the same
ones whatever the order of the samples."""

_OTHER = "other reasons"


@dataclass(frozen=True)
class ScoreSummary:
    """One scorer over all samples.

    `mean` is over the `scored` samples only, None if there are none; `undefined` ones have no
    reference items, `unscored` ones could not be measured, `reasons` counts why. `at` has the
    mean headline measure at each of the scorer's `ks`, `means` the mean of the other measures.
    `spread` and `at_spreads` are what intervals of `mean` and `at` are made from. `settled` is
    how much the first judges of a `Cascade` settled, None where they settled nothing.
    """

    method: Method
    mean: float | None
    scored: int
    undefined: int
    unscored: int
    at: Mapping[int, float | None]
    means: Mapping[str, float | None]
    reasons: Mapping[str, int]
    spread: Spread | None = None
    at_spreads: Mapping[int, Spread | None] = field(default_factory=dict)
    settled: Settled | None = None

    @property
    def name(self) -> str:
        """The score's name with its cut-off."""
        return self.method.label

    @property
    def groups(self) -> int:
        """How many independent samples `mean` stands on: those that share a group are one."""
        return 0 if self.spread is None else self.spread.groups

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of `mean`; None below two groups, and without SciPy."""
        return _known(self.spread)

    @property
    def at_intervals(self) -> Mapping[int, Interval | None]:
        """The 95% interval of each mean in `at`."""
        return {k: _known(spread) for k, spread in self.at_spreads.items()}

    @property
    def coverage(self) -> float | None:
        """The share of samples with a score among those that should have one."""
        due = self.scored + self.unscored
        return self.scored / due if due else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """What `mean` would be if all unscored samples scored 0.0, and if they scored 1.0."""
        due = self.scored + self.unscored
        if not due:
            return None
        share = (self.mean or 0.0) * self.scored
        return share / due, (share + self.unscored) / due

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "mean": self.mean,
            "interval": _plain(self.interval),
            "scored": self.scored,
            "undefined": self.undefined,
            "unscored": self.unscored,
            "groups": self.groups,
            "bounds": None if self.bounds is None else list(self.bounds),
            "at": dict(self.at),
            "at_intervals": {k: _plain(interval) for k, interval in self.at_intervals.items()},
            **self.means,
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
                if key in (score.method.name, score.name):
                    return score
            names = ", ".join(score.method.name for score in self._scores)
            raise KeyError(f"no score {key!r}: there are {names}")
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
            "scores": [score.to_dict() for score in self],
        }

    def _repr_html_(self) -> str:
        from fullrecall.notebook import summary_html

        return summary_html(self)

    def __str__(self) -> str:
        # Imported when a summary is shown: `terminal` draws with rich, and reads this module.
        from fullrecall.report import terminal

        console = terminal.console(StringIO(), width=terminal.WIDEST)
        return terminal.printed(console, [terminal.summary_table(self), *terminal.gaps(self)])

    __repr__ = __str__


class Tally:
    """Running totals of one scorer's results; holds no result.

    Its size is constant but for the groups of samples, of which it keeps one sum each. Tallies
    of parts, merged, give the summary of the whole to the last bit.
    """

    def __init__(self, method: Method) -> None:
        self.method = method
        self.counts: Counter[Status] = Counter()
        self.reasons: Counter[str] = Counter()
        self.totals = Totals(1 + len(method.ks))
        """Of the headline, then of the headline at each of the ks."""
        self.means = [0] * len(MEASURES_SHOWN)
        self.settled = Settlements()

    def add(self, result: Result, group: str | None = None) -> None:
        """Count one more result, of a sample of this `group`."""
        self.counts[result.status] += 1
        if result.status is Status.UNSCORED:
            self.reasons[result.note] += 1
            self._limit_reasons()
        self.settled.add(result)
        if result.status is not Status.SCORED:
            return
        at = result.at.values_at(self.method.ks)
        self.totals.add([result.score or 0.0, *(value or 0.0 for value in at)], group)
        k, means = self.method.k, self.means
        for position, measure in enumerate(MEASURES_SHOWN):
            means[position] += exact(result.value(measure, k) or 0.0)

    def merge(self, other: Tally) -> None:
        """Add what another part has counted; raises `ReportError` for another method's."""
        if other.method != self.method:
            raise ReportError(
                f"{other.method.label} was scored in another way than {self.method.label}: "
                "only parts of one evaluation add up"
            )
        self.counts.update(other.counts)
        self.reasons.update(other.reasons)
        self._limit_reasons()
        self.totals.merge(other.totals)
        self.settled.merge(other.settled)
        self.means = [ours + theirs for ours, theirs in zip(self.means, other.means, strict=True)]

    def summary(self) -> ScoreSummary:
        """Return the means so far."""
        scored = self.counts[Status.SCORED]
        spreads = [self.totals.spread(figure) for figure in range(1 + len(self.method.ks))]
        means = [None if spread is None else spread.mean for spread in spreads]
        return ScoreSummary(
            self.method,
            means[0],
            scored,
            self.counts[Status.UNDEFINED],
            self.counts[Status.UNSCORED],
            dict(zip(self.method.ks, means[1:], strict=True)),
            {
                name: ratio(total, scored) if scored else None
                for name, total in zip(MEASURES_SHOWN, self.means, strict=True)
            },
            self._reasons_shown(),
            spreads[0],
            dict(zip(self.method.ks, spreads[1:], strict=True)),
            self.settled.so_far(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        return {
            "method": self.method.to_dict(),
            "counts": {str(status): count for status, count in self.counts.items()},
            "reasons": dict(self.reasons),
            "totals": self.totals.to_dict(),
            "means": self.means,
            "settled": self.settled.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Tally:
        """Return the tally that `to_dict` wrote."""
        tally = cls(Method.from_dict(plain["method"]))
        tally.counts = Counter({Status(name): count for name, count in plain["counts"].items()})
        tally.reasons = Counter(plain["reasons"])
        tally.totals = Totals.from_dict(plain["totals"])
        tally.means = list(plain["means"])
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


def _known(spread: Spread | None) -> Interval | None:
    try:
        return mean_interval(spread)
    except MissingExtraError:
        return None


def _plain(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()


def shown(value: float | None) -> str:
    """Return a measure as a table shows it; a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"
