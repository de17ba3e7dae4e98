"""`compare`: did a change of the retriever change what it finds, and for which questions?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import StringIO
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from fullrecall.errors import ParameterError
from fullrecall.measures import Measure
from fullrecall.parameters import check_k, check_share
from fullrecall.report.bounds import CONFIDENCE, Interval, lower_bound, mean_above, upper_bound
from fullrecall.report.multiplicity import holm
from fullrecall.report.pairs import Common, Gap, PairedBy, common_targets, paired, same_methods
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.report.sign_flips import RESAMPLES, SignFlips, alpha_of, sign_flips
from fullrecall.report.summary import default_measures
from fullrecall.report.totals import Totals, totals_of
from fullrecall.result import Method, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fullrecall.diagnosis import Diagnosis

_NO_CHANGE = 1e-9
"""Values that differ by less differ by rounding."""


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
        change = self.after - self.before
        return 0.0 if abs(change) <= _NO_CHANGE else change


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

    @property
    def totals(self) -> Totals:
        """The totals of the changes."""
        return _changes(self.pairs)

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


@dataclass(frozen=True)
class ScoreComparison(Mapping[Measure, Difference]):
    """One score in both reports: `score[Recall @ 5].difference`.

    `unpaired` counts what is not compared: samples that only one report has, and those without a
    score in one or in both: `unscored` in any, else `undefined_in_one`, `undefined` in both, or
    `no_common_targets`. `differing` counts the samples compared of which one report has other
    targets too: only the common ones count.
    """

    method: Method
    differences: Mapping[Measure, Difference]
    unpaired: Mapping[str, int]
    differing: int

    def __getitem__(self, measure: Measure) -> Difference:
        try:
            return self.differences[measure]
        except KeyError:
            names = ", ".join(map(repr, self.differences))
            raise KeyError(f"no measure {measure!r} in this comparison: it has {names}") from None

    def __iter__(self) -> Iterator[Measure]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    @property
    def name(self) -> str:
        """The score's name."""
        return self.method.name

    @property
    def main(self) -> Difference:
        """The headline over all that was retrieved, or the first measure where that is not here."""
        return self.differences.get(self.method.headline) or next(iter(self.differences.values()))

    @property
    def at(self) -> dict[int, Difference]:
        """The differences of the headline by k, ascending."""
        cut = {measure.k: measure for measure in self if measure.whole == self.method.headline}
        return {k: self[cut[k]] for k in sorted(k for k in cut if k is not None)}

    @property
    def coverage(self) -> float | None:
        """The share of samples compared, among those that should have a score in both reports.

        Samples that only the report `after` has are new, and those without targets in both have
        no recall: neither counts.
        """
        kinds = ("only_before", "unscored", "undefined_in_one", "no_common_targets")
        gaps = sum(self.unpaired[kind] for kind in kinds)
        samples = self.main.samples
        return samples / (samples + gaps) if samples + gaps else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "differences": [one.to_dict() for one in self.differences.values()],
            "unpaired": dict(self.unpaired),
            "differing": self.differing,
        }


