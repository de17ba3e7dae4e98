"""Slices: the same measure over parts of a report, by a field of the samples.

Who looks at many slices finds a bad one by chance: intervals hold for all of those that are looked
at together (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, overload

from fullrecall.errors import ReportError
from fullrecall.measures import Measure
from fullrecall.parameters import check_share
from fullrecall.report.bounds import Interval, lower_bound, upper_bound
from fullrecall.report.groups import groups_of
from fullrecall.report.lazy_rows import LazyRows
from fullrecall.report.row import Row
from fullrecall.report.totals import Totals
from fullrecall.result import Result, Status
from fullrecall.sample import Sample

By: TypeAlias = str | Callable[[Row], object]
"""A field: "group", "source", or a key of the metadata ("kind", "testset.kind"); or a function of
the row that returns a value, or a list of values."""


class Slice(NamedTuple):
    """The mean of one measure over the samples that have one value of a field.

    `mean` is over groups, as that of a report; None without a scored sample. `interval` holds
    together with those of all slices that are looked at. `unscored` counts samples without a score.
    """

    value: str
    mean: float | None
    interval: Interval | None
    samples: int
    unscored: int


@dataclass(frozen=True, repr=False)
class Slices(Sequence[Slice]):
    """The slices of a report by one field, the lowest mean first. Prints as a table.

    `label` names the measure, such as `id_recall@5`. A sample with several values is in several
    slices, one without a value in none: `without` counts these. `slices["value"]` is one of them.
    """

    by: str
    label: str
    slices: tuple[Slice, ...]
    without: int
    confidence: float

    @overload
    def __getitem__(self, key: int | str) -> Slice: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Slice, ...]: ...
    def __getitem__(self, key: int | str | slice) -> Slice | tuple[Slice, ...]:
        if isinstance(key, str):
            for one in self.slices:
                if one.value == key:
                    return one
            names = ", ".join(one.value for one in self.slices)
            raise KeyError(f"no slice {key!r}: choose one of {names}")
        return self.slices[key]

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.slices)

    def __len__(self) -> int:
        return len(self.slices)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "by": self.by,
            "label": self.label,
            "confidence": self.confidence,
            "without": self.without,
            "slices": [
                {**one._asdict(), "interval": one.interval and one.interval._asdict()}
                for one in self.slices
            ],
        }

    def __str__(self) -> str:
        from fullrecall.views import terminal
        from fullrecall.views.summaries import slices_sheet

        return terminal.text_of(slices_sheet(self)).rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from fullrecall.views import html
        from fullrecall.views.summaries import slices_sheet

        return html.text_of(slices_sheet(self))


def slices_of(
    rows: Sequence[Row], by: By, place: int, measure: Measure, confidence: float
) -> Slices:
    """Return the slices of rows by a field, of the score that stands at a `place` in them.

    Raises `ReportError` where no row has the field, `ParameterError` for a confidence that is not
    between 0 and 1.
    """
    check_share(confidence, "confidence", whole=False)
    parted = parted_by(rows, by, [(place, measure)])
    name = by if isinstance(by, str) else _name(by)
    if not parted.values:
        known = ", ".join(fields(row.sample for row in islice(rows, LOOKED_AT)))
        way_out = (
            f"choose one of {known}" if known else "set the metadata or the group of each sample"
        )
        raise ReportError(f"no sample has {name!r} to slice by: {way_out}")
    level = 1 - (1 - confidence) / len(parted.values)
    made = [parted.slice_of(value, 0, level) for value in parted.values]
    label = rows[0].results[place].method.label(measure)
    return Slices(name, label, tuple(sorted(made, key=lowest_first)), parted.without, confidence)


LOOKED_AT = 10_000
"""Samples that are looked at for the fields that there are."""


def _name(function: Callable[[Row], object]) -> str:
    name = str(getattr(function, "__name__", ""))
    return name if name.isidentifier() else "function"


class Parted:
    """Rows by the values of one field, with the totals of some measures of each value.

    `values` are in the order in which they came, `without` counts the rows that have none. More
    than `most` values are not kept apart: there are none then, and `too_many`.
    """

    def __init__(self, measured: Sequence[tuple[int, Measure]], most: int | None = None) -> None:
        self.values: dict[str, list[_Part]] = {}
        self.without = 0
        self.too_many = False
        self._measures = [measure for _, measure in measured]
        self._most = most

    def add(
        self, values: Sequence[str], results: Sequence[Result], group: str | None, times: int = 1
    ) -> None:
        """Add a row by its values of the field, with the result that each measure is read of."""
        if self.too_many:
            return
        self.without += times * (not values)
        for value in values:
            parts = self.values.get(value)
            if parts is None:
                parts = self.values[value] = [_Part() for _ in self._measures]
            for part, measure, result in zip(parts, self._measures, results, strict=True):
                part.add(result, measure, group, times)
        if self._most is not None and len(self.values) > self._most:
            self.too_many = True
            self.values.clear()

    def close(self) -> None:
        """Let go of the groups: no more of their samples come."""
        for parts in self.values.values():
            for part in parts:
                part.totals.fold()

    def slice_of(self, value: str, nth: int, confidence: float | None) -> Slice:
        """Return one slice by the nth measure, without an interval where `confidence` is None."""
        part = self.values[value][nth]
        totals, bounds = part.totals, None
        if totals.samples and confidence is not None:
            low, high = totals.counts()
            alpha = (1 - confidence) / 2
            bounds = Interval(lower_bound(low, alpha), upper_bound(high, alpha), confidence)
        return Slice(value, totals.mean, bounds, totals.samples, part.unscored)


class _Part:
    """What is counted of one measure in one slice."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.unscored = 0

    def add(self, result: Result, measure: Measure, group: str | None, times: int) -> None:
        value = result[measure]
        if value is not None:
            self.totals.add(value, group, times=times)
        self.unscored += times * (result.status is Status.UNSCORED)


