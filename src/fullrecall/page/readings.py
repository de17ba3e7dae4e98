"""The values that a page reads of each sample, and their counts over all samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from fullrecall.measures import Measure
from fullrecall.page.choices import ComparedRows, Subject
from fullrecall.scorers.result import Result, Status
from fullrecall.stats.pairs import Gap, side_by_side


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


class Turns(NamedTuple):
    """What became of samples by one choice.

    `missing` of the `scored` ones miss something in the last report. Of the `compared` ones, which
    the first has too, `newly` do and did not there, `mended` the other way round, `still` in both.
    """

    missing: int
    scored: int
    compared: int
    newly: int
    mended: int
    still: int


def turns_of(readings: Sequence[SampleReading], choice: int) -> Turns:
    """Return what became of samples by a choice."""
    # Counted here, and not by the script alone: the page says it without one, too.
    now = [_fails(each.sides[-1], choice) for each in readings]
    before = [_fails(each.sides[0], choice) if each.sides[1:] else None for each in readings]
    fails = Counter(zip(before, now, strict=True))
    turned = [fails[False, True], fails[True, False], fails[True, True]]
    compared = sum(turned) + fails[False, False]
    return Turns(now.count(True), len(now) - now.count(None), compared, *turned)


def misses_of(readings: Sequence[SampleReading], nth: int, choice: int) -> Misses:
    """Return what the `nth` score missed in the first report by a choice."""
    misses = [each.sides[0][nth].misses[choice] for each in readings if each.sides[0]]
    return Misses(sum(each.missed for each in misses), sum(each.targets for each in misses))


def unscored(readings: Sequence[SampleReading]) -> int:
    """Return how many samples no score could measure in the last report."""
    return sum(
        bool(cells) and all(cell.compared.status is Status.UNSCORED for cell in cells)
        for *_, cells in (reading.sides for reading in readings)
    )


def _fails(cells: Sequence[ResultCell], choice: int) -> bool | None:
    """Return whether any score misses something; None where none has a value."""
    # What was not measured was not missed.
    if all(cell.values[choice] is None for cell in cells):
        return None
    return any(cell.misses[choice].missed for cell in cells)
