"""What a page reads of each sample: each score by each choice, in each report."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.measures.sets import RecallMeasure
from fullrecall.result import Result, Status
from fullrecall.results.pairs import Gap, side_by_side
from fullrecall.views.page.choices import Column, Rows, Subject
from fullrecall.views.page.document import as_json

if TYPE_CHECKING:
    from fullrecall.findings import Finding
    from fullrecall.measures import Measure

STATUSES = list(Status)
"""The statuses, each by its number."""


class Misses(NamedTuple):
    """How many of the `targets` that a measure counts were not found in full within its k."""

    missed: int
    targets: int


@dataclass(eq=False, slots=True)
class Figures:
    """A score by each choice: its values, and its misses.

    `whole` says that every measure counts all targets. `json` has the status, the values and the
    misses as the page's script reads them. `reasons` are those of results with these figures, by
    how many contexts they were found in. Samples that found as much share their figures.
    """

    values: Sequence[float | None]
    misses: Sequence[Misses]
    whole: bool
    json: str
    reasons: dict[int, str] = field(default_factory=dict)


class Cell(NamedTuple):
    """One score of one sample in one report.

    `result` is what the scorer found, with its `findings`; `read` the same over the targets that
    are compared.
    """

    result: Result
    findings: Sequence[Finding]
    read: Result
    figures: Figures

    @property
    def reason(self) -> str:
        """The reason of the result."""
        result, reasons = self.result, self.figures.reasons
        if self.read is not result or result.note or result.ranks is not None:
            return result.reason
        reason = reasons.get(result.retrieved)
        if reason is None:
            reason = reasons[result.retrieved] = result.reason
        return reason


class Reading(NamedTuple):
    """One score of one sample in the reports that have it; `gap` says why it is not compared."""

    nth: int
    measures: Sequence[Measure]
    cells: Mapping[int, Cell]
    gap: Gap | None


class Reader:
    """Reads the scores of samples by every choice."""

    def __init__(self, subject: Subject) -> None:
        self._scores = [
            _Score(column, nth, [choice.measures[nth] for choice in subject.choices])
            for nth, column in enumerate(subject.columns)
        ]

    def read(self, rows: Rows) -> list[Reading]:
        """Return what the page reads of a sample."""
        return [score.read(rows) for score in self._scores]


class _Score:
    def __init__(self, column: Column, nth: int, measures: Sequence[Measure]) -> None:
        self._nth = nth
        self._positions = column.positions
        self._measures = measures
        self._by_ranks = all(
            isinstance(measure, RecallMeasure)
            and measure.min_grade is None
            and measure.weight == "equal"
            for measure in measures
        )
        # Of ten thousand samples, most have found as much at the same ranks as another one.
        self._figures: dict[tuple[Any, ...], Figures] = {}

    def read(self, rows: Rows) -> Reading:
        if len(rows) == 1 and rows[0] is not None:  # most pages are of one report
            result = rows[0].results[self._positions[0]]
            return Reading(self._nth, self._measures, {0: self._cell(result, result)}, None)
        results = [
            None if row is None else row.results[position]
            for row, position in zip(rows, self._positions, strict=True)
        ]
        gap, read = _compared(results)
        cells = {
            side: self._cell(result, own)
            for side, (result, own) in enumerate(zip(results, read, strict=True))
            if result is not None and own is not None
        }
        return Reading(self._nth, self._measures, cells, gap)

    def _cell(self, result: Result, read: Result) -> Cell:
        findings = tuple(result.findings)
        own = findings if read is result else tuple(read.findings)
        return Cell(result, findings, read, self._of(read, own))

    def _of(self, read: Result, findings: tuple[Finding, ...]) -> Figures:
        if not self._by_ranks or read.status is not Status.SCORED or read.ranks is not None:
            return _figures(read, self._measures)
        key = tuple([finding.steps for finding in findings])
        figures = self._figures.get(key)
        if figures is None:
            figures = self._figures[key] = _figures(read, self._measures)
        return figures


def _compared(results: Sequence[Result | None]) -> tuple[Gap | None, Sequence[Result | None]]:
    """Return why the first and the last are not compared, and all over the targets that are."""
    gap, first, last = side_by_side(results[0], results[-1])
    if gap is not None or first is None:
        return gap, results
    return gap, [first, *(_over(first, result) for result in results[1:-1]), last]


def _over(first: Result, between: Result | None) -> Result | None:
    """Return a result over the targets that another one has."""
    if between is None:
        return None
    targets = set(first.targets)
    return replace(between, findings=tuple(f for f in between.findings if f.target in targets))


def _figures(read: Result, measures: Sequence[Measure]) -> Figures:
    values = [read[measure] for measure in measures]
    misses, whole = [Misses(0, 0)] * len(measures), False
    if read.status is Status.SCORED:  # what was not measured was not missed
        misses, whole = _misses(read, measures)
    short = [None if value is None else round(value, 6) for value in values]
    numbers = as_json([STATUSES.index(read.status), short, [miss.missed for miss in misses]])
    return Figures(values, misses, whole, numbers)


def _misses(read: Result, measures: Sequence[Measure]) -> tuple[list[Misses], bool]:
    """Return what each measure counts as missed; and whether each counts all targets."""
    misses, whole = [], True
    for measure in measures:
        findings = read.paid(measure)
        counted = measure.countable(findings)
        whole = whole and counted is findings
        ranks = sorted(finding.rank for finding in counted if finding.rank is not None)
        within = len(ranks) if measure.top is None else bisect_right(ranks, measure.top)
        misses.append(Misses(len(counted) - within, len(counted)))
    return misses, whole
