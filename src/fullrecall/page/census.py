"""What is counted of all samples of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.page.readings import Misses
from fullrecall.scorers.result import Status

if TYPE_CHECKING:
    from fullrecall.page.readings import ResultCell, SampleReading


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
