"""What a page reads of each sample: each score by each choice, in each report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fullrecall.result import Result, Status
from fullrecall.results.pairs import Gap, change, side_by_side

if TYPE_CHECKING:
    from fullrecall.findings import Target
    from fullrecall.measures import Measure
    from fullrecall.views.page.choices import Column, Rows, Subject


class Misses(NamedTuple):
    """How many of the `targets` that a measure counts were not found in full within its k."""

    missed: int
    targets: int


_Counted: TypeAlias = tuple[Sequence["float | None"], Sequence[Misses]]
"""The values and the misses of a result, by each choice."""


class Cell(NamedTuple):
    """One score of one sample in one report, with its value and its misses by each choice.

    `result` is what the scorer found, `compared` the same over the targets that are compared.
    """

    result: Result
    compared: Result
    values: Sequence[float | None]
    misses: Sequence[Misses]


class Reading(NamedTuple):
    """One score of one sample in the reports that have it; `gap` says why it is not compared."""

    measures: Sequence[Measure]
    cells: Mapping[int, Cell]
    gap: Gap | None

    def change(self, choice: int, last: int) -> float | None:
        """Return the change from the first report to the last; None where it is not compared."""
        if self.gap is not None:
            return None
        before, after = (self.cells[side].values[choice] for side in (0, last))
        return None if before is None or after is None else change(before, after)

    def value(self, choice: int) -> float | None:
        """Return the value in the first report; None where it has none."""
        return self.cells[0].values[choice] if 0 in self.cells else None


class Reader:
    """Reads the scores of samples by every choice."""

    def __init__(self, subject: Subject) -> None:
        self._columns = [
            (column, [choice.measures[nth] for choice in subject.choices])
            for nth, column in enumerate(subject.columns)
        ]
        # Of ten thousand samples, most have found as much at the same ranks as another one.
        self._counted: dict[tuple[Any, ...], _Counted] = {}

    def read(self, rows: Rows) -> list[Reading]:
        """Return what the page reads of a sample."""
        return [self._reading(rows, column, measures) for column, measures in self._columns]

    def _reading(self, rows: Rows, column: Column, measures: Sequence[Measure]) -> Reading:
        results = [
            None if row is None else row.results[position]
            for row, position in zip(rows, column.positions, strict=True)
        ]
        gap, compared = None, results
        if len(results) > 1:
            gap, first, last = side_by_side(results[0], results[-1])
            if gap is None and first is not None:
                targets = set(first.targets)
                compared = [first, *(_over(each, targets) for each in results[1:-1]), last]
        cells = {
            side: Cell(result, own, *self._count(own, measures))
            for side, (result, own) in enumerate(zip(results, compared, strict=True))
            if result is not None and own is not None
        }
        return Reading(measures, cells, gap)

    def _count(self, result: Result, measures: Sequence[Measure]) -> _Counted:
        """Return the values and the misses of a result by each measure."""
        if not all(map(_counts_findings, measures)):
            return _counted(result, measures)
        findings = tuple([(f.steps, f.ranks, f.target[1:]) for f in result.ranked])
        key = result.status, result.retrieved, result.ranks, findings
        if key not in self._counted:
            self._counted[key] = _counted(result, measures)
        return self._counted[key]


def _counts_findings(measure: Measure) -> bool:
    """Return whether results in which the same was found have the same value.

    A user's own measure may look at anything.
    """
    return type(measure).__module__.startswith("fullrecall.") and not measure.reads_sample


def _over(result: Result | None, targets: set[Target]) -> Result | None:
    """Return a result over the targets that two other ones have."""
    if result is None:
        return None
    return replace(result, findings=tuple(f for f in result.findings if f.target in targets))


def _counted(result: Result, measures: Sequence[Measure]) -> _Counted:
    values = [result[measure] for measure in measures]
    misses = [Misses(0, 0)] * len(measures)  # what was not measured was not missed
    if result.status is Status.SCORED:
        misses = [_misses(result, measure) for measure in measures]
    return values, misses


def _misses(result: Result, measure: Measure) -> Misses:
    counted = measure.countable(result.paid(measure))
    missed = sum(not finding.found_at(measure.top) for finding in counted)
    return Misses(missed, len(counted))