class Comparison(Sequence[ScoreComparison]):
    """One `ScoreComparison` for each score that both reports have: `comparison["id_recall"]`.

    Prints as a table. `before` and `after` are the reports, `pairs` their rows side by side,
    `paired_by` says how; `only_before` and `only_after` are the labels of the samples that one
    report alone has, `unmatched` the names of such scores.
    """

    def __init__(
        self,
        before: Report,
        after: Report,
        *measures: Measure,
        confidence: float = CONFIDENCE,
        margin: float | None = None,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> None:
        for report in (before, after):
            if not isinstance(report, Report):
                raise ParameterError(
                    f"compare takes two Reports, got {type(report).__name__}: Report.load(path) "
                    "reads a saved one"
                )
        self.before, self.after = before, after
        self.measures = measures
        self.confidence = check_share(confidence, "confidence", whole=False)
        self.margin = None if margin is None else check_share(margin, "margin")
        self.resamples, self.seed = check_k(resamples, "resamples"), seed
        common, unmatched = same_methods(before, after)
        pairing = paired(before, after)
        self.pairs: Sequence[tuple[Row, Row]] = pairing.pairs
        self.paired_by: PairedBy = pairing.by
        self.only_before = pairing.only_before
        self.only_after = pairing.only_after
        self.unmatched = tuple(unmatched)
        self.scores = self._adjusted([self._compared(*places) for places in common])

    @overload
    def __getitem__(self, key: int | str) -> ScoreComparison: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[ScoreComparison]: ...
    def __getitem__(self, key: int | str | slice) -> ScoreComparison | Sequence[ScoreComparison]:
        if isinstance(key, str):
            for score in self.scores:
                if key == score.name:
                    return score
            names = ", ".join(score.name for score in self.scores)
            raise KeyError(f"no score {key!r}: choose one of {names}")
        return self.scores[key]

    def __iter__(self) -> Iterator[ScoreComparison]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def changes(self, score: str, measure: Measure) -> tuple[Totals, Totals]:
        """Return the changes of a measure with what is not measured at its worst and at its best.

        A sample that has no score after may have lost or gained all there is to; one that has
        none before may come from anywhere; where both are missing, the change may be -1 or 1.
        """
        names = [method.name for method in self.before.methods], [
            method.name for method in self.after.methods
        ]
        before, after = (each.index(score) for each in names)
        ends = [_ends(one.results[before], two.results[after], measure) for one, two in self.pairs]
        groups = [_group(one, two) for one, two in self.pairs]
        for row in self.before:
            if row.label in self.only_before:
                ends.append(_ends(row.results[before], None, measure))
                groups.append(row.sample.group)
        known = [(end, group) for end, group in zip(ends, groups, strict=True) if end is not None]
        low, high = (totals_of((end[side], group) for end, group in known) for side in (0, 1))
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "paired_by": self.paired_by,
            "pairs": len(self.pairs),
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
            "unmatched": list(self.unmatched),
            "confidence": self.confidence,
            "margin": self.margin,
            "resamples": self.resamples,
            "seed": self.seed,
            "scores": [score.to_dict() for score in self],
        }

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        diagnoses: tuple[Diagnosis | None, Diagnosis | None] = (None, None),
        title: str | None = None,
    ) -> str:
        """Return the comparison as one HTML page, and write it to `path` if one is given.

        The page is whole, as that of `Report.to_html`: the differences with their intervals, the
        curves before and after, and every sample with both retrievals side by side. `diagnoses`,
        of the report before and of the one after, add why each target was missed.
        """
        from fullrecall.report.page import comparison_page, write

        page = comparison_page(self, diagnoses=diagnoses, title=title)
        if path is not None:
            write(page, path)
        return page

    def plot(self, ax: Axes | None = None, *, scores: Iterable[str] | None = None) -> Axes:
        """Draw the mean of each score over k before and after, and return the axes.

        Means are over the samples compared. On `ax`, or on new axes if it is None; nothing is
        shown or saved. `scores` names which. Raises `ReportError` where there is nothing to draw,
        `MissingExtraError` without Matplotlib.
        """
        from fullrecall.report.plots import before_after

        return before_after(self, ax, scores=scores)

    def _repr_html_(self) -> str:
        from fullrecall.report.notebook import comparison_html

        return comparison_html(self)

    def __str__(self) -> str:
        # Imported when a comparison is shown: `terminal` draws with rich.
        from fullrecall.report import terminal

        console = terminal.console(StringIO(), width=terminal.WIDEST)
        notes = terminal.comparison_notes(self)
        return terminal.printed(console, [terminal.comparison_table(self), *notes])

    __repr__ = __str__

    def _compared(self, place: int, other: int) -> ScoreComparison:
        method = self.before.methods[place]
        unpaired: Counter[Gap | str] = Counter({
            "only_before": len(self.only_before),
            "only_after": len(self.only_after),
            "unscored": 0,
            "undefined_in_one": 0,
            "undefined": 0,
            "no_common_targets": 0,
        })  # fmt: skip
        common: list[tuple[Row, Common, str | None]] = []
        for one, two in self.pairs:
            both = common_targets(one.results[place], two.results[other])
            if isinstance(both, Common):
                common.append((one, both, _group(one, two)))
            else:
                unpaired[both] += 1
        measured = [
            (measure, _pairs(common, measure))
            for measure in self.measures or default_measures(method)
        ]
        return ScoreComparison(
            method,
            {one.measure: one for one in self._differences(measured)},
            dict(unpaired),
            sum(both.differ for _, both, _ in common),
        )

    def _differences(
        self, measured: Sequence[tuple[Measure, Sequence[Pair]]]
    ) -> Iterator[Difference]:
        """Yield the difference of each measure; those over the same samples share their flips."""
        sums = [_group_means(pairs) for _, pairs in measured]
        flipped: dict[int, SignFlips] = {}
        for size in {len(means) for means in sums if means}:
            columns = [n for n, means in enumerate(sums) if len(means) == size]
            tested = sign_flips(
                list(zip(*(sums[n] for n in columns), strict=True)),
                confidence=self.confidence,
                resamples=self.resamples,
                seed=self.seed,
            )
            flipped |= dict(zip(columns, tested, strict=True))
        for n, (measure, pairs) in enumerate(measured):
            if not pairs:
                yield Difference(measure, pairs, *(None,) * 6, margin=self.margin)
            else:
                yield self._difference(measure, pairs, flipped[n])

    def _difference(
        self, measure: Measure, pairs: Sequence[Pair], flipped: SignFlips
    ) -> Difference:
        changes, alpha = _changes(pairs), alpha_of(self.confidence)
        low, high = changes.counts(low=-1.0)
        before, after = (
            totals_of((getattr(pair, side), pair.group) for pair in pairs).mean
            for side in ("before", "after")
        )
        guaranteed = Interval(
            lower_bound(low, alpha / 2, least=-1.0),
            upper_bound(high, alpha / 2),
            self.confidence,
        )
        margin = self.margin
        safe = None if margin is None else mean_above(low, -margin, least=-1.0) <= alpha
        return Difference(
            measure,
            pairs,
            before,
            after,
            changes.mean,
            flipped.interval if any(pair.change for pair in pairs) else guaranteed,
            guaranteed,
            flipped.p,
            margin=margin,
            non_inferior=safe,
        )

    def _adjusted(self, scores: Sequence[ScoreComparison]) -> tuple[ScoreComparison, ...]:
        """Return the comparisons with p-values adjusted for all that was asked."""
        asked = [
            (score, one)
            for score in scores
            for one in (score.values() if self.measures else [score.main])
            if one.p is not None
        ]
        adjusted = dict(
            zip(
                [(score.name, one.measure) for score, one in asked],
                holm([one.p for _, one in asked if one.p is not None]),
                strict=True,
            )
        )
        return tuple(
            replace(
                score,
                differences={
                    measure: replace(one, p_adjusted=adjusted.get((score.name, measure)))
                    for measure, one in score.items()
                },
            )
            for score in scores
        )


