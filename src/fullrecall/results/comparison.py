"""Two reports of the same samples: what changed, by how much, and for which questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack, cast, overload

from fullrecall.counts import counted
from fullrecall.errors import ParameterError
from fullrecall.garbage import uncollected
from fullrecall.measures import Measure, as_measures
from fullrecall.parameters import check_share
from fullrecall.report.report import Report, check_report, diagnosed
from fullrecall.result import Method
from fullrecall.results.bounds import CONFIDENCE, holm
from fullrecall.results.change import Difference, difference
from fullrecall.results.named import ByMeasure, ByName
from fullrecall.results.pairs import ScorePairs, check_questions, paired, same_methods
from fullrecall.results.plain import plain, plain_of
from fullrecall.results.question_cost import QuestionCost, question_cost
from fullrecall.results.summary import default_measures
from fullrecall.table.groups import codes_of
from fullrecall.table.lists import Integers
from fullrecall.table.row import Row
from fullrecall.views.sheet import Sheet, Shown

if TYPE_CHECKING:
    from fullrecall.diagnosis.diagnosis import Diagnosis
    from fullrecall.table.row import Row


@dataclass(frozen=True, repr=False)
class ScoreComparison(ByMeasure[Difference]):
    """One score in both reports: `score[Recall @ 5].difference`.

    `unpaired` counts what is not compared: samples that only one report has, and those without a
    score in one or in both: `unscored` in any, else `undefined_in_one`, `undefined` in both, or
    `no_common_targets`. `differing` counts the samples compared of which one report has other
    targets too: only the common ones count.
    """

    kind: ClassVar[str] = "comparison"

    method: Method
    measured: Mapping[Measure, Difference]
    unpaired: Mapping[str, int]
    differing: int

    def __repr__(self) -> str:
        from fullrecall.views.comparisons import change_sentence

        main = self.main
        sentence = change_sentence(self.method.label(main.measure), main)
        return f"ScoreComparison({sentence})"

    @property
    def gaps(self) -> int:
        """How many samples are not compared that should have a score in both reports.

        Samples that only the report `after` has are new, and those without targets in both have
        no recall: neither counts.
        """
        kinds = ("only_before", "unscored", "undefined_in_one", "no_common_targets")
        return sum(self.unpaired[kind] for kind in kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        differences = plain(tuple(self.values()))
        return {**plain_of(self, "name", "unpaired", "differing"), "differences": differences}


class ComparisonOptions(TypedDict, total=False):
    """The options of `Comparison`, which `compare` passes on."""

    confidence: float
    range: float


class Comparison(Shown, ByName[ScoreComparison]):
    """One `ScoreComparison` for each score that both reports have: `comparison["id_recall"]`.

    Prints as a table. `before` and `after` are the reports, `rows` their samples side by side,
    `paired_by` says how; `only_before` and `only_after` are the labels of the samples that one
    report alone has, `unmatched` the names of such scores.
    """

    def __init__(
        self,
        before: Report,
        after: Report,
        *measures: Measure,
        confidence: float = CONFIDENCE,
        range: float = 1.0,  # noqa: A002 - the word that users know
    ) -> None:
        for report in (before, after):
            check_report(report, "compare")
        self.before, self.after = before, after
        self.measures = as_measures(measures)
        self.confidence = check_share(confidence, "confidence", whole=False)
        if not 0 < range <= 1:
            raise ParameterError(f"range must be above 0 and at most 1, got {range!r}")
        self.range = range
        self.score_indices, self.unmatched = same_methods(before.methods, after.methods)
        self.pairing = paired(before.table, after.table)
        check_questions(before.table, after.table, self.pairing)
        self.paired_by = self.pairing.by
        groups = self._groups()
        scores = [
            self._compared(ScorePairs(before.table, after.table, self.pairing, indices, groups))
            for indices in self.score_indices.values()
        ]
        self.named = {score.name: score for score in adjusted(scores, all_asked=bool(measures))}

    def _compared(self, pairs: ScorePairs) -> ScoreComparison:
        method = self.before.methods[pairs.scores[0]]
        differences = {
            measure: difference(measure, pairs, confidence=self.confidence, range=self.range)
            for measure in self.measures or default_measures(method)
        }
        return ScoreComparison(method, differences, pairs.unpaired(), pairs.differing)

    @cached_property
    def costs(self) -> tuple[QuestionCost | None, QuestionCost | None]:
        """What a question costs before and after; None where nothing was retrieved."""
        return question_cost(self.before.table), question_cost(self.after.table)

    @property
    def drift(self) -> tuple[str, ...]:
        """What differs beside the retriever, a sentence each: corpus, view, references."""
        before, after = self.before, self.after
        beside = "what changed is not the retriever alone; evaluate"
        sentences = []
        if None not in (before.corpus, after.corpus) and before.corpus != after.corpus:
            sentences.append(
                f"the corpora differ: {before.corpus} before, {after.corpus} after: {beside} the "
                "one before again on the other's corpus"
            )
        if before.view != after.view:
            sentences.append(
                f"the lists differ: view={before.view} before, {after.view} after: {beside} one "
                "of them again"
            )
        for score in self:
            changed = score.differing + score.unpaired["no_common_targets"]
            if changed:
                sentences.append(
                    f"the references of {counted(changed, 'sample')} differ in {score.name}: only "
                    "those that both reports have are compared"
                )
        return tuple(sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it comes to: each change that was asked for, what it costs, and what drifted."""
        from fullrecall.views.comparisons import comparison_sentences

        return tuple(comparison_sentences(self))

    @property
    def tokenizers(self) -> tuple[list[str], list[str]]:
        """What counted tokens before and after; empty where no measure has a budget of them."""
        if not any(measure.unit == "tokens" for score in self for measure in score):
            return [], []
        return self.before.table.tokenizers, self.after.table.tokenizers

    @property
    def only_before(self) -> Sequence[str]:
        """The labels of the samples that only the report before has."""
        return tuple(self.before.table.labels(self.pairing.only_before.tolist()))

    @property
    def only_after(self) -> Sequence[str]:
        """The labels of the samples that only the report after has."""
        return tuple(self.after.table.labels(self.pairing.only_after.tolist()))

    @property
    def rows(self) -> Iterator[tuple[Row | None, Row | None]]:
        """Every sample as before and after: the pairs, then those of one report alone."""
        before, after = self.before.table.row, self.after.table.row
        pairing = self.pairing
        for row, other in zip(pairing.before.tolist(), pairing.after.tolist(), strict=True):
            yield before(row), after(other)
        for row in pairing.only_before.tolist():
            yield before(row), None
        for row in pairing.only_after.tolist():
            yield None, after(row)

    def _groups(self) -> Integers | None:
        """Return the group of each pair, then of each sample that only the first has, as a number.

        None where no sample names a group.
        """
        before, after = self.before.table.cells("group"), self.after.table.cells("group")
        if all(group is None for group in chain(before, after)):
            return None
        rows = zip(self.pairing.before.tolist(), self.pairing.after.tolist(), strict=True)
        # Samples that only the first report has are losses at their worst, in their own groups.
        names = [before[row] if before[row] is not None else after[other] for row, other in rows]
        return codes_of(names + [before[row] for row in self.pairing.only_before.tolist()])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("paired_by", "only_before", "only_after", "unmatched", "confidence", "range")
        before, after = self.costs
        return {
            **plain_of(self, *names, "sentences"),
            "pairs": len(self.pairing.before),
            "corpora": {"before": self.before.corpus, "after": self.after.corpus},
            "costs": plain({"before": before, "after": after}),
            "scores": plain(tuple(self)),
        }

    def to_markdown(self, path: str | Path | None = None, *, flips: int = 5) -> str:
        """Return, and write to `path`, the comparison in GitHub's Markdown, for a pull request.

        A table of all differences, the samples that changed most, `flips` of each score, and what
        the numbers stand on. Raises `ParameterError` for `flips` below 0.
        """
        from fullrecall.views import exports
        from fullrecall.views.comparisons import comparison_markdown

        return exports.written(comparison_markdown(self, flips), path)

    @uncollected()
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        diagnosis: Diagnosis | Literal[False] | None = None,
        title: str | None = None,
    ) -> str:
        """Return the comparison as one HTML page, and write it to `path` if one is given.

        The page is whole, as that of `Report.to_html`. It answers first what fails now that did
        not, why, and what to change; then the differences with their intervals, the curves before
        and after, and every sample with both retrievals side by side. `diagnosis`, of the report
        after, says why each target was missed; None makes one by what the report alone tells,
        False leaves it out.
        """
        from fullrecall.views import exports
        from fullrecall.views.page import check_size, comparison_page

        check_size(self.before)
        check_size(self.after)
        if diagnosis is None:
            diagnosis = diagnosed(self.after, self.measures)
        page = comparison_page(self, diagnosis=diagnosis, title=title)
        return exports.written(page, path)

    @property
    def sheets(self) -> Sequence[Sheet]:
        """Each difference with its interval, and what the comparison stands on."""
        from fullrecall.views.comparisons import comparison_sheet

        return [comparison_sheet(self)]


