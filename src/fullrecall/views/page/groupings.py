"""The fields by which the samples of a page can be filtered, with the mean of each slice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from fullrecall.measures import Measure
from fullrecall.report.bounds import CONFIDENCE, Interval, lower_bound, upper_bound
from fullrecall.report.match import group_of
from fullrecall.views.page.columns import Column
from fullrecall.views.page.readings import Rows
from fullrecall.report.pairs import change, side_by_side
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
from fullrecall.report.totals import totals_of

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


Figure: TypeAlias = Callable[[str, str, int, float | None], Slice]
"""Makes the slice of a field by one of its values, by the nth score, at a confidence."""


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
        parted = parted_by(rows, field, places, _most_kinds(rows))
        if len(parted.values) >= 2:  # noqa: PLR2004 - one kind parts nothing
            parts[field] = parted
    kinds = {field: list(parted.values) for field, parted in parts.items()}
    return _groupings(kinds, len(places), lambda field, *of: parts[field].slice_of(*of), shown)


def change_groupings(rows: Sequence[Rows], shown: Sequence[tuple[Column, Measure]]) -> Groupings:
    """Return the same for what changed between the last two sides, by a measure of each score.

    A slice's mean is then that of the differences, in [-1, 1].
    """
    ones = [next(row for row in of if row is not None) for of in rows]
    members: dict[str, dict[str, list[int]]] = {}
    for field in fields(row.sample for row in ones):
        places: dict[str, list[int]] = {}
        for place, row in enumerate(ones):
            for value in values_of(row, field):
                places.setdefault(value, []).append(place)
        if 2 <= len(places) <= _most_kinds(ones) and len(members) < MOST_FIELDS:  # noqa: PLR2004 - one kind parts nothing
            members[field] = places
    if not members:
        return Groupings()
    groups = [_group(of) for of in rows]
    changes = [[_change(of, *each) for of in rows] for each in shown]

    def figure(field: str, value: str, nth: int, confidence: float | None) -> Slice:
        places, moved = members[field][value], changes[nth]
        known = [(moved[place], groups[place]) for place in places if moved[place] is not None]
        totals = totals_of(known)
        bounds = None
        if known and confidence is not None:
            low, high = totals.counts(least=-1.0)
            alpha = (1 - confidence) / 2
            least, most = lower_bound(low, alpha, least=-1.0), upper_bound(high, alpha)
            bounds = Interval(least, most, confidence)
        return Slice(value, totals.mean, bounds, len(known), len(places) - len(known))

    kinds = {field: list(places) for field, places in members.items()}
    return _groupings(kinds, len(shown), figure, ones)


def _group(of: Rows) -> str | None:
    before, after = of[-2:]
    return None if before is None or after is None else group_of(before, after)


def _change(of: Rows, column: Column, measure: Measure) -> float | None:
    """Return what changed in a sample, over the targets that both sides have; None if unknown."""
    results = [
        None if row is None else row.results[place]
        for row, place in zip(of[-2:], column.positions[-2:], strict=True)
    ]
    gap, before, after = side_by_side(*results)
    if gap is not None or before is None or after is None:
        return None
    old, new = before[measure], after[measure]
    return None if old is None or new is None else change(old, new)


def _most_kinds(rows: Sequence[Row]) -> int:
    return min(_MOST_KINDS, len(rows) // 2)


def _groupings(
    kinds: Mapping[str, Sequence[str]], scores: int, figure: Figure, shown: Sequence[Row]
) -> Groupings:
    """Return groupings by the values of each field, with the numbers of those on rows shown."""
    looked_at = scores * sum(map(len, kinds.values()))
    level = 1 - (1 - CONFIDENCE) / max(1, looked_at)
    found = [_grouping(field, values, scores, figure, level) for field, values in kinds.items()]
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


def _grouping(
    field: str, values: Sequence[str], scores: int, figure: Figure, level: float
) -> Grouping:
    means = sorted((figure(field, value, 0, None) for value in values), key=lowest_first)
    lines = [
        SliceLine(one.value, number, [figure(field, one.value, n, level) for n in range(scores)])
        for number, one in enumerate(means[:MOST_VALUES])
    ]
    return Grouping(field, lines, len(means) - len(lines))
