"""Changes of a score's means between two reports: intervals, outcomes, and sentences on them.

The interval is Gaffke's, two-sided, of paired differences (`fullrecall.stats.bounds`): it holds for
every distribution of the differences and every number of independent groups. A change is called
better or worse only if the interval excludes 0. Otherwise Student's t-test may give a likely
direction; it is an approximation that errs if losses are rare and large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fullrecall._util.counts import counted
from fullrecall._util.truth import NoTruth
from fullrecall.errors import ParameterError
from fullrecall.measures import Measure
from fullrecall.scorers.result import Method
from fullrecall.show.sheet import Cell, CellLike, Line, Section, Sheet
from fullrecall.show.text import chance, first_of, one_line, shown, signed, signed_between
from fullrecall.stats.bounds import Interval, alpha_of, holm
from fullrecall.stats.gamma_sum import t_tails
from fullrecall.stats.named import ByMeasure
from fullrecall.stats.pairs import ScorePairs, changes, gained_and_lost
from fullrecall.stats.plain import plain, plain_of
from fullrecall.stats.totals import Totals

FEWEST_LIKELY = 30
"""The fewest groups for which the t-test is used."""


class Direction(StrEnum):
    """The outcome of a change between two reports.

    A test shows BETTER or WORSE. SAME and NOT_WORSE need no test: they follow from the retrieved
    lists.
    """

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    NOT_WORSE = "not_worse"
    CANNOT_TELL = "cannot_tell"


MOST_FLIPS = 10_000
"""The most changed samples that are named; those with the largest changes come first."""


class Flip(NamedTuple):
    """A sample whose value changed, with the targets newly found and the targets lost.

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
        """The value after minus the value before."""
        return self.after - self.before


@dataclass(frozen=True, kw_only=True)
class Difference(NoTruth):
    """One measure of one score, over the samples where it is defined in both reports.

    - `before`, `after`, `difference`: means over `groups` (a sample without a group is one group);
      None without samples.
    - `interval`: contains the true mean change with the comparison's confidence, for any
      distribution of the changes (`fullrecall.stats.bounds`).
    - `outcome`: better or worse if the interval excludes 0. It is same if all retrieved lists are
      equal, and not worse if each list after only extends the list before. These two outcomes need
      no test. Otherwise CANNOT TELL.
    - `needed`: the number of samples with these changes for which the interval would exclude 0;
      None if it excludes 0 already, or if no number would do.
    - `p`: the p-value of "the mean did not change", by the test behind the interval.
    - `p_adjusted`: `p` adjusted by Holm's method for all requested measures or, if no measures are
      requested, for the main ones; None for any other measure. If present, it decides `outcome`.
    - `p_t`: the p-value of Student's t-test, adjusted in the same way; None for fewer than 30
      groups, or equal changes.
    """

    measure: Measure
    before: float | None
    after: float | None
    difference: float | None
    samples: int
    groups: int
    wins: int
    """The number of samples whose value is better after."""
    losses: int
    """The number of samples whose value is worse after."""
    interval: Interval | None = None
    outcome: Direction = Direction.CANNOT_TELL
    needed: int | None = None
    p: float | None = None
    p_adjusted: float | None = None
    p_t: float | None = None
    totals: Totals = field(repr=False, compare=False)
    pairs: ScorePairs = field(repr=False, compare=False)

    @property
    def likely(self) -> Direction | None:
        """Better or worse if the t-test shows a change but the interval does not; else None."""
        if self.outcome is not Direction.CANNOT_TELL or self.interval is None or self.p_t is None:
            return None
        if self.p_t > alpha_of(self.interval.confidence):
            return None
        return _direction(self.difference or 0.0, self.measure)

    @property
    def ties(self) -> int:
        """The number of samples whose value did not change."""
        return self.samples - self.wins - self.losses

    @cached_property
    def flips(self) -> tuple[Flip, ...]:
        """The samples whose value changed, at most 10,000, the largest change first."""
        before, after = self.pairs.values(self.measure)
        sizes = np.abs(np.nan_to_num(changes(before, after)))
        moved = np.flatnonzero(sizes)
        largest = moved[np.argsort(-sizes[moved], kind="stable")][:MOST_FLIPS]
        values = zip(before[largest].tolist(), after[largest].tolist(), strict=True)
        return tuple(map(self._flip, largest.tolist(), values))

    def _flip(self, pair: int, values: tuple[float, float]) -> Flip:
        row = self.pairs.row(pair)
        gained, lost = gained_and_lost(*self.pairs.results(pair), self.measure)
        return Flip(row.label, row.sample.user_input, *values, gained, lost)

    def corrected(self, p: float, likely: float) -> Difference:
        """Return the difference with adjusted p-values.

        `p` becomes `p_adjusted`, which decides the outcome. The argument `likely`, the p-value of
        the t-test, becomes `p_t`, which decides the property `likely`.
        """
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
    rises = falls = 0
    parts = []
    for piece in pairs.pieces(measure):
        moves = changes(*piece)
        rises, falls = rises + int((moves > 0).sum()), falls + int((moves < 0).sum())
        parts.append([pairs.totals(each) for each in (*piece, moves)])
    before, after, totals = map(Totals.joined, zip(*parts, strict=True))
    known = Difference(
        measure=measure,
        before=before.mean,
        after=after.mean,
        difference=totals.mean,
        samples=totals.samples,
        groups=totals.independent,
        wins=falls if measure.lower_is_better else rises,
        losses=rises if measure.lower_is_better else falls,
        totals=totals,
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
        # Twice the smaller one-sided p-value, by the test behind the interval, so that p and the
        # interval agree on whether 0 is excluded.
        p=min(1.0, 2 * min(values.p_above(0.0), values.p_below(0.0))),
        p_t=_t_test(totals, totals.mean),
    )


