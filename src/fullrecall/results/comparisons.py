"""`compare`: did a change of the retriever change what it finds, and for which questions?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast, overload

import numpy as np

from fullrecall.errors import ParameterError
from fullrecall.garbage import uncollected
from fullrecall.measures import Measure
from fullrecall.report.report import Report, diagnosed
from fullrecall.results.comparison import Comparison, ComparisonOptions, adjusted
from fullrecall.results.difference import Difference
from fullrecall.results.plain import plain_of
from fullrecall.views.sheet import Sheet
from fullrecall.views.shown import Shown

if TYPE_CHECKING:
    from fullrecall.diagnosis.diagnosis import Diagnosis
    from fullrecall.table.row import Row


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
        named = [] if after is None else [cast("Measure", after)]
        return Comparisons(before, *named, *measures, baseline=baseline, **options)
    if baseline is not None:
        raise ParameterError("baseline names one of several reports: pass {name: report, …}")
    return Comparison(before, cast("Report", after), *measures, **options)


class Comparisons(Shown, Mapping[str, Report]):
    """Any number of reports of the same samples, each compared with the baseline.

    A mapping of their names to the reports; `comparisons` has the comparison of each of the others
    with the baseline, by name. Prints as a table. Raises `ParameterError` for fewer than two
    reports and a baseline that is none of them, `ReportError` where `compare` does.
    """

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
        self._reports = {self.baseline: reports[self.baseline], **reports}
        self.measures = measures
        first = self._reports[self.baseline]
        self.comparisons = {
            name: Comparison(first, report, *measures, **options)
            for name, report in reports.items()
            if name != self.baseline
        }
        self.confidence = next(iter(self.comparisons.values())).confidence
        every = [score for each in self.comparisons.values() for score in each]
        together = iter(adjusted(every, all_asked=bool(measures)))
        for each in self.comparisons.values():
            each.named = {name: next(together) for name in each.named}
        names = [{score.name for score in each} for each in self.comparisons.values()]
        self.scores = tuple(
            method for method in first.methods if all(method.name in of for of in names)
        )
        """How the scores were made that all reports have; the others are left out."""
        if not self.scores:
            raise ParameterError("the reports have no score in common: compare them two by two")

    def __getitem__(self, name: str) -> Report:
        return self._reports[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    def changes(self, score: str, measure: Measure) -> dict[str, Difference]:
        """Return the difference of each other report from the baseline, by name."""
        return {name: each[score][measure] for name, each in self.comparisons.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return plain_of(self, "baseline", "confidence", "comparisons")

    @property
    def rows(self) -> Iterator[tuple[Row | None, ...]]:
        """Every sample in each report: those of the baseline, then those that only others have."""
        names, tables = list(self), [report.table for report in self.values()]
        numbers = np.full((len(self[self.baseline]), len(names)), -1)
        numbers[:, names.index(self.baseline)] = np.arange(len(numbers))
        new: dict[str, list[int]] = {}
        for name, each in self.comparisons.items():
            column = names.index(name)
            numbers[each.pairing.before, column] = each.pairing.after
            for row in each.pairing.only_after.tolist():
                label = tables[column].label(row)
                new.setdefault(label, [-1] * len(names))[column] = row
        for line in (*numbers.tolist(), *new.values()):
            pairs = zip(tables, line, strict=True)
            yield tuple(table.row(row) if row >= 0 else None for table, row in pairs)

    @uncollected()
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        diagnosis: Diagnosis | Literal[False] | None = None,
        title: str | None = None,
    ) -> str:
        """Return the reports as one HTML page, and write it to `path` if one is given.

        The page is whole, as that of `Report.to_html`. It answers first what fails in the last
        report that did not in the first, why, and what to change; then the means of each report
        with their intervals, their changes since the first, slices, and every sample in all of
        them. `diagnosis` is that of the last report; None makes one by what it alone tells, False
        leaves it out.
        """
        from fullrecall.views import exports
        from fullrecall.views.page import runs_page

        if diagnosis is None:
            diagnosis = diagnosed(self[list(self)[-1]], self.measures)
        page = runs_page(self, diagnosis=diagnosis or None, title=title)
        return exports.written(page, path)

    def __str__(self) -> str:
        return super().__str__().rstrip("\n")

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The reports below each other, with their changes and costs."""
        from fullrecall.views.comparisons import runs_sheet

        return [runs_sheet(self)]
