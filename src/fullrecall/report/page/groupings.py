"""The fields by which the samples of a page can be filtered, with the mean of each slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fullrecall.measures import Measure
from fullrecall.report.bounds import CONFIDENCE
from fullrecall.report.page.columns import Column
from fullrecall.report.row import Row
from fullrecall.report.slices import Slice, fields, lowest_first, parted, slice_of

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
    groups: Sequence[str | None],
    columns: Sequence[Column],
    measures: Sequence[Measure],
) -> Groupings:
    """Return the fields that part the rows into two kinds at least, with the measure of each score.

    Intervals hold for all slices of all scores together.
    """
    parts: dict[str, dict[str, list[tuple[Row, str | None]]]] = {}
    for field in fields(row.sample for row in rows):
        members, _ = parted(rows, groups, field)
        if 2 <= len(members) <= min(_MOST_KINDS, len(rows) // 2) and len(parts) < MOST_FIELDS:  # noqa: PLR2004 - one kind parts nothing
            parts[field] = members
    looked_at = len(columns) * sum(map(len, parts.values()))
    level = 1 - (1 - CONFIDENCE) / max(1, looked_at)
    places = [(column.positions[-1], m) for column, m in zip(columns, measures, strict=True)]
    found = [_grouping(field, members, places, level) for field, members in parts.items()]
    numbers: dict[int, list[list[int]]] = {}
    for nth, one in enumerate(found):
        for line in one.lines:
            for row, _ in parts[one.field][line.value]:
                numbers.setdefault(id(row), []).append([nth, line.number])
    return Groupings(found, looked_at, [numbers.get(id(row), []) for row in rows])


def _grouping(
    field: str,
    members: dict[str, list[tuple[Row, str | None]]],
    places: Sequence[tuple[int, Measure]],
    level: float,
) -> Grouping:
    place, measure = places[0]
    means = sorted(
        (slice_of(value, of, place, measure, None) for value, of in members.items()),
        key=lowest_first,
    )
    lines = [
        SliceLine(
            one.value, number, [slice_of(one.value, members[one.value], *p, level) for p in places]
        )
        for number, one in enumerate(means[:MOST_VALUES])
    ]
    return Grouping(field, lines, len(means) - len(lines))
