"""One pass over the samples of a page: what is counted of all, and which of too many it holds.

Up to 10,000 samples a page has all of them. Of more it has those that matter, and says so: the
figures are of all samples, the table is of some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heappush, heappushpop, nsmallest
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fullrecall.counts import counted
from fullrecall.result import Status
from fullrecall.results.pairs import change
from fullrecall.views.page.choices import Rows, Subject
from fullrecall.views.page.readings import Figures, Misses, Reading

if TYPE_CHECKING:
    from fullrecall.table.row import Row

MOST_ROWS = 10_000
"""Samples of which a page holds all."""

WORST = 1_000
"""Samples with the lowest scores, or that changed most, which a page of more holds."""

DRAWN = 1_000
"""Others that miss something, or changed, drawn at random."""

UNSCORED = 200
"""Samples that no score could measure, drawn at random."""

NAMED = 5
"""Samples that a list on the first screen names."""


class Turns(NamedTuple):
    """What became of samples by one choice.

    `missing` of the `scored` ones miss something in the last report. Of the `compared` ones, which
    the first has too, `newly` do and did not there, `mended` the other way round, `still` in both.
    """

    missing: int = 0
    scored: int = 0
    compared: int = 0
    newly: int = 0
    mended: int = 0
    still: int = 0


_Key: TypeAlias = tuple[float, ...]
_Kept: TypeAlias = "tuple[_Key, int, Rows]"


class _Least:
    """The samples with the least keys, of so many at most."""

    def __init__(self, most: int) -> None:
        self._most = most
        # Keys are turned round: the heap gives up its least, which is the greatest that is kept.
        self._heap: list[_Kept] = []

    def add(self, key: _Key, position: int, rows: Rows) -> None:
        """Add a sample; of equal keys the first is kept."""
        entry = tuple(-part for part in key), -position, rows
        if len(self._heap) < self._most:
            heappush(self._heap, entry)
        elif entry[:2] > self._heap[0][:2]:
            heappushpop(self._heap, entry)

    def by_position(self) -> dict[int, Rows]:
        """Return the samples, the least key first."""
        ordered = sorted(self._heap, key=lambda entry: entry[:2], reverse=True)
        return {-position: rows for _, position, rows in ordered}


class Census:
    """Counts the samples of a page one by one; `choice` is what it opens with."""

    def __init__(self, subject: Subject, choice: int) -> None:
        self._subject = subject
        self._choice = choice
        self._last = len(subject.reports) - 1
        self._figures = [[Counter[Figures]() for _ in subject.columns] for _ in subject.reports]
        self._ends: Counter[tuple[tuple[Figures, ...], tuple[Figures, ...]]] = Counter()
        self.unscored = self.samples = 0
        self._worst, self._others = _Least(WORST), _Least(WORST + DRAWN)
        self._gaps = _Least(UNSCORED)
        self._random = Random(0)  # noqa: S311 - which samples a page shows is no secret
        self.candidates = 0

    def add(self, position: int, rows: Rows, readings: Sequence[Reading]) -> None:
        """Count a sample."""
        self.samples += 1
        for reading in readings:
            for side, cell in reading.cells.items():
                self._figures[side][reading.nth][cell.figures] += 1
        first, last = (
            tuple([each.cells[side].figures for each in readings if side in each.cells])
            for side in (0, self._last)
        )
        self._ends[first if self._last else (), last] += 1
        if rows[self._last] is not None and all(
            each.cells[self._last].read.status is Status.UNSCORED for each in readings
        ):
            self.unscored += 1
            self._gaps.add((self._random.random(),), position, rows)
        if self._subject.count > MOST_ROWS:
            key = order(readings, self._choice, self._last)
            if key is not None:
                self.candidates += 1
                self._worst.add(key, position, rows)
                self._others.add((self._random.random(),), position, rows)

    def misses(self, side: int = 0) -> list[list[Misses]]:
        """Return what each score missed in a report, by each choice."""
        return [
            [
                Misses(
                    sum(figures.misses[nth].missed * n for figures, n in counts.items()),
                    sum(figures.misses[nth].targets * n for figures, n in counts.items()),
                )
                for nth in range(len(self._subject.choices))
            ]
            for counts in self._figures[side]
        ]

    def turns(self) -> list[Turns]:
        """Return what became of the samples by each choice."""
        return [self._turns(nth) for nth in range(len(self._subject.choices))]

    def _turns(self, choice: int) -> Turns:
        ends: Counter[tuple[bool | None, bool | None]] = Counter()
        for (first, last), times in self._ends.items():
            ends[_fails(first, choice), _fails(last, choice)] += times
        now: Counter[bool | None] = Counter()
        for (_, after), times in ends.items():
            now[after] += times
        turned = [ends[False, True], ends[True, False], ends[True, True]]
        compared = sum(turned) + ends[False, False]
        return Turns(now[True], now[True] + now[False], compared, *turned)

    def chosen(self) -> tuple[list[Rows], str]:
        """Return the samples that a page of too many holds, in their order, and what they are."""
        worst, gaps = self._worst.by_position(), self._gaps.by_position()
        drawn: dict[int, Rows] = {}
        for position, rows in self._others.by_position().items():
            if position not in worst and len(drawn) < DRAWN:
                drawn[position] = rows
        every = worst | drawn | gaps
        turned = "that changed most of the" if self._last else "lowest of the"
        all_of = f"{self.candidates:,} that {'changed' if self._last else 'miss something'}"
        parts = [f"the {len(worst):,} {turned} {all_of}"] if worst else []
        parts += [f"{len(drawn):,} more of these, drawn at random"] if drawn else []
        if gaps:
            parts.append(f"{len(gaps):,} of the {self.unscored:,} that no score could measure")
        nothing = "none changed" if self._last else "none misses anything"
        sentence = (
            f"The table below holds {counted(len(every), 'sample')} of {self.samples:,}: "
            f"{', '.join(parts) or nothing}. What is filtered, searched and sorted is these; "
            "means, intervals, slices and counts of what fails are of all."
        )
        return [every[position] for position in sorted(every)], sentence


def order(readings: Sequence[Reading], choice: int, last: int) -> _Key | None:
    """Return what samples are sorted by, the least first: the lowest score, or the largest change.

    None where nothing was missed in the one report, or nothing changed between two.
    """
    if last:
        moved = [change for reading in readings if (change := moved_by(reading, choice, last))]
        return (-max(map(abs, moved)),) if moved else None
    worst = worst_of(readings, choice, 0)
    return worst if worst is not None and worst[1] else None


def worst_of(readings: Sequence[Reading], choice: int, side: int) -> tuple[float, int] | None:
    """Return the lowest value of a sample, and how much it misses below 0; None if unscored."""
    least, most = 2.0, 0
    for reading in readings:
        cell = reading.cells.get(side)
        if cell is not None:
            value, missed = cell.figures.values[choice], cell.figures.misses[choice].missed
            least, most = least if value is None else min(least, value), max(most, missed)
    return (least, -most) if least <= 1 else None


def moved_by(reading: Reading, choice: int, last: int) -> float | None:
    """Return the change of a score from the first report to the last; None if not compared."""
    if reading.gap is not None:
        return None
    before, after = (reading.cells[side].figures.values[choice] for side in (0, last))
    return None if before is None or after is None else change(before, after)


def _fails(figures: Sequence[Figures], choice: int) -> bool | None:
    """Return whether any score misses something; None where none has a value."""
    if all(figure.values[choice] is None for figure in figures):
        return None
    return any(figure.misses[choice].missed for figure in figures)


class Worst:
    """The first samples of a list on the first screen: label, question, and place on the page."""

    def __init__(self) -> None:
        self._kept: list[tuple[_Key, int, Row]] = []

    def add(self, key: _Key, position: int, row: Row) -> None:
        """Add a sample."""
        self._kept.append((key, position, row))

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        for _, position, row in nsmallest(NAMED, self._kept, key=lambda entry: entry[:2]):
            yield row.label, row.sample.user_input or "", position
