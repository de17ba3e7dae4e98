"""What a page reads of each sample: each score by each choice, in each report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.scorers.result import Result, Status
from fullrecall.stats.pairs import Gap, side_by_side

if TYPE_CHECKING:
    from fullrecall.measures import Measure
    from fullrecall.page.choices import ComparedRows, Subject


class Misses(NamedTuple):
    """How many of the `targets` that a measure counts were not found in full within its k."""

    missed: int
    targets: int


class ResultCell(NamedTuple):
    """One score of one sample in one report, with its value and its misses by each choice.

    `result` is what the scorer found, `compared` the same over the targets that are compared.
    """

    result: Result
    compared: Result
    values: Sequence[float | None]
    misses: Sequence[Misses]


class SampleReading(NamedTuple):
    """One sample: a cell of each score on the side of each report, none where a report lacks it.

    `gaps` say of each score why it is not compared.
    """

    sides: Sequence[Sequence[ResultCell]]
    gaps: Sequence[Gap | None]


def reading_of(subject: Subject, rows: ComparedRows) -> SampleReading:
    """Return what the page reads of a sample."""
    sides: list[list[ResultCell]] = [[] for _ in rows]
    gaps: list[Gap | None] = []
    for column in subject.columns:
        results = [
            None if row is None else row.results[position]
            for row, position in zip(rows, column.positions, strict=True)
        ]
        gap, compared = None, results
        if len(results) > 1:
            # Over the targets that both reports have, as `compare` does, or the page would differ.
            gap, *compared = side_by_side(*results)
        gaps.append(gap)
        for cells, result, own in zip(sides, results, compared, strict=True):
            if result is not None and own is not None:
                values = [own[measure] for measure in column.measures]
                misses = [_misses(own, measure) for measure in column.measures]
                cells.append(ResultCell(result, own, values, misses))
    return SampleReading(sides, gaps)


def _misses(result: Result, measure: Measure) -> Misses:
    """Return what a result missed by a measure: nothing where it was not measured."""
    if result.status is not Status.SCORED:
        return Misses(0, 0)
    counted = measure.countable(result.paid(measure))
    missed = sum(not finding.found_at(measure.top) for finding in counted)
    return Misses(missed, len(counted))
