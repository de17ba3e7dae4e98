"""Comparisons of two or more reports: how scores changed, and in which questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fullrecall._util.counts import counted
from fullrecall._util.garbage import uncollected
from fullrecall._util.parameters import check_share
from fullrecall._util.ports import plugged
from fullrecall._util.truth import NoTruth
from fullrecall.errors import ParameterError
from fullrecall.measures import DEFAULT_KS, Measure, Recall, as_shares
from fullrecall.measures.budgets import Cut
from fullrecall.measures.lists import Integers
from fullrecall.show import markdown
from fullrecall.show.output import written
from fullrecall.show.sheet import CellLike, Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import NOTHING, first_of, one_line, shown
from fullrecall.stats.bounds import CONFIDENCE
from fullrecall.stats.change import (
    LIKELY_NOTE,
    NAMED,
    Difference,
    Direction,
    ScoreComparison,
    adjusted,
    change_cells,
    change_sentence,
    difference,
    difference_cells,
    difference_heads,
    flips_sheet,
    unpaired_notes,
    verdict_of,
)
from fullrecall.stats.estimates import default_measures
from fullrecall.stats.evaluation import Evaluation, check_evaluation, sliced
from fullrecall.stats.named import ByName, index_of
from fullrecall.stats.pairs import ScorePairs, check_questions, paired, same_methods
from fullrecall.stats.plain import plain, plain_of
from fullrecall.stats.question_cost import QuestionCost, cost_change, question_cost
from fullrecall.stats.smallest_k import may_fall
from fullrecall.stats.summary import measure_lines, partial
from fullrecall.table.groups import codes_of
from fullrecall.table.row import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LISTS_READ = 10_000
"""The most samples that are inspected for equal lists."""


class Comparison(NoTruth, Shown, ByName[ScoreComparison]):
    """One `ScoreComparison` for each score that both reports have: `comparison["id_recall"]`.

    Prints as a table. `before` and `after` are the reports. `rows` has their samples side by side,
    paired by the key in `paired_by`. `only_before` and `only_after` are the labels of the samples
    that only one report has. `unmatched` has the names of the scores that only one report has.
    """

    def __init__(
        self,
        before: Evaluation,
        after: Evaluation,
        *measures: Measure,
        confidence: float = CONFIDENCE,
        slices: str | None = None,
    ) -> None:
        for report in (before, after):
            check_evaluation(report, "compare")
        self.before, self.after = before, after
        self.measures = as_shares(measures)
        self.confidence = check_share(confidence, "confidence", whole=False)
        self.score_indices, self.unmatched = same_methods(before.methods, after.methods)
        self.pairing = paired(before.table, after.table)
        check_questions(before.table, after.table, self.pairing)
        self.paired_by = self.pairing.by
        groups = self._groups()
        scores = [
            self._compared(ScorePairs(before.table, after.table, self.pairing, indices, groups))
            for indices in self.score_indices.values()
        ]
        self.decide(adjusted(scores, all_asked=bool(measures)))
        self.by = slices
        self.slices = {} if slices is None else self._sliced(slices)
        """The same comparison over the samples of each value of the field `by`. Their intervals
        hold for all slices together."""

    def _sliced(self, by: str) -> dict[str, Comparison]:
        parts = sliced([self.before, self.after], by)
        confidence = 1 - (1 - self.confidence) / len(parts)  # Bonferroni
        return {
            value: Comparison(before, after, *self.measures, confidence=confidence)
            for value, (before, after) in parts.items()
        }

    def decide(self, scores: Iterable[ScoreComparison]) -> None:
        """Set the scores; their p-values are already adjusted.

        Outcomes that follow from the retrieved lists alone replace those of the tests.
        """
        self.named = {
            score.name: replace(
                score,
                measured={
                    measure: replace(each, outcome=self._fact(score, each) or each.outcome)
                    for measure, each in score.items()
                },
            )
            for score in scores
        }

    def _fact(self, score: ScoreComparison, change: Difference) -> Direction | None:
        """Return the outcome that follows from the retrieved lists alone; None if none follows."""
        if score.uncompared or change.losses or not change.samples:
            return None
        if not change.wins and self.lists == "same":
            return Direction.SAME
        # If each list only grew, a measure that never falls for a longer list is not worse for any
        # question.
        is_open = change.outcome is Direction.CANNOT_TELL and change.measure.unit is None
        if is_open and not may_fall(change.measure) and self.lists == "extended":
            return Direction.NOT_WORSE
        return None

    def _compared(self, pairs: ScorePairs) -> ScoreComparison:
        method = self.before.methods[pairs.scores[0]]
        differences = {
            measure: difference(measure, pairs, confidence=self.confidence)
            for measure in self.measures or default_measures(method)
        }
        return ScoreComparison(method, differences, pairs.unpaired(), pairs.differing)

    @property
    def outcome(self) -> Direction:
        """The outcome of the only score, or of the only recall among several scores.

        Raises `ReportError` if there are several scores, and not exactly one recall among them;
        read `comparison["id_recall"].outcome` then.
        """
        return self[index_of([score.method for score in self], None)].outcome

    @cached_property
    def costs(self) -> tuple[QuestionCost | None, QuestionCost | None]:
        """The cost of a question within the largest k, before and after; None without contexts."""
        tables = (self.before.table, self.after.table)
        before, after = (question_cost(table, self.measures) for table in tables)
        return before, after

    @cached_property
    def lists(self) -> Literal["same", "extended", "other"]:
        """Whether both reports have the same lists ("same"), or each list only grew ("extended").

        Otherwise "other". Reports with more than 10,000 samples are not inspected and give "other".
        """
        rows = self.pairing
        if len(rows.only_before) or len(rows.only_after) or len(rows.before) > _LISTS_READ:
            return "other"
        goes_on = is_filled = False
        for row, other in zip(rows.before.tolist(), rows.after.tolist(), strict=True):
            before = self.before.table.sample(row).contexts
            after = self.after.table.sample(other).contexts
            if before is None or after is None or after[: len(before)] != before:
                return "other"
            goes_on, is_filled = goes_on or len(after) > len(before), is_filled or bool(before)
        if not goes_on:
            return "same"
        # Any list extends an empty one, so if all lists before are empty, growth shows nothing.
        return "extended" if is_filled else "other"

    @property
    def drift(self) -> tuple[str, ...]:
        """A sentence for each difference besides the retriever: in corpus, list, or references."""
        old, new = self.before, self.after
        sentences = []
        for what, before, after, way in (
            (
                "corpora differ: ",
                old.corpus,
                new.corpus,
                "the one before again on the other's corpus",
            ),
            ("lists differ: view=", old.view, new.view, "one of them again"),
        ):
            if before != after and None not in (before, after):
                sentences.append(
                    f"the {what}{before} before, {after} after: what changed is not the retriever "
                    f"alone; evaluate {way}"
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
        """The result in sentences: each requested change, the change of the cost, and `drift`."""
        verdicts = [
            f"{verdict_of(each).text}: {change_sentence(score.method.label(each.measure), each)}"
            for score in self
            for each in score.values()
            if each.p_adjusted is not None or (each is score.main and not each.samples)
        ]
        cost = cost_change(*self.costs)
        return (*verdicts, *([f"A question costs {cost}"] if cost else []), *self.drift)

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
        """Each sample's rows before and after, None in a report that does not have the sample.

        The pairs come first, then the samples that only the report before has, then the samples
        that only the report after has.
        """
        before, after = self.before.table.row, self.after.table.row
        pairing = self.pairing
        for row, other in zip(pairing.before.tolist(), pairing.after.tolist(), strict=True):
            yield before(row), after(other)
        for row in pairing.only_before.tolist():
            yield before(row), None
        for row in pairing.only_after.tolist():
            yield None, after(row)

    def _groups(self) -> Integers | None:
        """Return the group number of each pair, then of each sample that only the first report has.

        Returns None if no sample names a group.
        """
        if not (self.before.table.has_groups or self.after.table.has_groups):
            return None
        before, after = self.before.table.cells("group"), self.after.table.cells("group")
        rows = zip(self.pairing.before.tolist(), self.pairing.after.tolist(), strict=True)
        # Samples that only the first report has need groups too, for `ScorePairs.worst_and_best`.
        names = [before[row] if before[row] is not None else after[other] for row, other in rows]
        return codes_of(names + [before[row] for row in self.pairing.only_before.tolist()])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("paired_by", "only_before", "only_after", "unmatched", "confidence")
        before, after = self.costs
        return {
            **plain_of(self, *names, "sentences"),
            "pairs": len(self.pairing.before),
            "corpora": {"before": self.before.corpus, "after": self.after.corpus},
            "costs": plain({"before": before, "after": after}),
            "scores": plain(tuple(self)),
            "slices": {value: each.to_dict()["scores"] for value, each in self.slices.items()},
        }

    def to_markdown(self, path: str | Path | None = None, *, flips: int = 5) -> str:
        """Return the comparison in GitHub's Markdown, and write it to `path` if given.

        It has a table of all differences, the `flips` samples of each score that changed most, and
        the basis of the numbers. Raises `ParameterError` for `flips` below 0.
        """
        sheet = comparison_sheet(self)
        heading, *sentences = sheet.lead or ["Context recall, before and after"]
        folded = [
            markdown.folded(flips_sheet(score, flips), "What was found and lost") for score in self
        ]
        text = markdown.text_of(markdown.escaped(heading), sheet._replace(lead=sentences))
        return written("\n".join([text, *filter(None, folded)]), path)

    @uncollected()
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        diagnosis: object = None,
        title: str | None = None,
    ) -> str:
        """Return the comparison as one HTML page, and write it to `path` if one is given.

        Like the page of `Report.to_html`, it needs no other file. It begins with the new failures,
        their causes, and the changes to make; then come the differences with their intervals, the
        curves before and after, and every sample with both retrievals side by side. `diagnosis` is
        a `Diagnosis` of the report after; it explains why each target was missed. For None, the
        diagnosis is computed from that report; for False, it is left out.
        """
        return _page_written(self, path, diagnosis=diagnosis, title=title)

    def plot(
        self,
        measure: Measure = Recall,
        ax: Axes | None = None,
        *,
        ks: Sequence[Cut] = DEFAULT_KS,
        labels: tuple[str, str] = ("before", "after"),
    ) -> Axes:
        """Draw both reports over `ks` on the same axes, as `Report.plot` does; return the axes."""
        for report, label in zip((self.before, self.after), labels, strict=True):
            ax = report.plot(measure, ax, ks=ks, label=label)
        assert ax is not None  # noqa: S101 - there are two reports
        return ax

    @property
    def sheets(self) -> Sequence[Sheet]:
        """A sheet with each difference and its interval, and one with the slices, if any."""
        return [comparison_sheet(self), *([slices_sheet(self)] if self.slices else [])]


class Comparisons(NoTruth, Shown, ByName[Comparison]):
    """Comparisons of all other reports with the baseline, by name: `comparisons["dense"]`.

    `reports` are all reports by name, the baseline first. Prints as a table. Raises
    `ParameterError` for fewer than two reports, and for a baseline that is not one of them. Raises
    `ReportError` as `compare` does.
    """

    kind: ClassVar[str] = "comparison"
    read: ClassVar[str] = "[name].outcome"

    def __init__(
        self,
        reports: Mapping[str, Evaluation],
        *measures: Measure,
        baseline: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> None:
        if len(reports) < 2:  # noqa: PLR2004 - a comparison needs two
            raise ParameterError(f"must be at least 2, got {len(reports)}", "reports")
        self.baseline = next(iter(reports)) if baseline is None else baseline
        if self.baseline not in reports:
            raise ParameterError(
                f"must be one of {', '.join(map(repr, reports))}, got {baseline!r}", "baseline"
            )
        # The baseline first: every other report is shown against it.
        first = reports[self.baseline]
        self.reports = {self.baseline: first, **reports}
        self.measures = measures
        self.named = {
            name: Comparison(first, report, *measures, confidence=confidence)
            for name, report in reports.items()
            if name != self.baseline
        }
        self.confidence = self[0].confidence
        scores = [score for comparison in self for score in comparison]
        adjusted_scores = iter(adjusted(scores, all_asked=bool(measures)))
        for comparison in self:
            comparison.decide([next(adjusted_scores) for _ in comparison])
        self.scores = tuple(
            method
            for method in first.methods
            if all(method.name in comparison.named for comparison in self)
        )
        """The methods of the scores that all reports have; other scores are left out."""
        if not self.scores:
            raise ParameterError("the reports have no score in common: compare them two by two")

    def changes(self, score: str, measure: Measure) -> dict[str, Difference]:
        """Return the difference between each other report and the baseline, by name."""
        return {name: each[score][measure] for name, each in self.named.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**plain_of(self, "baseline", "confidence"), "comparisons": plain(self.named)}

    def __str__(self) -> str:
        return super().__str__().rstrip("\n")

    @uncollected()
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        diagnosis: object = None,
        title: str | None = None,
    ) -> str:
        """Return all reports as one HTML page, and write it to `path` if one is given.

        The page has a table of all reports by their names, then the page of `Comparison.to_html`
        for the baseline and the last report.
        """
        last = list(self.named)[-1]
        names = (self.baseline, last)
        among = runs_sheet(self) if len(self) > 1 else None
        parts = {"diagnosis": diagnosis, "title": title, "names": names, "among": among}
        return _page_written(self[last], path, **parts)

    @property
    def sheets(self) -> Sequence[Sheet]:
        """A table with a line for each report: its means, their changes, and its cost."""
        return [runs_sheet(self)]


def _page_written(comparison: Comparison, path: str | Path | None, **parts: object) -> str:
    """Return the page of a comparison, and write it to `path` if one is given."""
    page_of = plugged("comparison_page")
    if page_of is None:
        raise ParameterError("to_html needs fullrecall.page, which is not installed")
    return written(page_of(comparison, **parts), path)


def comparison_sheet(comparison: Comparison) -> Sheet:
    """Return a comparison as a sheet with the means, difference, interval and p of each measure."""
    sections = [
        _section(score.name, ((label, score[m]) for label, (m,) in measure_lines([score]) if m))
        for score in comparison
    ]
    heads, notes = difference_heads(comparison.confidence), comparison_notes(comparison)
    return Sheet(heads, sections, notes, lead=list(comparison.sentences))


def _section(title: str, changes: Iterable[tuple[str, Difference]]) -> Section:
    """Return a section with a line for each change that has samples."""
    known = ((label, change) for label, change in changes if change.difference is not None)
    return Section(title, [Line(label, difference_cells(change)) for label, change in known])


def slices_sheet(comparison: Comparison) -> Sheet:
    """Return a sheet with the changes in each slice, of the requested or the main measures."""
    sections = [
        _section(
            score.method.label(measure),
            (
                (one_line(value, 60), part[score.name][measure])
                for value, part in comparison.slices.items()
            ),
        )
        for score in comparison
        for measure in (score if comparison.measures else (score.main.measure,))
    ]
    counts = ", ".join(f"{v} {len(c.pairing.before):,}" for v, c in comparison.slices.items())
    notes = [
        f"samples by {comparison.by}: {counts}",
        f"{comparison.confidence:.0%} intervals that hold for all slices together",
    ]
    return Sheet(difference_heads(comparison.confidence), sections, notes)


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return sentences on how samples were paired, and on the samples and scores left out."""
    how = {
        "id": "their IDs",
        "question": "their questions: they have no IDs",
        "position": "their position: they have no IDs",
    }[comparison.paired_by]
    notes = [f"{counted(len(comparison.pairing.before), 'sample')}, paired by {how}"]
    for report, side in ((comparison.before, "before"), (comparison.after, "after")):
        if report.stopped is not None:
            count = f"the report {side} has {counted(len(report), 'sample')}"
            notes.append(partial(count, report.stopped))
    counts_tokens = any(measure.unit == "tokens" for score in comparison for measure in score)
    reports = (comparison.before, comparison.after)
    before, after = (each.table.tokenizers if counts_tokens else [] for each in reports)
    if set(before) != set(after) or len(before) > 1:
        notes.append(
            f"tokens were counted by {', '.join(before) or 'nobody'} before, "
            f"{', '.join(after) or 'nobody'} after: these budgets do not compare; "
            "Report.with_tokens counts all alike"
        )
    for score in comparison:
        notes += unpaired_notes(score)
    for labels, side in ((comparison.only_before, "before"), (comparison.only_after, "after")):
        if labels:
            first = first_of(labels, NAMED, 40)
            notes.append(f"{len(labels):,} only in the report {side}: {first}")
    if any(each.likely for score in comparison for each in score.values()):
        notes.append(LIKELY_NOTE)
    if comparison.unmatched:
        notes.append(f"scored in one report only: {', '.join(comparison.unmatched)}")
    return notes


