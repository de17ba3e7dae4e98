"""The values that a page reads of each sample, and their counts over all samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from fullrecall.measures import Measure
from fullrecall.page.choices import ComparedRows, Subject
from fullrecall.scorers.result import Result, Status
from fullrecall.stats.pairs import Gap


class Misses(NamedTuple):
    """How many of the `targets` were not found in full within a measure's k."""

    missed: int
    targets: int


class ResultCell(NamedTuple):
    """One score of one sample in one report, with its value and its misses for each choice.

    `result` is the scorer's result, `compared` its result over the compared targets only.
    """

    result: Result
    compared: Result
    values: Sequence[float | None]
    misses: Sequence[Misses]


class SampleReading(NamedTuple):
    """One sample: for each report, a cell of each score; no cell if the report lacks the sample.

    `gaps` give, for each score, the reason why it is not compared.
    """

    sides: Sequence[Sequence[ResultCell]]
    gaps: Sequence[Gap | None]


def reading_of(subject: Subject, number: int, rows: ComparedRows) -> SampleReading:
    """Return the cells and gaps of a sample, the `number`-th of the subject's rows."""
    sides: list[list[ResultCell]] = [[] for _ in rows]
    gaps: list[Gap | None] = []
    for column in subject.columns:
        results = [
            None if row is None else row.results[position]
            for row, position in zip(rows, column.positions, strict=True)
        ]
        gap: Gap | None = None
        compared: Sequence[Result | None] = results
        if subject.comparison is not None:
            pairs = subject.comparison[column.method.name].main.pairs
            if None in results:
                gap = "only_after" if results[0] is None else "only_before"
            else:
                gap, compared = pairs.gap(number), pairs.results(number)
        gaps.append(gap)
        for cells, result, own in zip(sides, results, compared, strict=True):
            if result is not None and own is not None:
                values = [own[measure] for measure in column.measures]
                misses = [_misses(own, measure) for measure in column.measures]
                cells.append(ResultCell(result, own, values, misses))
    return SampleReading(sides, gaps)


def _misses(result: Result, measure: Measure) -> Misses:
    """Return the misses of a result by a measure: 0 of 0 unless it was scored."""
    if result.status is not Status.SCORED:
        return Misses(0, 0)
    counted = measure.countable(result.paid(measure))
    missed = sum(not finding.found_at(measure.top) for finding in counted)
    return Misses(missed, len(counted))


class Turns(NamedTuple):
    """Counts of samples that miss targets, for one choice.

    Of the `scored` samples, `missing` miss a target in the last report. Of the `compared` samples,
    which the first report has too, `newly` miss one only in the last report, `mended` only in the
    first, `still` in both.
    """

    missing: int
    scored: int
    compared: int
    newly: int
    mended: int
    still: int


def turns_of(readings: Sequence[SampleReading], choice: int) -> Turns:
    """Return the counts of samples that miss targets, for a choice."""
    # Samples are counted here, since the page shows them without its script too.
    now = [_fails(each.sides[-1], choice) for each in readings]
    before = [_fails(each.sides[0], choice) if each.sides[1:] else None for each in readings]
    fails = Counter(zip(before, now, strict=True))
    turned = [fails[False, True], fails[True, False], fails[True, True]]
    compared = sum(turned) + fails[False, False]
    return Turns(now.count(True), len(now) - now.count(None), compared, *turned)


def misses_of(readings: Sequence[SampleReading], nth: int, choice: int) -> Misses:
    """Return the misses of the `nth` score in the first report, for a choice."""
    misses = [each.sides[0][nth].misses[choice] for each in readings if each.sides[0]]
    return Misses(sum(each.missed for each in misses), sum(each.targets for each in misses))


def unscored(readings: Sequence[SampleReading]) -> int:
    """Return the number of samples in the last report that every score left unscored."""
    return sum(
        bool(cells) and all(cell.compared.status is Status.UNSCORED for cell in cells)
        for *_, cells in (reading.sides for reading in readings)
    )


def _fails(cells: Sequence[ResultCell], choice: int) -> bool | None:
    """Return whether any score misses a target; None if no score has a value."""
    # An unmeasured target is not a missed one.
    if all(cell.values[choice] is None for cell in cells):
        return None
    return any(cell.misses[choice].missed for cell in cells)
