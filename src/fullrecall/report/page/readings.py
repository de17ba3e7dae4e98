"""What the table of a page shows of a sample: each score by each choice, on each side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from fullrecall.findings import ColumnFindings, Findings, restricted
from fullrecall.measures import Measure
from fullrecall.report.page.choices import Choice
from fullrecall.report.page.columns import Column
from fullrecall.report.pairs import Gap, side_by_side
from fullrecall.report.row import Row
from fullrecall.result import Result, Status

Rows: TypeAlias = tuple[Row | None, ...]
"""One sample on each side of a page, None where that side's report does not have it."""


class Misses(NamedTuple):
    """How many of the `targets` that a measure counts were not found in full within its k."""

    missed: int
    targets: int


class Cell(NamedTuple):
    """One score of one sample on one side: its value, misses and targets by each choice.

    `result` is what the scorer found; `read` the same over the targets that are compared. `whole`
    says that every measure counts all of them.
    """

    result: Result
    read: Result
    values: list[float | None]
    missed: list[int]
    targets: list[int]
    whole: bool


class Reading(NamedTuple):
    """One score of one sample on the sides that have it; `gap` says why it is not compared."""

    nth: int
    measures: Sequence[Measure]
    cells: Mapping[int, Cell]
    gap: Gap | None


def reading(rows: Rows, column: Column, nth: int, choices: Sequence[Choice]) -> Reading:
    """Return what the page reads of the `nth` score of a sample."""
    results = [
        None if row is None else row.results[place]
        for row, place in zip(rows, column.positions, strict=True)
    ]
    gap, read = _compared(results)
    measures = [choice.measures[nth] for choice in choices]
    cells = {
        side: _cell(result, own, measures)
        for side, (result, own) in enumerate(zip(results, read, strict=True))
        if result is not None and own is not None
    }
    return Reading(nth, measures, cells, gap)


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


def _cell(result: Result, read: Result, measures: Sequence[Measure]) -> Cell:
    nothing = [0] * len(measures)
    if read.status is Status.UNSCORED:
        return Cell(result, read, [None] * len(measures), nothing, nothing, whole=False)
    findings, retrieved = read.ranked, read.retrieved
    values = [_short(measure.of(findings, retrieved)) for measure in measures]
    # What was not measured was not missed.
    if read.status is not Status.SCORED:
        return Cell(result, read, values, nothing, nothing, whole=False)
    missed, targets, whole = [], [], True
    counted: Findings | None = None
    for measure in measures:
        own = measure.counted(findings)
        if own is not counted:
            counted, found = own, _found(own)
            size, whole = len(own), whole and own is findings
        missed.append(size - (len(found) if measure.k is None else bisect_right(found, measure.k)))
        targets.append(size)
    return Cell(result, read, values, missed, targets, whole)


def _found(findings: Findings) -> Sequence[int]:
    """Return the ranks at which targets are found in full, ascending."""
    if isinstance(findings, ColumnFindings):
        return findings.found_ranks
    return sorted(finding.rank for finding in findings if finding.rank is not None)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