def _direction(change: float, measure: Measure) -> Direction:
    """Return whether a change of a mean is for the better or for the worse."""
    return Direction.BETTER if (change > 0) != measure.lower_is_better else Direction.WORSE


def _t_test(totals: Totals, mean: float) -> float | None:
    """Return the p-value of "the mean is 0" by Student's t-test.

    Returns None for fewer than `FEWEST_LIKELY` groups, or if all changes are equal.
    """
    group_changes, counts = totals.group_values(least=-1.0)
    df = float(counts.sum()) - 1
    squares = float(counts @ (group_changes - mean) ** 2)
    if df + 1 < FEWEST_LIKELY or not squares:
        return None
    return t_tails(df, mean / sqrt(squares / df / (df + 1)))


_VERDICTS: Mapping[Direction, Cell] = {
    Direction.BETTER: Cell("Better", "good"),
    Direction.WORSE: Cell("Worse", "bad"),
    Direction.SAME: Cell("Unchanged"),
    Direction.NOT_WORSE: Cell("Not worse", "good"),
    Direction.CANNOT_TELL: Cell("CANNOT TELL", "unsure"),
}

_FACTS: Mapping[Direction, str] = {
    Direction.SAME: "all lists are the same",
    Direction.NOT_WORSE: "every list after begins with the one before",
}

LIKELY_NOTE = (
    "likely: by Student's t-test, an approximation that errs more often than it says where losses "
    "are rare and large; no gate decides by it"
)
"""The note on "likely better"."""


def verdict_of(difference: Difference) -> Cell:
    """Return a cell with the outcome in words; "unchanged" if no sample changed."""
    if difference.samples and not difference.wins and not difference.losses:
        return _VERDICTS[Direction.SAME]
    if difference.likely is not None:
        likely = f"likely {difference.likely} (t-test, approximate)"
        return Cell(f"CANNOT TELL for every distribution; {likely}", "unsure")
    return _VERDICTS[difference.outcome]


def change_sentence(label: str, difference: Difference) -> str:
    """Describe how a mean changed, with the interval and the sample size that would settle it."""
    change, interval = difference.difference, difference.interval
    if change is None or interval is None:
        return f"{label}: no sample was compared"
    sure = f"{100 * interval.confidence:g}% interval"
    way = f"stayed at {shown(difference.after)}"
    if change:
        verb = "rose" if change > 0 else "fell"
        way = f"{verb} from {shown(difference.before)} to {shown(difference.after)}"
    text = (
        f"{label} {way}: {signed(change)} ({sure} {signed_between(interval)}, "
        f"{counted(difference.samples, 'sample')})"
    )
    return f"{text}{_addition(difference, interval)}"


def _addition(difference: Difference, interval: Interval) -> str:
    """Return the last clause of a change's sentence, or "".

    It gives the reason if the retrieved lists alone decide the outcome. If the outcome is CANNOT
    TELL, it says how many samples would settle it, or why no number would.
    """
    if difference.outcome in _FACTS:
        return f"; by fact: {_FACTS[difference.outcome]}"
    is_unchanged = verdict_of(difference) is _VERDICTS[Direction.SAME]
    if is_unchanged or difference.outcome is not Direction.CANNOT_TELL:
        return ""
    # An interval that excludes 0 does not suffice: it has its own confidence, while outcomes have
    # one error rate for all measures.
    if not interval.low <= 0 <= interval.high:
        return "; not shown at one error rate for all that was compared (Holm)"
    if difference.needed is None:
        return "; more samples with this mean change would not settle it"
    return f"; about {counted(difference.needed, 'sample')} with these changes would settle it"


def difference_heads(confidence: float) -> list[str]:
    """Return the column heads for `difference_cells`."""
    interval = f"{100 * confidence:g}% interval"
    return ["before", "after", "difference", interval, "p", "better/\nsame/worse"]


def difference_cells(compared: Difference) -> list[Cell]:
    """Return a difference as cells of a table, with the adjusted p-value if there is one."""
    # Show the adjusted p-value, since the unadjusted one could contradict the outcome.
    p = compared.p if compared.p_adjusted is None else compared.p_adjusted
    return [
        Cell(shown(compared.before)),
        Cell(shown(compared.after)),
        Cell(signed(compared.difference), "strong"),
        Cell(signed_between(compared.interval)),
        Cell(chance(p)),
        Cell(f"{compared.wins:,}/{compared.ties:,}/{compared.losses:,}"),
    ]


