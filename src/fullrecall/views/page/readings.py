"""What the table of a page shows of a sample: each score by each choice, on each side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from fullrecall.findings import ColumnFindings, Findings, restricted
from fullrecall.measures import Measure
from fullrecall.measures.sets import RecallMeasure
from fullrecall.views.page.choices import Choice
from fullrecall.views.page.columns import Column
from fullrecall.views.page.encoding import as_json
from fullrecall.report.pairs import Gap, side_by_side
from fullrecall.report.row import Row
from fullrecall.result import Result, Status

Rows: TypeAlias = tuple[Row | None, ...]
"""One sample on each side of a page, None where that side's report does not have it."""


STATUSES = list(Status)
"""The statuses, each by its number."""


_Numbers: TypeAlias = tuple[int, ...]


class Misses(NamedTuple):
    """How many of the `targets` that a measure counts were not found in full within its k."""

    missed: int
    targets: int


@dataclass(eq=False, slots=True)
class Figures:
    """A score by each choice: its values, its misses and of how many targets.

    `whole` says that every measure counts all targets. `json` has the status, the values and the
    misses as the page's script reads them. `reasons` are those of results with these figures, by
    how many contexts they were found in. Samples that found as much share their figures.
    """

    values: Sequence[float | None]
    missed: tuple[int, ...]
    targets: tuple[int, ...]
    whole: bool
    json: str
    reasons: dict[int, str] = field(default_factory=dict)


class Cell(NamedTuple):
    """One score of one sample on one side.

    `result` is what the scorer found; `read` the same over the targets that are compared.
    """

    result: Result
    read: Result
    figures: Figures

    @property
    def reason(self) -> str:
        """The reason of the result."""
        result, known = self.result, self.figures.reasons
        if self.read is not result or result.note or result.ranks is not None:
            return result.reason
        reason = known.get(result.retrieved)
        if reason is None:
            reason = known[result.retrieved] = result.reason
        return reason


class Reading(NamedTuple):
    """One score of one sample on the sides that have it; `gap` says why it is not compared."""

    nth: int
    measures: Sequence[Measure]
    cells: Mapping[int, Cell]
    gap: Gap | None


class Reader:
    """Reads the `nth` score of samples by every choice."""

    def __init__(self, column: Column, nth: int, choices: Sequence[Choice]) -> None:
        self._nth = nth
        self._positions = column.positions
        self._measures = [choice.measures[nth] for choice in choices]
        self._by_ranks = all(
            isinstance(measure, RecallMeasure) and measure.needs_only_ranks
            for measure in self._measures
        )
        # Of ten thousand samples, most have found as much at the same ranks as another one.
        self._figures: dict[tuple[Any, ...], Figures] = {}

    def read(self, rows: Rows) -> Reading:
        """Return what the page reads of a sample."""
        if len(rows) == 1 and rows[0] is not None:
            result = rows[0].results[self._positions[0]]
            cells = {0: Cell(result, result, self._of(result))}
            return Reading(self._nth, self._measures, cells, None)
        results = [
            None if row is None else row.results[place]
            for row, place in zip(rows, self._positions, strict=True)
        ]
        gap, read = _compared(results)
        cells = {
            side: Cell(result, own, self._of(own))
            for side, (result, own) in enumerate(zip(results, read, strict=True))
            if result is not None and own is not None
        }
        return Reading(self._nth, self._measures, cells, gap)

    def _of(self, read: Result) -> Figures:
        findings = read.findings
        if not self._by_ranks or read.status is not Status.SCORED or read.ranks is not None:
            return _figures(read, self._measures)
        key: tuple[Any, ...]
        if type(findings) is tuple:
            key = tuple([finding.steps for finding in findings])
        elif isinstance(findings, ColumnFindings):
            key = (len(findings), *findings.found_ranks)
        else:
            return _figures(read, self._measures)
        known = self._figures.get(key)
        if known is None:
            known = self._figures[key] = _figures(read, self._measures)
        return known


def _compared(results: Sequence[Result | None]) -> tuple[Gap | None, Sequence[Result | None]]:
    """Return why the first and the last are not compared, and all over the targets that are."""
    if len(results) == 1:
        return None, results
    gap, first, last = side_by_side(results[0], results[-1])
    if gap is not None or first is None:
        return gap, results
    return gap, [first, *(_over(first, one) for one in results[1:-1]), last]


def _over(first: Result, between: Result | None) -> Result | None:
    if between is None:
        return None
    return replace(between, findings=restricted(between.findings, set(first.targets)))


def _figures(read: Result, measures: Sequence[Measure]) -> Figures:
    missed: tuple[int, ...] = (0,) * len(measures)
    targets, whole = missed, False
    values: list[float | None] = [None] * len(measures)
    if read.status is not Status.UNSCORED:
        findings, retrieved = read.ranked, read.retrieved
        values = [_short(measure.of(findings, retrieved)) for measure in measures]
        # What was not measured was not missed.
        if read.status is Status.SCORED:
            missed, targets, whole = _misses(findings, measures)
    numbers = as_json([STATUSES.index(read.status), values, missed])
    return Figures(values, missed, targets, whole, numbers)


def _misses(findings: Findings, measures: Sequence[Measure]) -> tuple[_Numbers, _Numbers, bool]:
    """Return what each measure counts as missed, and of how many; and whether each counts all."""
    missed, targets, whole = [], [], True
    counted: Findings | None = None
    for measure in measures:
        own = measure.counted(findings)
        if own is not counted:
            counted, found = own, _found(own)
            size, whole = len(own), whole and own is findings
        missed.append(size - (len(found) if measure.k is None else bisect_right(found, measure.k)))
        targets.append(size)
    return tuple(missed), tuple(targets), whole


def _found(findings: Findings) -> Sequence[int]:
    """Return the ranks at which targets are found in full, ascending."""
    if isinstance(findings, ColumnFindings):
        return findings.found_ranks
    return sorted(finding.rank for finding in findings if finding.rank is not None)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
