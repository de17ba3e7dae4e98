"""The fields by which the samples of a page can be filtered, with the mean of each slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from fullrecall.measures import Measure
from fullrecall.report.bounds import CONFIDENCE
from fullrecall.report.page.columns import Column
from fullrecall.report.row import Row
from fullrecall.report.slices import (
    LOOKED_AT,
    Parted,
    Slice,
    fields,
    lowest_first,
    parted_by,
    values_of,
)

MOST_FIELDS = 8
"""Fields that a page offers."""

MOST_VALUES = 12
"""Values of a field that a page offers: those with the lowest means."""

_MOST_KINDS = 200
"""A field with more values than these names samples rather than kinds of them."""


class SliceLine(NamedTuple):
    """One slice: its number among the values of its field, and its figures by each score."""

    value: str
    number: int
    slices: Sequence[Slice]


class Grouping(NamedTuple):
    """A field with its slices, the lowest mean of the first score first; `more` are not shown."""

    field: str
    lines: Sequence[SliceLine]
    more: int


@dataclass(frozen=True)
class Groupings:
    """The fields of a page; `looked_at` counts the means that their intervals allow for."""

    fields: Sequence[Grouping] = ()
    looked_at: int = 0
    _numbers: Sequence[list[list[int]]] = ()

    @property
    def named(self) -> list[dict[str, Any]]:
        """The names of fields and values, as the script reads them."""
        return [
            {"name": one.field, "values": [line.value for line in one.lines]} for one in self.fields
        ]

    def of(self, position: int) -> list[list[int]]:
        """Return the numbers of field and value of the sample at a position."""
        return self._numbers[position] if self._numbers else []


def groupings(
    rows: Sequence[Row],
    shown: Sequence[Row],
    columns: Sequence[Column],
    measures: Sequence[Measure],
) -> Groupings:
    """Return the fields that part the rows into two kinds at least, with the measure of each score.

    Intervals hold for all slices of all scores together. `shown` are the rows of the page, which
    can be filtered by what is shown of a field.
    """
    places = [(column.positions[-1], m) for column, m in zip(columns, measures, strict=True)]
    parts: dict[str, Parted] = {}
    for field in fields(row.sample for row in islice(rows, LOOKED_AT)):
        if len(parts) == MOST_FIELDS:
            break
        parted = parted_by(rows, field, places, min(_MOST_KINDS, len(rows) // 2))
        if len(parted.values) >= 2:  # noqa: PLR2004 - one kind parts nothing
            parts[field] = parted
    looked_at = len(columns) * sum(len(parted.values) for parted in parts.values())
    level = 1 - (1 - CONFIDENCE) / max(1, looked_at)
    found = [_grouping(field, parted, len(places), level) for field, parted in parts.items()]
    return Groupings(found, looked_at, [_numbers(row, found) for row in shown])


def _numbers(row: Row, found: Sequence[Grouping]) -> list[list[int]]:
    """Return the numbers of field and value of a row, where they are shown."""
    return [
        [nth, line.number]
        for nth, one in enumerate(found)
        for value in values_of(row, one.field)
        for line in one.lines
        if line.value == value
    ]


def _grouping(field: str, parted: Parted, scores: int, level: float) -> Grouping:
    means = sorted((parted.slice_of(value, 0, None) for value in parted.values), key=lowest_first)
    lines = [
        SliceLine(one.value, number, [parted.slice_of(one.value, n, level) for n in range(scores)])
        for number, one in enumerate(means[:MOST_VALUES])
    ]
    return Grouping(field, lines, len(means) - len(lines))
