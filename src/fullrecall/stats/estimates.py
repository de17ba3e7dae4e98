"""Estimates: the mean of each measure of each score, with its interval and coverage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fullrecall._util.ports import plugged
from fullrecall._util.value_object import ValueObject
from fullrecall.measures import DEFAULT_KS, Measure
from fullrecall.measures.found import SCORED, UNDEFINED, UNJUDGED, UNSCORED
from fullrecall.samples.fields import STALE
from fullrecall.scorers.result import Method
from fullrecall.show.text import between
from fullrecall.stats.bounds import Interval
from fullrecall.stats.named import ByMeasure
from fullrecall.stats.plain import plain, plain_of
from fullrecall.stats.totals import RunningTotals, Totals
from fullrecall.table.table import Table

if TYPE_CHECKING:
    from fullrecall.stats.over_calls import OverCalls
    from fullrecall.table.verdicts import Referred, VerdictSums

OTHER = "other reasons"
"""The label under which a summary counts the reasons that it does not name."""

_REASONS_SHOWN = 12
"""The most kinds of reasons that a summary names; it counts the rest together."""

_ROWS_READ = 40
"""The number of samples that are examined to see whether their IDs match in another form."""

_DEEPEST = 50
"""The number of contexts that are examined in each of these samples."""

_MOMENTARY = r"(?i)\b0x[0-9a-f]{6,}\b|\b\d{10,}\b"
"""Addresses and thread IDs in errors: reasons that differ only there are counted as one."""

_STALE = rf"^({re.escape(STALE)}: ).*(?= is not in the corpus$| has other words than )"
"""The label in the reason of a stale label: reasons that differ only there are counted as one."""


def default_measures(method: Method) -> tuple[Measure, ...]:
    """Return the default measures: a score's headline measure at each k, and over all contexts."""
    return (*(method.headline @ k for k in DEFAULT_KS), method.headline)


