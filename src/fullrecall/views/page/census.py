"""One pass over the samples of a page: what is counted of all, and which of too many it holds.

Up to 10,000 samples a page has all of them. Of more it has those that matter, and says so: the
figures are of all samples, the table is of some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fullrecall.result import Status
from fullrecall.views.page.readings import Misses

if TYPE_CHECKING:
    from fullrecall.views.page.choices import Rows, Subject
    from fullrecall.views.page.readings import Cell, Reading

MOST_ROWS = 10_000
"""Samples that a page holds."""

Kept: TypeAlias = "tuple[tuple[float, ...], int, Rows, Sequence[Reading]]"
"""A sample with what it is kept by, the least first, and its position."""


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


class Census:
    """Counts the samples of a page one by one; `choice` is what it opens with."""

    def __init__(self, subject: Subject, choice: int) -> None:
        choices, columns = len(subject.choices), len(subject.columns)
        self._choice = choice
        self._last = len(subject.reports) - 1
        self._fails = [Counter[tuple[bool | None, bool | None]]() for _ in range(choices)]
        self._kept: list[Kept] = []
        self.misses = [[Misses(0, 0)] * choices for _ in range(columns)]
        """What each score missed in the first report, by each choice."""
        self.unscored = self.samples = 0

    def add(self, rows: Rows, readings: Sequence[Reading]) -> None:
        """Count a sample."""
        first, last = (
            [reading.cells[side] for reading in readings if side in reading.cells]
            for side in (0, self._last)
        )
        for nth, cell in enumerate(first):
            self.misses[nth] = [
                Misses(before.missed + more.missed, before.targets + more.targets)
                for before, more in zip(self.misses[nth], cell.misses, strict=True)
            ]
        for choice, fails in enumerate(self._fails):
            before = _fails(first, choice) if self._last else None
            fails[before, _fails(last, choice)] += 1
        self.unscored += bool(last) and all(
            cell.compared.status is Status.UNSCORED for cell in last
        )
        self._kept.append((self._key(readings, last), self.samples, rows, readings))
        if len(self._kept) > 2 * MOST_ROWS:
            self._kept = self._least()
        self.samples += 1

    def _key(self, readings: Sequence[Reading], last: Sequence[Cell]) -> tuple[float, ...]:
        """Return the lowest value and the misses of a sample; of two reports, its change."""
        if self._last:
            changes = [reading.change(self._choice) for reading in readings]
            return (min((-abs(each) for each in changes if each is not None), default=1.0),)
        values = [cell.values[self._choice] for cell in last]
        missed = max((cell.misses[self._choice].missed for cell in last), default=0)
        return min((value for value in values if value is not None), default=2.0), -missed

    def _least(self) -> list[Kept]:
        return nsmallest(MOST_ROWS, self._kept, key=lambda kept: kept[:2])

    def turns(self) -> list[Turns]:
        """Return what became of the samples by each choice."""
        return [_turns(fails) for fails in self._fails]

    def chosen(self) -> tuple[list[Kept], str]:
        """Return the samples that the page holds, in their order, and what they are of too many."""
        kept = sorted(self._least(), key=lambda each: each[1])
        if len(kept) == self.samples:
            return kept, ""
        which = "those that changed most" if self._last else "those with the lowest scores"
        return kept, (
            f"The table below holds {len(kept):,} of {self.samples:,} samples: {which}. What is "
            "filtered, searched and sorted is these; means, intervals, slices and counts of what "
            "fails are of all."
        )


def _turns(fails: Counter[tuple[bool | None, bool | None]]) -> Turns:
    now: Counter[bool | None] = Counter()
    for (_, after), times in fails.items():
        now[after] += times
    turned = [fails[False, True], fails[True, False], fails[True, True]]
    compared = sum(turned) + fails[False, False]
    return Turns(now[True], now[True] + now[False], compared, *turned)


def _fails(cells: Sequence[Cell], choice: int) -> bool | None:
    """Return whether any score misses something; None where none has a value."""
    if all(cell.values[choice] is None for cell in cells):
        return None
    return any(cell.misses[choice].missed for cell in cells)