def parted_by(
    rows: Sequence[Row], by: By, measured: Sequence[tuple[int, Measure]], most: int | None = None
) -> Parted:
    """Return rows by a field, with measures of the scores that stand at some places in them.

    Of rows that are not in memory equal ones are counted together, where the field is one that
    those keep.
    """
    parted = Parted(measured, most)
    places = [place for place, _ in measured]
    if not isinstance(rows, LazyRows) or callable(by) or by == "source":
        if isinstance(rows, LazyRows):
            groups = rows.groups
        else:
            groups = groups_of([row.sample for row in rows])
        for row, group in zip(rows, groups, strict=True):
            parted.add(values_of(row, by), [row.results[place] for place in places], group)
        return parted
    measures = [measure for _, measure in measured]
    for whole in rows.tallied(places, measures, metadata=by != "group"):
        for row, group, times in whole:
            parted.add(values_of(row, by), row.results, group, times)
        parted.close()
    return parted


def lowest_first(one: Slice) -> tuple[bool, float, str]:
    """Return what slices are sorted by: the lowest mean first, those without one last."""
    return one.mean is None, one.mean or 0.0, one.value


def values_of(row: Row, by: By) -> list[str]:
    """Return the values that a row has of a field, each once."""
    if callable(by):
        return _texts(by(row))
    sample = row.sample
    if by == "group" and sample.group is not None:
        return [sample.group]
    if by == "source" and "source" not in sample.metadata:
        return _sources(sample)
    value: Any = sample.metadata
    if by in sample.metadata:
        return _texts(sample.metadata[by])
    for key in by.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return _texts(value)


def fields(samples: Iterable[Sample]) -> list[str]:
    """Return the fields by which samples can be sliced, in the order in which they come up."""
    found: dict[str, None] = {}
    for sample in samples:
        if sample.group is not None:
            found["group"] = None
        if "source" not in found and _sources(sample):
            found["source"] = None
        for name in _keys(sample.metadata):
            found.setdefault(name)
    return list(found)


def _sources(sample: Sample) -> list[str]:
    """Return the documents that the reference contexts were cut from."""
    groups = sample.reference_contexts or ()
    return list(dict.fromkeys(c.source for group in groups for c in group if c.source))


def _keys(metadata: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            if not before:
                yield from _keys(value, f"{name}.")
        elif _texts(value):
            yield f"{before}{name}"


def _texts(value: object) -> list[str]:
    """Return a value, or a list of them, as texts; none for what is no plain value."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(dict.fromkeys(text for one in value for text in _texts(one)))
    if isinstance(value, (str, bool, int)) and value != "":
        return [str(value)]
    return []