class Rewrite(NamedTuple):
    """Advice if no reference ID matches; `gain` is the mean recall after IDs are rewritten.

    Without a known rewrite, `gain` is None, and `sentence` shows a reference and a retrieved ID.
    """

    sentence: str
    gain: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(ValueObject):
    """One measure of one score over samples.

    `mean` is the mean over groups of samples; a sample without a group is a group of its own. It is
    None if no sample has a value. `samples` and `groups` count those with a value; `undefined`
    counts the samples for which the measure is undefined.
    """

    measure: Measure
    mean: float | None
    samples: int
    groups: int
    undefined: int
    totals: Totals = field(repr=False, compare=False)

    @cached_property
    def interval(self) -> Interval | None:
        """The 95% interval of `mean`, which holds for any distribution of the scores.

        It is by Gaffke's test at 2.5% on either side (`fullrecall.stats.bounds`); None without a
        value, and for a count, which has no upper limit.
        """
        return None if self.measure.is_count else self.totals.interval()

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The means if each unscored sample counts as 0.0, and if each counts as 1.0.

        None for a measure that is a count, and without samples.
        """
        low, high = (self.totals.mean_with(gap) for gap in (0.0, 1.0))
        return None if self.measure.is_count or low is None or high is None else (low, high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return plain_of(self, "mean", "interval", "samples", "groups", "undefined")


@dataclass(frozen=True, eq=False, repr=False)
class ScoreSummary(ValueObject, ByMeasure[Estimate]):
    """One score over all samples: `score[Recall @ 5].mean`.

    `scored`, `undefined`, `unscored` and `unjudged` count samples; `reasons` has the reasons of the
    unscored ones, each with its count. `unverified` is the share of judged credit that rests on
    unverified quotes, None without a judge. `referred` counts the targets that a cascade's second
    judge decided, None without a cascade. If recall by ID finds no target in any sample, `rewrite`
    explains how to make IDs match, or shows a reference ID and a retrieved ID; else it is None.
    """

    kind: ClassVar[str] = "summary"

    method: Method
    measured: Mapping[Measure, Estimate]
    scored: int
    undefined: int
    unscored: int
    reasons: Mapping[str, int]
    unverified: float | None = None
    referred: Referred | None = None
    rewrite: Rewrite | None = None
    """Advice to make IDs match, if no ID matches; else None."""
    unjudged: int = 0
    """The number of samples without any relevance judgment, which are left out of every mean."""
    over_calls: OverCalls | None = None
    """The headline measure within the first 1, 2, … calls, if calls were merged; else None."""

    def __repr__(self) -> str:
        main = self.main
        mean = "no mean" if main.mean is None else f"{main.mean:.3f}"
        if main.interval is not None:
            mean += f" ({between(main.interval)})"
        return (
            f"ScoreSummary({mean}, {self.method.label(main.measure)}: {self.scored:,} scored, "
            f"{self.undefined:,} undefined, {self.unscored:,} unscored)"
        )

    @property
    def mean(self) -> float | None:
        """The mean of `main`; None without a scored sample."""
        return self.main.mean

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of `mean`; None without a scored sample, and for a count."""
        return self.main.interval

    @property
    def coverage(self) -> float | None:
        """The share of scored samples among those that should have a score; None if none should."""
        due = self.scored + self.unscored
        return self.scored / due if due else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The `bounds` of `main`: the means if each unscored sample counts as 0.0, and as 1.0."""
        return self.main.bounds

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("name", "scored", "undefined", "unscored", "unjudged", "bounds", "reasons")
        rewrite = None if self.rewrite is None else self.rewrite.sentence
        more = {"measures": plain(self.measured), "rewrite": rewrite}
        return {**plain_of(self, *names, "unverified", "referred", "over_calls"), **more}


def score_summary(
    table: Table, score: int, measures: Sequence[Measure], *, united: bool
) -> ScoreSummary:
    """Return a score's summary.

    If `united`, some samples merge the contexts of several calls, so the summary also has the
    headline measure after each call.
    """
    method = table.methods[score]
    running = [RunningTotals(measure, table.group_codes) for measure in measures]
    row_counts: Counter[int] = Counter()
    notes: Counter[str] = Counter()
    judged: list[VerdictSums | None] = []
    finds_any = False
    for part, columns, counted in table.counted(score, measures):
        for each, own in zip(running, counted, strict=True):
            each.add(own)
        status, counts = counted[0].status, counted[0].counts
        row_counts.update(dict(enumerate(np.bincount(status, counts).astype(int).tolist())))
        notes.update(part.notes(score))
        judged.append(part.verdicts(score))
        finds_any = finds_any or columns.finds_any
    estimates = {each.measure: _estimate(each) for each in running}
    sums = None
    if any(judged):
        from fullrecall.table.verdicts import VerdictSums

        sums = VerdictSums.joined(judged)
    return ScoreSummary(
        method,
        estimates,
        row_counts[SCORED],
        row_counts[UNDEFINED],
        row_counts[UNSCORED],
        _reasons(notes),
        None if sums is None else sums.unverified_share,
        None if sums is None else sums.cascade,
        _rewrite(table, score) if row_counts[SCORED] and not finds_any else None,
        row_counts[UNJUDGED],
        _over_calls(table, score, method.headline) if united else None,
    )


def _over_calls(table: Table, score: int, measure: Measure) -> OverCalls | None:
    from fullrecall.stats.over_calls import over_calls

    return over_calls(table, score, measure)


def _estimate(running: RunningTotals) -> Estimate:
    totals = running.totals
    mean = None if totals.mean is None else totals.mean * running.scale
    counts = totals.samples, totals.independent, running.undefined
    return Estimate(running.measure, mean, *counts, totals)


def _rewrite(table: Table, score: int) -> Rewrite | None:
    """Return advice on how to make IDs match, from the first samples; None if there is none."""
    scored = np.flatnonzero(table.status(score) == SCORED)[:_ROWS_READ].tolist()
    samples = [table.sample(row) for row in scored]
    references = [
        [each.any_of for each in sample.reference_context_ids or () if each.grade > 0]
        for sample in samples
    ]
    findings = table.result(scored[0], score).findings
    targets = {target_id for finding in findings for target_id in finding.target.any_of}
    if not targets or not targets.issubset(chain.from_iterable(references[0])):
        return None  # The targets are not IDs.
    rewrite_of: Callable[..., Rewrite | None] | None = plugged("rewrite")
    if rewrite_of is None:
        return None
    return rewrite_of([(sample.contexts or ())[:_DEEPEST] for sample in samples], references)


def _reasons(notes: Mapping[str, int]) -> dict[str, int]:
    """Return the most frequent reasons with their counts; the rest are counted together."""
    counts: Counter[str] = Counter()
    for note, count in notes.items():
        counts[re.sub(_STALE, r"\1…", re.sub(_MOMENTARY, "…", note))] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    frequent = dict(ordered[:_REASONS_SHOWN])
    others = sum(count for _, count in ordered[_REASONS_SHOWN:])
    return {**frequent, OTHER: others} if others else frequent
