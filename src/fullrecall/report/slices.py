"""Slices: the same measure over parts of a report, by a field of the samples.

Who looks at many slices finds a bad one by chance: intervals hold for all of those that are looked
at together (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, NamedTuple, TypeAlias, overload

from fullrecall.errors import ReportError
from fullrecall.measures import Measure
from fullrecall.parameters import check_share
from fullrecall.report.bounds import Interval, lower_bound, upper_bound
from fullrecall.report.row import Row
from fullrecall.report.totals import totals_of
from fullrecall.result import Status
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
        from fullrecall.report import terminal

        console = terminal.console(StringIO(), width=terminal.WIDEST)
        notes = [f"{self.confidence:.0%} intervals that hold for all {len(self):,} slices together"]
        if self.without:
            notes.append(f"{self.without:,} samples without {terminal.one_line(self.by, 60)}")
        return terminal.printed(console, [terminal.slices_table(self), *notes]).rstrip("\n")

    __repr__ = __str__


def slices_of(  # noqa: PLR0917 - what `Report.slices` has, in its order
    rows: Sequence[Row],
    groups: Sequence[str | None],
    by: By,
    place: int,
    measure: Measure,
    confidence: float,
) -> Slices:
    """Return the slices of rows by a field, of the score that stands at a `place` in them.

    Raises `ReportError` where no row has the field, `ParameterError` for a confidence that is not
    between 0 and 1.
    """
    check_share(confidence, "confidence", whole=False)
    members, without = parted(rows, groups, by)
    name = by if isinstance(by, str) else _name(by)
    if not members:
        known = ", ".join(fields(row.sample for row in rows))
        way_out = f"choose one of {known}" if known else "give the samples metadata or groups"
        raise ReportError(f"no sample has {name!r} to slice by: {way_out}")
    made = [
        slice_of(value, of, place, measure, 1 - (1 - confidence) / len(members))
        for value, of in members.items()
    ]
    label = rows[0].results[place].method.label(measure)
    return Slices(name, label, tuple(sorted(made, key=lowest_first)), without, confidence)


def _name(function: Callable[[Row], object]) -> str:
    name = str(getattr(function, "__name__", ""))
    return name if name.isidentifier() else "function"


Members: TypeAlias = Sequence[tuple[Row, str | None]]
"""Rows with the group of each."""


def parted(
    rows: Sequence[Row], groups: Sequence[str | None], by: By
) -> tuple[dict[str, list[tuple[Row, str | None]]], int]:
    """Return the rows by each value of a field, and how many have none."""
    members: dict[str, list[tuple[Row, str | None]]] = {}
    without = 0
    for row, group in zip(rows, groups, strict=True):
        values = values_of(row, by)
        without += not values
        for value in values:
            members.setdefault(value, []).append((row, group))
    return members, without


def slice_of(
    value: str, members: Members, place: int, measure: Measure, confidence: float | None
) -> Slice:
    """Return one slice, without an interval where `confidence` is None."""
    results = [(row.results[place], group) for row, group in members]
    known = [(found, group) for one, group in results if (found := one[measure]) is not None]
    totals = totals_of(known)
    bounds = None
    if known and confidence is not None:
        low, high = totals.counts()
        alpha = (1 - confidence) / 2
        bounds = Interval(lower_bound(low, alpha), upper_bound(high, alpha), confidence)
    unscored = sum(one.status is Status.UNSCORED for one, _ in results)
    return Slice(value, totals.mean, bounds, len(known), unscored)


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