def adjusted(scores: Sequence[ScoreComparison], *, all_asked: bool) -> tuple[ScoreComparison, ...]:
    """Return the comparisons with one error rate for all that was asked, or each's main one.

    By Holm's method: any is called better or worse in error with probability 1 - confidence at
    most, however they depend on each other. Each interval remains that of its change alone.
    """
    tested = [list(score.values()) if all_asked else [score.main] for score in scores]
    p_values = iter(holm([1.0 if each.p is None else each.p for each in chain(*tested)]))
    return tuple(
        replace(
            score,
            measured={
                **score.measured,
                **{each.measure: each.corrected(next(p_values)) for each in differences},
            },
        )
        for score, differences in zip(scores, tested, strict=True)
    )


@overload
def compare(
    before: Report, after: Report, /, *measures: Measure, **options: Unpack[ComparisonOptions]
) -> Comparison: ...
@overload
def compare(
    reports: Mapping[str, Report],
    /,
    *measures: Measure,
    baseline: str | None = ...,
    **options: Unpack[ComparisonOptions],
) -> Comparisons: ...
def compare(
    before: Report | Mapping[str, Report],
    after: Report | Measure | None = None,
    /,
    *measures: Measure,
    baseline: str | None = None,
    **options: Unpack[ComparisonOptions],
) -> Comparison | Comparisons:
    """Compare two reports of the same samples, sample by sample and target by target.

    Samples are paired by their IDs, by position where none has one; of each pair only the targets
    that both reports have count. For each of the `measures` of each score (default: its headline,
    and that at k = 1, 3, 5, 10): the mean difference with its interval, whether that shows a change
    for the better or the worse and how many samples would settle it, the sign-flip p-value, wins,
    ties and losses, and the samples that changed.

    `compare({"bm25": a, "dense": b, "hybrid": c}, Recall @ 5)` compares any number of reports with
    the first, or with the one that `baseline` names: better and worse are then said with one error
    rate for all of them (Holm).

    - `confidence`: of the intervals, between 0 and 1. Default: 0.95.
    - `range`: the largest change of a sample that is possible, above 0 and at most 1, if you know
      one beforehand: intervals are narrower then.

    Raises `ReportError` where it is ambiguous which samples or scores belong together,
    `ParameterError` for a value out of range and for changes beyond `range`.
    """
    if isinstance(before, Mapping):
        first_measure = [] if after is None else [cast("Measure", after)]
        return Comparisons(before, *first_measure, *measures, baseline=baseline, **options)
    if baseline is not None:
        raise ParameterError("baseline names one of several reports: pass {name: report, …}")
    return Comparison(before, cast("Report", after), *measures, **options)