def change_cells(change: Difference | None) -> list[CellLike]:
    """Return cells with the change, its interval and the outcome; empty cells for the baseline."""
    if change is None:
        return ["", "", ""]
    return [signed(change.difference), signed_between(change.interval), verdict_of(change)]


NAMED = 5
"""The most samples or targets that a sentence names."""


@dataclass(frozen=True, repr=False)
class ScoreComparison(NoTruth, ByMeasure[Difference]):
    """One score in both reports: `score[Recall @ 5].difference`.

    `unpaired` counts the samples that are not compared, by reason: `only_before` or `only_after`,
    `unscored` in either report, `undefined_in_one`, `undefined` or `unjudged` in both, or
    `no_common_targets`. `differing` counts the compared samples whose targets differ between the
    reports; only their common targets count.
    """

    kind: ClassVar[str] = "comparison"

    method: Method
    measured: Mapping[Measure, Difference]
    unpaired: Mapping[str, int]
    differing: int

    def __repr__(self) -> str:
        main = self.main
        sentence = change_sentence(self.method.label(main.measure), main)
        return f"ScoreComparison({sentence})"

    @property
    def outcome(self) -> Direction:
        """The outcome of the main measure."""
        return self.main.outcome

    @property
    def uncompared(self) -> int:
        """The number of samples that should have a score in both reports and are not compared."""
        kinds = ("only_before", "unscored", "undefined_in_one", "no_common_targets")
        return sum(self.unpaired[kind] for kind in kinds)

    @property
    def unpaired_reasons(self) -> str:
        """The reasons why samples are not compared, each with its number of samples."""
        words = {"only_before": "only before", "only_after": "only after", **_UNPAIRED}
        counts = ((words.get(kind, kind), count) for kind, count in self.unpaired.items())
        return "; ".join(f"{why} ({counted(count, 'sample')})" for why, count in counts if count)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        differences = plain(tuple(self.values()))
        return {**plain_of(self, "name", "unpaired", "differing"), "differences": differences}


def adjusted(scores: Sequence[ScoreComparison], *, all_asked: bool) -> tuple[ScoreComparison, ...]:
    """Return comparisons with p-values that are adjusted for the number of tests.

    If `all_asked`, the tests of all measures are adjusted; otherwise, only those of each score's
    main measure. By Holm's method, the probability that any of these measures is wrongly called
    better or worse is at most 1 - confidence, for any dependence between them. The intervals are
    not adjusted.
    """
    tested = [list(score.values()) if all_asked else [score.main] for score in scores]
    every = list(chain(*tested))
    p_values = zip(
        holm([1.0 if each.p is None else each.p for each in every]),
        holm([1.0 if each.p_t is None else each.p_t for each in every]),
        strict=True,
    )
    return tuple(
        replace(
            score,
            measured={
                **score.measured,
                **{each.measure: each.corrected(*next(p_values)) for each in differences},
            },
        )
        for score, differences in zip(scores, tested, strict=True)
    )


_UNPAIRED = {
    "no_common_targets": "no target in common",
    "unscored": "unscored in one report or both",
    "undefined_in_one": "without reference items in one report",
    "undefined": "without reference items",
    "unjudged": "without a relevance judgment",
}


def unpaired_notes(score: ScoreComparison) -> Iterator[str]:
    """Yield sentences: how many samples changed, and how many were not compared, by reason."""
    main = score.main
    in_groups = f" in {counted(main.groups, 'group')}" if main.groups < main.samples else ""
    yield (
        f"{score.method.label(main.measure)}: {main.wins:,} better, {main.ties:,} the same, "
        f"{main.losses:,} worse, of {main.samples:,}{in_groups}"
    )
    for kind, why in _UNPAIRED.items():
        if score.unpaired[kind]:
            yield f"{score.unpaired[kind]:,} not compared in {score.name}: {why}"


def flips_sheet(score: ScoreComparison, limit: int) -> Sheet:
    """Return a sheet of the `limit` samples that changed most, with the targets gained and lost.

    Raises `ParameterError` for a limit below 0.
    """
    if limit < 0:
        raise ParameterError(f"must be at least 0, got {limit}", "flips")
    changed = score.main.flips if limit else ()
    most = "largest change" if limit == 1 else f"{limit:,} largest changes"
    first = f", the {most}" if len(changed) > limit else ""
    lines = []
    for flip in changed[:limit]:
        values = f"{shown(flip.before)} → {shown(flip.after)}"
        cells: list[CellLike] = [
            one_line(flip.question or "", 200),
            Cell(values, "good" if flip.change > 0 else "bad"),
            *(first_of(labels, NAMED, 120) for labels in (flip.gained, flip.lost)),
        ]
        lines.append(Line(one_line(flip.sample, 60), cells))
    label = score.method.label(score.main.measure)
    return Sheet(
        ["question", "score", "found now", "lost"],
        [Section("", lines)],
        title=f"{counted(len(changed), 'sample')} changed in {label}{first}:",
        corner="sample",
        sides="ltrtt",
    )
