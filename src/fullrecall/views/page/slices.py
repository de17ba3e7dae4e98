"""The fields by which the samples of a page can be filtered, with the mean of each slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

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

Samples: TypeAlias = "Sequence[tuple[Rows, Sequence[Reading]]]"
"""Samples with what is read of them."""

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


def groupings_of(subject: Subject, samples: Samples, choice: int) -> tuple[list[Grouping], int]:
    """Return the fields that part the samples into two kinds at least, and all means' number.

    What is averaged is each score of the one report by a choice of measures, or what changed.
    Intervals hold for all slices of all scores together.
    """
    parts = _parts(samples)
    looked_at = len(subject.columns) * sum(map(len, parts.values()))
    # Bonferroni: among many slices one looks bad by chance.
    level = 1 - (1 - CONFIDENCE) / max(1, looked_at)
    values, codes = _values(subject, samples, choice), _codes(subject, samples)

    def slice_of(value: str, rows: list[int], column: Floats) -> Slice:
        groups = None if codes is None else codes[rows]
        totals = Totals.of(column[rows], due=np.zeros(len(rows), np.bool_), groups=groups)
        interval = totals.interval(level, least=0.0 if subject.comparison is None else -1.0)
        return Slice(value, totals.mean, interval, totals.samples, len(rows) - totals.samples)

    groupings = []
    for nth, (field, kinds) in enumerate(parts.items()):
        slices = [[slice_of(*kind, column) for column in values.T] for kind in kinds.items()]
        slices.sort(key=lambda each: (each[0].mean is None, each[0].mean or 0.0, each[0].value))
        shown_values = [of_value[0].value for of_value in slices[:MOST_VALUES]]
        groupings.append(Grouping(field, shown_values, _sheet(subject, choice, nth, field, slices)))
    return groupings, looked_at


def _parts(samples: Samples) -> dict[str, dict[str, list[int]]]:
    """Return the indices of the samples by their fields and the values of these."""
    parts: dict[str, dict[str, list[int]]] = {}
    for number, (rows, _) in enumerate(samples):
        sample = next(row for row in rows if row is not None).sample
        for field in fields((sample,)):
            for value in values_of(sample, field):
                parts.setdefault(field, {}).setdefault(value, []).append(number)
    most = min(_MOST_KINDS, len(samples) // 2)
    kept = [(field, kinds) for field, kinds in parts.items() if 1 < len(kinds) <= most]
    return dict(kept[:MOST_FIELDS])


def _values(subject: Subject, samples: Samples, choice: int) -> Floats:
    """Return the value of each sample by each score, or its change; NaN for none."""
    values = [
        [
            each.cells[0].values[choice] if subject.comparison is None else each.change(choice)
            for each in readings
        ]
        for _, readings in samples
    ]
    return np.array(values, np.float64).reshape(-1, len(subject.columns))


def _codes(subject: Subject, samples: Samples) -> Integers | None:
    """Return the number of each sample's group: that of the first report that knows one."""
    if subject.comparison is None:
        return subject.last.table.group_codes
    groups = [[row.sample.group for row in rows if row is not None] for rows, _ in samples]
    return codes_of([next((group for group in own if group is not None), None) for own in groups])


def _sheet(subject: Subject, choice: int, nth: int, field: str, slices: list[list[Slice]]) -> Sheet:
    is_change = subject.comparison is not None
    mean, span = (signed, signed_between) if is_change else (shown, between)
    kind = "not compared" if is_change else "without a score"
    lines = []
    for number, of_value in enumerate(slices[:MOST_VALUES]):
        value, _, _, samples, without = of_value[0]
        cells = [Cell(mean(s.mean), small=span(s.interval) if s.interval else "") for s in of_value]
        count = Cell(f"{samples:,}", small=f"{without:,} {kind}" if without else "")
        label = Cell(one_line(value, 80), link=f"#slice={nth}.{number}")
        lines.append(Line(label, [*cells, count]))
    heads = [*subject.labels(choice), "Compared" if is_change else "Scored"]
    more = len(slices) - MOST_VALUES
    note = f"The lowest means come first; {more:,} more are not shown."
    return Sheet(heads, [Section("", lines)], [note] if more > 0 else [], corner=field)
