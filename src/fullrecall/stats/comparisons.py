"""Several reports, each compared with one baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from fullrecall._util.garbage import uncollected
from fullrecall._util.truth import NoTruth
from fullrecall.errors import ParameterError
from fullrecall.measures import Measure
from fullrecall.show.sheet import CellLike, Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import NOTHING, one_line, shown
from fullrecall.stats.bounds import CONFIDENCE
from fullrecall.stats.change import (
    LIKELY_NOTE,
    Difference,
    adjusted,
    change_cells,
    change_sentence,
    verdict_of,
)
from fullrecall.stats.comparison import Comparison, page_written
from fullrecall.stats.evaluation import Evaluation
from fullrecall.stats.named import ByName
from fullrecall.stats.plain import plain, plain_of
from fullrecall.stats.question_cost import question_cost


class Comparisons(NoTruth, Shown, ByName[Comparison]):
    """The comparison of each other report with the baseline: `comparisons["dense"]`.

    `reports` has all of them by name, the baseline first. Prints as a table. Raises
    `ParameterError` for fewer than two reports and a baseline that is not one of them,
    `ReportError` when `compare` does.
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
        if len(reports) < 2:  # noqa: PLR2004 - one has nothing beside it
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
        """How the scores were made that all reports have; the others are left out."""
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
        return page_written(self[last], path, **parts)

    @property
    def sheets(self) -> Sequence[Sheet]:
        """A table with a line for each report, its changes and its cost."""
        return [runs_sheet(self)]


def runs_sheet(runs: Comparisons) -> Sheet:
    """Return a line for each report: each measure of its scores, the change, and the cost."""
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
