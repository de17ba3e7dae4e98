"""The fields by which the samples of a page can be filtered, with the mean of each slice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from fullrecall.measures import Measure
from fullrecall.report.bounds import CONFIDENCE, Interval, lower_bound, upper_bound
from fullrecall.report.difference import Pair
from fullrecall.report.page.columns import Column
from fullrecall.report.page.readings import Rows
from fullrecall.report.row import Row
from fullrecall.report.slices import Members, Slice, fields, lowest_first, parted, slice_of
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


Figure: TypeAlias = Callable[[str, Members, int, float | None], Slice]
"""Makes the slice of a value with its members, by the nth score, at a confidence."""


def groupings(
    rows: Sequence[Row],
    groups: Sequence[str | None],
    columns: Sequence[Column],
    measures: Sequence[Measure],
) -> Groupings:
    """Return the fields that part the rows into two kinds at least, with the measure of each score.

    Intervals hold for all slices of all scores together.
    """
    places = [(column.positions[-1], m) for column, m in zip(columns, measures, strict=True)]

    def figure(value: str, members: Members, nth: int, confidence: float | None) -> Slice:
        return slice_of(value, members, *places[nth], confidence)

    return _groupings(rows, groups, len(columns), figure)


def change_groupings(rows: Iterable[Rows], changes: Sequence[Sequence[Pair]]) -> Groupings:
    """Return the same for what changed: `changes` has the pairs of each score.

    A slice's mean is then that of the differences, in [-1, 1].
    """
    kept = [{id(pair.row): pair for pair in pairs} for pairs in changes]
    ones = [next(row for row in of if row is not None) for of in rows]

    def figure(value: str, members: Members, nth: int, confidence: float | None) -> Slice:
        known = [pair for row, _ in members if (pair := kept[nth].get(id(row))) is not None]
        totals = totals_of((pair.change, pair.group) for pair in known)
        bounds = None
        if known and confidence is not None:
            low, high = totals.counts(least=-1.0)
            alpha = (1 - confidence) / 2
            least, most = lower_bound(low, alpha, least=-1.0), upper_bound(high, alpha)
            bounds = Interval(least, most, confidence)
        return Slice(value, totals.mean, bounds, len(known), len(members) - len(known))

    return _groupings(ones, [row.sample.group for row in ones], len(changes), figure)


def _groupings(
    rows: Sequence[Row], groups: Sequence[str | None], scores: int, figure: Figure
) -> Groupings:
    parts: dict[str, dict[str, list[tuple[Row, str | None]]]] = {}
    for field in fields(row.sample for row in rows):
        members, _ = parted(rows, groups, field)
        if 2 <= len(members) <= min(_MOST_KINDS, len(rows) // 2) and len(parts) < MOST_FIELDS:  # noqa: PLR2004 - one kind parts nothing
            parts[field] = members
    looked_at = scores * sum(map(len, parts.values()))
    level = 1 - (1 - CONFIDENCE) / max(1, looked_at)
    found = [_grouping(field, members, scores, figure, level) for field, members in parts.items()]
    numbers: dict[int, list[list[int]]] = {}
    for nth, one in enumerate(found):
        for line in one.lines:
            for row, _ in parts[one.field][line.value]:
                numbers.setdefault(id(row), []).append([nth, line.number])
    return Groupings(found, looked_at, [numbers.get(id(row), []) for row in rows])


def _grouping(
    field: str,
    members: dict[str, list[tuple[Row, str | None]]],
    scores: int,
    figure: Figure,
    level: float,
) -> Grouping:
    means = sorted((figure(value, of, 0, None) for value, of in members.items()), key=lowest_first)
    lines = [
        SliceLine(
            one.value,
            number,
            [figure(one.value, members[one.value], nth, level) for nth in range(scores)],
        )
        for number, one in enumerate(means[:MOST_VALUES])
    ]
    return Grouping(field, lines, len(means) - len(lines))
