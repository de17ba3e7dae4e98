"""The fields by which the samples of a page can be filtered, with the mean of each slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from fullrecall.results.bounds import CONFIDENCE
from fullrecall.results.slices import fields, values_of
from fullrecall.results.totals import Totals
from fullrecall.table.groups import codes_of
from fullrecall.views.page.census import moved_by
from fullrecall.views.page.choices import Subject
from fullrecall.views.sheet import Cell, Line, Section, Sheet
from fullrecall.views.text import between, one_line, shown, signed, signed_between

if TYPE_CHECKING:
    from fullrecall.table.row import Row
    from fullrecall.views.page.readings import Reading

MOST_FIELDS = 8
"""Fields that a page offers."""

MOST_VALUES = 12
"""Values of a field that a page offers: those with the lowest means."""

_MOST_KINDS = 200
"""A field with more values than these names samples rather than kinds of them."""

_Values: TypeAlias = "Counter[tuple[float | None, str | None]]"
"""How often each value stands in a group; None where there is no value."""


class SliceLine(NamedTuple):
    """One slice: its value, and the number that the table is filtered by."""

    value: str
    number: int


@dataclass(frozen=True)
class Grouping:
    """A field with its slices as a sheet, the lowest mean of the first score first."""

    field: str
    lines: Sequence[SliceLine]
    sheet: Sheet

    def numbers(self, row: Row) -> list[int]:
        """Return the numbers of the slices that a row is in, of those that are shown."""
        numbers = {line.value: line.number for line in self.lines}
        return [numbers[value] for value in values_of(row.sample, self.field) if value in numbers]


class Slicer:
    """Parts the samples of a page by each field, as they come, by a choice of measures.

    What is averaged is each score of the one report, or what changed from the first to the last.
    """

    def __init__(self, subject: Subject, choice: int) -> None:
        self._subject = subject
        self._choice = choice
        self._last = len(subject.reports) - 1
        self._parts: dict[str, dict[str, list[_Values]]] = {}
        self._too_many: set[str] = set()
        self._samples = 0

    def add(self, row: Row, group: str | None, readings: Sequence[Reading]) -> None:
        """Add a sample by its values of each field."""
        self._samples += 1
        sliced = [field for field in fields((row.sample,)) if field not in self._too_many]
        if sliced:
            values = [self._value(reading) for reading in readings]
            for field in sliced:
                self._count(field, row, group, values)

    def groupings(self) -> tuple[list[Grouping], int]:
        """Return the fields that part the samples into two kinds at least, and all means' number.

        Intervals hold for all slices of all scores together.
        """
        most = min(_MOST_KINDS, self._samples // 2)
        parts = {field: of for field, of in self._parts.items() if 2 <= len(of) <= most}  # noqa: PLR2004 - one kind parts nothing
        parts = dict(list(parts.items())[:MOST_FIELDS])
        looked_at = len(self._subject.columns) * sum(map(len, parts.values()))
        level = 1 - (1 - CONFIDENCE) / max(1, looked_at)
        every = enumerate(parts.items())
        return [self._grouping(nth, field, of, level) for nth, (field, of) in every], looked_at

    def _value(self, reading: Reading) -> float | None:
        if self._last:
            return moved_by(reading, self._choice, self._last)
        cell = reading.cells.get(0)
        return None if cell is None else cell.figures.values[self._choice]

    def _count(
        self, field: str, row: Row, group: str | None, values: Sequence[float | None]
    ) -> None:
        parts = self._parts.setdefault(field, {})
        for kind in values_of(row.sample, field):
            counts = parts.setdefault(kind, [Counter() for _ in values])
            for count, value in zip(counts, values, strict=True):
                count[value, group] += 1
        if len(parts) > _MOST_KINDS:
            self._too_many.add(field)
            del self._parts[field]

    def _grouping(
        self, nth: int, field: str, parts: Mapping[str, list[_Values]], level: float
    ) -> Grouping:
        means = {value: _mean(counts[0]) for value, counts in parts.items()}
        order = sorted(means, key=lambda value: (means[value] is None, means[value] or 0.0, value))
        lines = [SliceLine(value, number) for number, value in enumerate(order[:MOST_VALUES])]
        rows = [self._line(nth, line, parts[line.value], level) for line in lines]
        more = len(order) - len(lines)
        note = f"The lowest means come first; {more:,} more are not shown."
        heads = [*self._subject.labels(self._choice), "Compared" if self._last else "Scored"]
        sheet = Sheet(heads, [Section("", rows)], [note] if more else [], corner=field)
        return Grouping(field, lines, sheet)

    def _line(self, nth: int, line: SliceLine, counts: Sequence[_Values], level: float) -> Line:
        cells = [self._cell(count, level) for count in counts]
        without = _without(counts[0])
        kind = "not compared" if self._last else "without a score"
        scored = Cell(
            f"{counts[0].total() - without:,}", small=f"{without:,} {kind}" if without else ""
        )
        label = Cell(one_line(line.value, 80), link=f"#slice={nth}.{line.number}")
        return Line(label, [*cells, scored])

    def _cell(self, counts: _Values, level: float) -> Cell:
        least = -1.0 if self._last else 0.0
        totals = _totals(counts)
        mean, interval = totals.mean, totals.interval(level, least=least)
        if self._last:
            return Cell(signed(mean), small=signed_between(interval) if interval else "")
        return Cell(shown(mean), small=between(interval) if interval else "")


def _without(counts: _Values) -> int:
    return sum(times for (value, _), times in counts.items() if value is None)


def _totals(counts: _Values) -> Totals:
    present = [
        (value, group, times) for (value, group), times in counts.items() if value is not None
    ]
    values, groups, times = zip(*present, strict=True) if present else ((), (), ())
    frequencies = np.array(times, np.int64)
    codes = codes_of(groups)
    return Totals.of(
        np.repeat(np.array(values, np.float64), frequencies),
        due=np.zeros(int(frequencies.sum()), np.bool_),
        groups=None if codes is None else np.repeat(codes, frequencies),
    )


def _mean(counts: _Values) -> float | None:
    return _totals(counts).mean
