"""Means over samples, with the coverage that each of them stands on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from fullrecall.result import Method, Result, Status

MEASURES_SHOWN = (
    "precision", "f1", "hit", "all_found", "reciprocal_rank", "average_precision", "ndcg",
)  # fmt: skip
"""The measures that a summary averages beside the headline, each at the scorer's `k`."""

_WIDEST = 240
"""Columns of a summary as text: as wide as its scores need, whatever the terminal."""

REASONS_KEPT = 12
"""How many kinds of reasons a summary counts apart; the rest it counts together."""


@dataclass(frozen=True)
class ScoreSummary:
    """One scorer over all samples.

    `mean` is over the `scored` samples only, None if there are none; `undefined` ones have no
    reference items, `unscored` ones could not be measured, `reasons` counts why. `at` has the
    mean headline measure at each of the scorer's `ks`, `means` the mean of the other measures.
    """

    method: Method
    mean: float | None
    scored: int
    undefined: int
    unscored: int
    at: Mapping[int, float | None]
    means: Mapping[str, float | None]
    reasons: Mapping[str, int]

    @property
    def name(self) -> str:
        """The score's name with its cut-off."""
        return self.method.label

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "mean": self.mean,
            "scored": self.scored,
            "undefined": self.undefined,
            "unscored": self.unscored,
            "at": dict(self.at),
            **self.means,
            "reasons": dict(self.reasons),
        }


class Summary(Sequence[ScoreSummary]):
    """One `ScoreSummary` for each scorer, in order, also by name: `summary["id_recall"].mean`.

    Prints as a table.
    """

    def __init__(self, scores: Sequence[ScoreSummary], samples: int) -> None:
        self._scores = tuple(scores)
        self.samples = samples

    def __getitem__(self, key: Any) -> Any:
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
        return {"samples": self.samples, "scores": [score.to_dict() for score in self]}

    def __str__(self) -> str:
        # Imported when a summary is shown: `terminal` draws with rich, and reads this module.
        from fullrecall.report import terminal

        console = terminal.console(StringIO(), width=_WIDEST)
        return terminal.printed(console, [terminal.summary_table(self), *terminal.gaps(self)])

    __repr__ = __str__


@dataclass
class Tally:
    """Running totals of one scorer's results; holds no result, so its size is constant."""

    method: Method
    counts: Counter[Status] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    total: float = 0.0
    at: list[float] = field(default_factory=list)
    means: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.at = [0.0] * len(self.method.ks)
        self.means = [0.0] * len(MEASURES_SHOWN)

    def add(self, result: Result) -> None:
        """Count one more result."""
        self.counts[result.status] += 1
        if result.status is Status.UNSCORED:
            # A reason may quote its sample, and a tally's size is to stay constant.
            known = result.note in self.reasons or len(self.reasons) < REASONS_KEPT
            self.reasons[result.note if known else "other reasons"] += 1
        if result.status is not Status.SCORED:
            return
        self.total += result.score or 0.0
        for position, value in enumerate(result.at.values_at(self.method.ks)):
            self.at[position] += value or 0.0
        for position, measure in enumerate(MEASURES_SHOWN):
            self.means[position] += result.value(measure, self.method.k) or 0.0

    def summary(self) -> ScoreSummary:
        """Return the means so far."""
        scored = self.counts[Status.SCORED]

        def mean(total: float) -> float | None:
            return total / scored if scored else None

        return ScoreSummary(
            self.method,
            mean(self.total),
            scored,
            self.counts[Status.UNDEFINED],
            self.counts[Status.UNSCORED],
            dict(zip(self.method.ks, map(mean, self.at), strict=True)),
            dict(zip(MEASURES_SHOWN, map(mean, self.means), strict=True)),
            dict(self.reasons.most_common()),
        )


def shown(value: float | None) -> str:
    """Return a measure as a table shows it; a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"