def compare(
    before: Report,
    after: Report,
    *measures: Measure,
    confidence: float = CONFIDENCE,
    margin: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare two reports of the same samples, sample by sample and target by target.

    Samples are paired by their IDs, by position where none has one; of each pair only the targets
    that both reports have count. For each of the `measures` of each score (default: its headline,
    and that at k = 1, 3, 5, 10): the mean difference with its interval, a sign-flip test (all
    subsets of groups where there are no more than `resamples`, else that many drawn by `seed`),
    an interval that assumes nothing, wins, ties and losses, and the samples that changed. With a
    `margin` in [0, 1], `non_inferior` tells whether the mean is shown, at `confidence`, to have
    fallen by less.

    Raises `ReportError` where it is ambiguous which samples or scores belong together or a report
    keeps no rows, `ParameterError` for a value out of range.
    """
    return Comparison(
        before,
        after,
        *measures,
        confidence=confidence,
        margin=margin,
        resamples=resamples,
        seed=seed,
    )


def _pairs(
    common: Sequence[tuple[Row, Common, str | None]], measure: Measure
) -> Sequence[Pair]:
    found = []
    for row, both, group in common:
        before, after = both.before[measure], both.after[measure]
        if before is not None and after is not None:
            found.append(Pair(row, both, before, after, group))
    return found


def _changes(pairs: Sequence[Pair]) -> Totals:
    return totals_of((pair.change, pair.group) for pair in pairs)


def _group_means(pairs: Sequence[Pair]) -> list[float]:
    """Return the mean change of each group, a pair without a group being one."""
    groups: dict[object, list[float]] = {}
    for position, pair in enumerate(pairs):
        key = position if pair.group is None else pair.group
        groups.setdefault(key, []).append(pair.change)
    return [fsum(changes) / len(changes) for changes in groups.values()]


def _ends(before: Result, after: Result | None, measure: Measure) -> tuple[float, float] | None:
    """Return the least and the largest change that a pair may stand for; None if it has none."""
    both = "unscored" if after is None else common_targets(before, after)
    if isinstance(both, Common):
        old, new = both.before[measure], both.after[measure]
        return None if old is None or new is None else (new - old, new - old)
    if both == "undefined":
        return None
    old = before[measure]
    new = None if after is None else after[measure]
    if both == "no_common_targets" or (old is None) == (new is None):
        return -1.0, 1.0
    if new is None:
        return -(old or 0.0), 1.0 - (old or 0.0)
    return new - 1.0, new


def _group(before: Row, after: Row) -> str | None:
    return before.sample.group if before.sample.group is not None else after.sample.group


def _flip(pair: Pair, k: int | None) -> Flip:
    old, new = (
        {finding.target.label for finding in result.ranked if finding.found_at(k)}
        for result in (pair.results.before, pair.results.after)
    )
    return Flip(
        pair.row.label,
        pair.row.sample.user_input,
        pair.before,
        pair.after,
        tuple(sorted(new - old)),
        tuple(sorted(old - new)),
    )


def _plain(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()
