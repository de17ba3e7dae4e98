"""The fields by which the samples of a page can be filtered, with the mean of each slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fullrecall.results.bounds import CONFIDENCE
from fullrecall.results.slices import Slice, fields, values_of
from fullrecall.results.totals import Totals
from fullrecall.table.groups import codes_of
from fullrecall.table.lists import Floats, Integers
from fullrecall.views.sheet import Cell, Line, Section, Sheet
from fullrecall.views.text import between, one_line, shown, signed, signed_between

if TYPE_CHECKING:
    from fullrecall.sample import Sample
    from fullrecall.views.page.choices import Rows, Subject
    from fullrecall.views.page.readings import Reading

MOST_FIELDS = 8
"""Fields that a page offers."""

MOST_VALUES = 12
"""Values of a field that a page offers: those with the lowest means."""

_MOST_KINDS = 200
"""A field with more values than these names samples rather than kinds of them."""


@dataclass(frozen=True)
class Grouping:
    """A field with its slices as a sheet, the lowest mean of the first score first."""

    field: str
    values: Sequence[str]
    sheet: Sheet

    def numbers(self, sample: Sample) -> list[int]:
        """Return the numbers of the slices that a sample is in, of those that are shown."""
        return [
            self.values.index(value)
            for value in values_of(sample, self.field)
            if value in self.values
        ]


class Slicer:
    """Parts the samples of a page by each field, as they come, by a choice of measures.

    What is averaged is each score of the one report, or what changed from the first to the last.
    """

    def __init__(self, subject: Subject, choice: int) -> None:
        self._subject = subject
        self._choice = choice
        self._is_change = len(subject.reports) > 1
        self._values: list[list[float | None]] = []
        self._groups: list[str | None] = []
        self._rows: dict[str, dict[str, list[int]]] = {}

    def add(self, rows: Rows, readings: Sequence[Reading]) -> None:
        """Add a sample by its values of each field."""
        sample = next(row for row in rows if row is not None).sample
        for field in fields((sample,)):
            for value in values_of(sample, field):
                kinds = self._rows.setdefault(field, {})
                kinds.setdefault(value, []).append(len(self._values))
        groups = (row.sample.group for row in rows if row is not None)
        self._groups.append(next((group for group in groups if group is not None), None))
        self._values.append([self._value(reading) for reading in readings])

    def _value(self, reading: Reading) -> float | None:
        """Return the value of one report, or the change from before to after; None for none."""
        if self._is_change:
            return reading.change(self._choice)
        return reading.cells[0].values[self._choice]

    def groupings(self) -> tuple[list[Grouping], int]:
        """Return the fields that part the samples into two kinds at least, and all means' number.

        Intervals hold for all slices of all scores together.
        """
        most = min(_MOST_KINDS, len(self._groups) // 2)
        parts = {field: rows for field, rows in self._rows.items() if 2 <= len(rows) <= most}  # noqa: PLR2004 - one kind parts nothing
        parts = dict(list(parts.items())[:MOST_FIELDS])
        looked_at = len(self._subject.columns) * sum(map(len, parts.values()))
        level = 1 - (1 - CONFIDENCE) / max(1, looked_at)
        values = np.array(self._values, np.float64).reshape(-1, len(self._subject.columns))
        table = self._subject.last.table
        codes = codes_of(self._groups) if self._is_change else table.group_codes
        groupings = []
        for nth, (field, rows_of) in enumerate(parts.items()):
            slices = [
                [self._slice(value, column, rows, codes, level) for column in values.T]
                for value, rows in rows_of.items()
            ]
            groupings.append(self._grouping(nth, field, slices))
        return groupings, looked_at

    def _slice(
        self,
        value: str,
        column: Floats,
        rows: list[int],
        codes: Integers | None,
        level: float,
    ) -> Slice:
        totals = Totals.of(
            column[rows],
            due=np.zeros(len(rows), np.bool_),
            groups=None if codes is None else codes[rows],
        )
        interval = totals.interval(level, least=-1.0 if self._is_change else 0.0)
        samples = totals.samples
        return Slice(value, totals.mean, interval, samples, len(rows) - samples)

    def _grouping(self, nth: int, field: str, slices: list[list[Slice]]) -> Grouping:
        slices.sort(key=lambda of: (of[0].mean is None, of[0].mean or 0.0, of[0].value))
        more = len(slices) - MOST_VALUES
        note = f"The lowest means come first; {more:,} more are not shown."
        heads = [*self._subject.labels(self._choice), "Compared" if self._is_change else "Scored"]
        kind = "not compared" if self._is_change else "without a score"
        lines = []
        for number, of_value in enumerate(slices[:MOST_VALUES]):
            value, _, _, samples, without = of_value[0]
            count = Cell(f"{samples:,}", small=f"{without:,} {kind}" if without else "")
            label = Cell(one_line(value, 80), link=f"#slice={nth}.{number}")
            lines.append(Line(label, [*map(self._cell, of_value), count]))
        sheet = Sheet(heads, [Section("", lines)], [note] if more > 0 else [], corner=field)
        return Grouping(field, [of_value[0].value for of_value in slices[:MOST_VALUES]], sheet)

    def _cell(self, part: Slice) -> Cell:
        mean, span = (signed, signed_between) if self._is_change else (shown, between)
        return Cell(mean(part.mean), small=span(part.interval) if part.interval else "")