class Comparisons(Shown, ByName[Comparison]):
    """The comparison of each report but the baseline with the baseline: `comparisons["dense"]`.

    `reports` has all of them by name, the baseline first. Prints as a table. Raises
    `ParameterError` for fewer than two reports and a baseline that is none of them, `ReportError`
    where `compare` does.
    """

    kind: ClassVar[str] = "comparison"

    def __init__(
        self,
        reports: Mapping[str, Report],
        *measures: Measure,
        baseline: str | None = None,
        **options: Unpack[ComparisonOptions],
    ) -> None:
        if len(reports) < 2:  # noqa: PLR2004 - one has nothing beside it
            raise ParameterError(f"reports must be at least 2, got {len(reports)}")
        self.baseline = next(iter(reports)) if baseline is None else baseline
        if self.baseline not in reports:
            raise ParameterError(
                f"baseline must be one of {', '.join(map(repr, reports))}, got {baseline!r}"
            )
        # The baseline first: what is shown of the others is against it.
        first = reports[self.baseline]
        self.reports = {self.baseline: first, **reports}
        self.measures = measures
        self.named = {
            name: Comparison(first, report, *measures, **options)
            for name, report in reports.items()
            if name != self.baseline
        }
        self.confidence = self[0].confidence
        scores = [score for comparison in self for score in comparison]
        adjusted_scores = iter(adjusted(scores, all_asked=bool(measures)))
        for comparison in self:
            comparison.named = {name: next(adjusted_scores) for name in comparison.named}
        self.scores = tuple(
            method
            for method in first.methods
            if all(method.name in comparison.named for comparison in self)
        )
        """How the scores were made that all reports have; the others are left out."""
        if not self.scores:
            raise ParameterError("the reports have no score in common: compare them two by two")

    def changes(self, score: str, measure: Measure) -> dict[str, Difference]:
        """Return the difference of each other report from the baseline, by name."""
        return {name: each[score][measure] for name, each in self.named.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**plain_of(self, "baseline", "confidence"), "comparisons": plain(self.named)}

    def __str__(self) -> str:
        return super().__str__().rstrip("\n")

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The reports below each other, with their changes and costs."""
        from fullrecall.views.comparisons import runs_sheet

        return [runs_sheet(self)]
