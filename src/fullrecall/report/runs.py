"""Several reports of the same questions beside each other, in the order in which they were made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fullrecall.errors import ParameterError
from fullrecall.garbage import uncollected
from fullrecall.measures import Measure
from fullrecall.report.comparison import Comparison
from fullrecall.report.difference import Difference
from fullrecall.report.lazy_rows import LazyRows
from fullrecall.report.multiplicity import holm
from fullrecall.report.report import Report, diagnosed

if TYPE_CHECKING:
    from fullrecall.report.row import Row
    from fullrecall.views.diagnosed import Diagnosis


class Runs(Mapping[str, Report]):
    """Reports by their names, the first one made first: `Runs({"May": before, "June": after})`.

    `comparisons` compare the first with each of the others; prints as a table. Raises
    `ParameterError` for fewer than two reports, `ReportError` where `compare` does.
    """

    def __init__(self, reports: Mapping[str, Report], *measures: Measure) -> None:
        if len(reports) < 2:  # noqa: PLR2004 - one has nothing beside it
            raise ParameterError(f"reports must be at least 2, got {len(reports)}")
        # Rows of several runs are put beside each other in memory.
        self._reports = {
            name: report[:] if isinstance(report.rows, LazyRows) else report
            for name, report in reports.items()
        }
        self.measures = measures
        first, *others = self._reports.values()
        self.comparisons = tuple(Comparison(first, other, *measures) for other in others)
        names = [{score.name for score in comparison} for comparison in self.comparisons]
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

    def changes(self, score: str, measure: Measure) -> list[Difference]:
        """Return the difference of each later report from the first.

        `p_adjusted` is by Holm's method for all of them.
        """
        found = [comparison[score][measure] for comparison in self.comparisons]
        known = [one.p for one in found if one.p is not None]
        adjusted = iter(holm(known))
        return [one if one.p is None else replace(one, p_adjusted=next(adjusted)) for one in found]

    @property
    def rows(self) -> Iterator[tuple[Row | None, ...]]:
        """Every sample in each report: those of the first, then those that only others have."""
        first = next(iter(self._reports.values()))
        others: list[dict[int, Row]] = []
        new: dict[str, list[Row | None]] = {}
        for nth, comparison in enumerate(self.comparisons):
            pairs = [(old, row) for old, row in comparison.rows if row is not None]
            others.append({id(old): row for old, row in pairs if old is not None})
            for old, row in pairs:
                if old is None:
                    new.setdefault(row.label, [None] * len(self))[nth + 1] = row
        yield from ((row, *(of.get(id(row)) for of in others)) for row in first)
        yield from map(tuple, new.values())

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
        from fullrecall.views.page import runs_page, write

        if diagnosis is None:
            diagnosis = diagnosed(self[list(self)[-1]], self.measures)
        page = runs_page(self, diagnosis=diagnosis or None, title=title)
        if path is not None:
            write(page, path)
        return exports.kept(page, path)

    def __str__(self) -> str:
        from fullrecall.views import terminal
        from fullrecall.views.comparisons import runs_sheet

        return terminal.text_of(runs_sheet(self)).rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from fullrecall.views import html
        from fullrecall.views.comparisons import runs_sheet

        return html.text_of(runs_sheet(self))
