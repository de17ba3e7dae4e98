"""Slices: the same measure over parts of a report, by a field of the samples.

Who looks at many slices finds a bad one by chance: intervals hold for all of those that are looked
at together (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from fullrecall.errors import ReportError
from fullrecall.measures import Measure
from fullrecall.parameters import check_share
from fullrecall.results.bounds import Interval
from fullrecall.results.named import ByName
from fullrecall.results.totals import Totals
from fullrecall.sample import Sample
from fullrecall.table.lists import Integers
from fullrecall.table.part import UNSCORED
from fullrecall.table.row import Row
from fullrecall.table.table import Table
from fullrecall.views.sheet import Sheet
from fullrecall.views.shown import Shown

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
class Slices(Shown, ByName[Slice]):
    """The slices of a report by one field, the lowest mean first. Prints as a table.

    `label` names the measure, such as `id_recall@5`. A sample with several values is in several
    slices, one without a value in none: `without` counts these. `slices["value"]` is one of them.
    """

    kind: ClassVar[str] = "slice"

    by: str
    label: str
    slices: tuple[Slice, ...]
    without: int
    confidence: float

    @property
    def named(self) -> Mapping[str, Slice]:
        """The slices by their values."""
        return {each.value: each for each in self.slices}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "by": self.by,
            "label": self.label,
            "confidence": self.confidence,
            "without": self.without,
            "slices": [
                {**subset._asdict(), "interval": subset.interval and subset.interval._asdict()}
                for subset in self.slices
            ],
        }

    def __str__(self) -> str:
        return super().__str__().rstrip("\n")

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The slices below each other: mean, interval, and what they stand on."""
        from fullrecall.views.summaries import slices_sheet

        return [slices_sheet(self)]


def slices_of(table: Table, by: By, score: int, measure: Measure, confidence: float) -> Slices:
    """Return the slices of a table by a field, of the score at an index.

    Raises `ReportError` where no row has the field, `ParameterError` for a confidence that is not
    between 0 and 1.
    """
    check_share(confidence, "confidence", whole=False)
    parts = parted(table, by)
    name = by if isinstance(by, str) else _name(by)
    level = 1 - (1 - confidence) / len(parts.rows)
    slices = [
        slice_of(table, value, rows, score, measure, confidence=level)
        for value, rows in parts.rows.items()
    ]
    label = table.methods[score].label(measure)
    ordered = tuple(sorted(slices, key=lowest_first))
    return Slices(name, label, ordered, parts.without, confidence)


def parted(table: Table, by: By) -> Parted:
    """Return the rows of a table by a field; raise `ReportError` where no row has it."""
    parts = parted_by(table, by)
    if parts.rows:
        return parts
    name = by if isinstance(by, str) else _name(by)
    choices = ", ".join(fields(table.sample(row) for row in range(min(len(table), LOOKED_AT))))
    way_out = (
        f"choose one of {choices}" if choices else "set the metadata or the group of each sample"
    )
    raise ReportError(f"no sample has {name!r} to slice by: {way_out}")


LOOKED_AT = 10_000
"""Samples that are looked at for the fields that there are."""


def _name(function: Callable[[Row], object]) -> str:
    name = str(getattr(function, "__name__", ""))
    return name if name.isidentifier() else "function"


class Parted(NamedTuple):
    """The rows of a table by the values of one field, in the order in which values came.

    `without` counts the rows that have none. `too_many`: there are more values than were to be
    kept apart, and no rows.
    """

    rows: Mapping[str, Integers]
    without: int
    too_many: bool = False


def parted_by(table: Table, by: By, most: int | None = None) -> Parted:
    """Return the rows of a table by a field; at most `most` values are kept apart."""
    rows: dict[str, list[int]] = {}
    without = 0
    for row, values in enumerate(_values(table, by)):
        without += not values
        for value in values:
            rows.setdefault(value, []).append(row)
        if most is not None and len(rows) > most:
            return Parted({}, without, too_many=True)
    return Parted({value: np.array(some) for value, some in rows.items()}, without)


def _values(table: Table, by: By) -> Iterator[list[str]]:
    """Yield the values that each row has of a field."""
    if by == "group":
        for part in table.parts:
            named = any(group is not None for group in part.groups)
            for row, group in enumerate(part.groups):
                if group is not None or not (named or part.has_texts):
                    yield [] if group is None else [group]
                else:
                    yield values_of(part.sample(row), by)
        return
    if callable(by):
        yield from (_texts(by(row)) for row in table.rows())
        return
    for row in range(len(table)):
        yield values_of(table.sample(row), by)


def slice_of(
    table: Table,
    value: str,
    rows: Integers,
    score: int,
    measure: Measure,
    *,
    confidence: float | None,
) -> Slice:
    """Return one slice by a measure, without an interval where `confidence` is None."""
    unscored = table.status(score)[rows] == UNSCORED
    codes = table.group_codes
    totals = Totals.of(
        table.values(score, measure)[rows],
        due=unscored,
        groups=None if codes is None else codes[rows],
    )
    bounds = None if confidence is None else totals.interval(confidence)
    return Slice(value, totals.mean, bounds, totals.samples, int(unscored.sum()))


def lowest_first(subset: Slice) -> tuple[bool, float, str]:
    """Return what slices are sorted by: the lowest mean first, those without one last."""
    return subset.mean is None, subset.mean or 0.0, subset.value


def values_of(sample: Sample, by: str) -> list[str]:
    """Return the values that a sample has of a field, each once."""
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
    names: dict[str, None] = {}
    for sample in samples:
        if sample.group is not None:
            names["group"] = None
        if "source" not in names and _sources(sample):
            names["source"] = None
        for name in _keys(sample.metadata):
            names.setdefault(name)
    return list(names)


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
        return list(dict.fromkeys(text for item in value for text in _texts(item)))
    if isinstance(value, (str, bool, int)) and value != "":
        return [str(value)]
    return []