def runs_sheet(runs: Comparisons) -> Sheet:
    """Return a sheet with a line for each report: its measures, their changes, and its cost."""
    heads: list[str] = []
    lead: list[str] = []
    cells: dict[str, list[CellLike]] = {name: [] for name in runs.reports}
    for method in runs.scores:
        for measure in runs.measures or (method.headline,):
            label = method.label(measure)
            heads += [label, f"since {one_line(runs.baseline, 20)}"]
            heads += [f"{100 * runs.confidence:g}% interval", ""]
            changes = runs.changes(method.name, measure)
            for name, report in runs.reports.items():
                cells[name].append(shown(report.summary(measure)[method.name][measure].mean))
                cells[name] += change_cells(changes.get(name))
            lead += [
                f"{one_line(name, 60)}: {verdict_of(change).text}: {change_sentence(label, change)}"
                for name, change in changes.items()
            ]
    for name, report in runs.reports.items():
        cells[name].append(str(question_cost(report.table, runs.measures) or NOTHING))
    notes = [
        "intervals: each at its own confidence; better and worse: at one error rate for all (Holm)",
        *(
            f"{one_line(name, 60)}: {sentence}"
            for name, comparison in runs.named.items()
            for sentence in comparison.drift
        ),
    ]
    if any(score.main.likely for comparison in runs for score in comparison):
        notes.append(LIKELY_NOTE)
    lines = [Line(one_line(name, 60), shown_of) for name, shown_of in cells.items()]
    heads.append("a question costs")
    return Sheet(heads, [Section("mean", lines)], notes, lead=lead)
