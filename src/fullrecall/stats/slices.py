"""Slices: the same measure over parts of a report, by a field of the samples.

Among many slices, some look bad by chance. Therefore the intervals hold for all slices together
(Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from fullrecall._util.counts import counted
from fullrecall._util.parameters import check_share
from fullrecall._util.values import shown as shown_value
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import Measure
from fullrecall.measures.found import UNSCORED
from fullrecall.measures.lists import Integers
from fullrecall.samples.hit_fields import values_by_path
from fullrecall.samples.sample import Sample
from fullrecall.show.sheet import Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import between, one_line, shown
from fullrecall.stats.bounds import Interval
from fullrecall.stats.named import ByName
from fullrecall.stats.plain import plain, plain_of
from fullrecall.stats.totals import Totals
from fullrecall.table.row import Row
from fullrecall.table.table import Table

By: TypeAlias = str | Callable[[Row], object]
"""The field by which samples are sliced: "group", "source", a key of the metadata ("kind",
"testset.kind"), or a function of the row that returns a value or a list of values.
"""


class Slice(NamedTuple):
    """The mean of one measure over the samples that share one value of a field.

    `mean` is over groups, as in a report; None without a scored sample. The intervals hold for all
    slices together. `unscored` counts samples without a score.
    """

    value: str
    mean: float | None
    interval: Interval | None
    samples: int
    unscored: int


@dataclass(frozen=True, repr=False)
class Slices(Shown, ByName[Slice]):
    """The slices of a report by one field, the lowest mean first. Prints as a table.

    `label` names the measure, such as `id_recall@5`. A sample with several values of the field is
    in several slices. `without` counts the samples without the field, which are in no slice.
    `slices["value"]` is one slice.
    """

    kind: ClassVar[str] = "slice"

    by: str
    label: str
    named: Mapping[str, Slice]
    without: int
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("by", "label", "confidence", "without")
        return {**plain_of(self, *names), "slices": plain(tuple(self))}

    def __str__(self) -> str:
        return super().__str__().rstrip("\n")

    @property
    def sheets(self) -> Sequence[Sheet]:
        """A table with the mean, the interval, and the numbers of samples of each slice."""
        lines = []
        for subset in self:
            counts = [f"{subset.samples:,}", f"{subset.unscored:,}"]
            cells = [shown(subset.mean), between(subset.interval), *counts]
            lines.append(Line(one_line(subset.value, 60), cells))
        notes = [f"{self.confidence:.0%} intervals that hold for all {len(self):,} slices together"]
        if self.without:
            notes.append(f"{counted(self.without, 'sample')} without {one_line(self.by, 60)}")
        heads = [self.label, "interval", "samples", "unscored"]
        return [Sheet(heads, [Section(one_line(self.by, 60), lines)], notes)]


def slices_of(table: Table, by: By, score: int, measure: Measure, confidence: float) -> Slices:
    """Return the slices of a table by a field, for the score at the index `score`.

    Raises `ReportError` if no row has the field, `ParameterError` for a confidence that is not
    between 0 and 1.
    """
    check_share(confidence, "confidence", whole=False)
    parts, without = parted(table, by)
    values, status, codes = table.values(score, measure), table.status(score), table.group_codes
    # Divide the error rate among the slices. Otherwise, at least one of ten independent 95%
    # intervals would miss its mean in up to 40% of reports.
    level = 1 - (1 - confidence) / len(parts)
    slices = []
    for value, rows in parts.items():
        unscored = status[rows] == UNSCORED
        groups = None if codes is None else codes[rows]
        totals = Totals.of(values[rows], due=unscored, groups=groups)
        counts = totals.samples, int(unscored.sum())
        slices.append(Slice(value, totals.mean, totals.interval(level), *counts))
    slices.sort(key=lambda each: (each.mean is None, each.mean or 0.0, each.value))
    named = {each.value: each for each in slices}
    return Slices(_name(by), table.methods[score].label(measure), named, without, confidence)


_LOOKED_AT = 10_000
"""The most samples that are read to name the existing fields in an error."""


def _name(by: By) -> str:
    name = by if isinstance(by, str) else str(getattr(by, "__name__", ""))
    return name if isinstance(by, str) or name.isidentifier() else "function"


def parted(table: Table, by: By, *, required: bool = True) -> tuple[Mapping[str, Integers], int]:
    """Map each value of a field to the rows that have it; also return the number of other rows.

    Raises `ReportError` if the field is `required` and no row has it, and `ParameterError` for a
    `by` that is neither a name nor a function.
    """
    if not isinstance(by, str) and not callable(by):
        raise ParameterError(f"must be a name or a function of a row, got {shown_value(by)}", "by")
    numbers: dict[str, list[int]] = {}
    without = 0
    for number, row in enumerate(table):
        values = _values(row.sample).get(by, []) if isinstance(by, str) else _texts(by(row))
        without += not values
        for value in values:
            numbers.setdefault(value, []).append(number)
    if required and not numbers:
        looked_at = (_values(row.sample) for row in islice(table, _LOOKED_AT))
        choices = ", ".join(dict.fromkeys(chain.from_iterable(looked_at)))
        way = f"choose one of {choices}" if choices else "set the metadata or group of each sample"
        raise ReportError(f"no sample has {_name(by)!r} to slice by: {way}")
    return {value: np.array(rows) for value, rows in numbers.items()}, without


def _values(sample: Sample) -> dict[str, list[str]]:
    """Return the distinct values of a sample for each field by which it can be sliced."""
    groups = sample.reference_contexts or ()
    sources = dict.fromkeys(c.source for group in groups for c in group if c.source)
    values: dict[str, list[str]] = {"group": [], "source": list(sources)}
    values |= {name: _texts(value) for name, value in values_by_path(sample.metadata)}
    if sample.group is not None:
        values["group"] = [sample.group]
    return {name: texts for name, texts in values.items() if texts}


def _texts(value: object) -> list[str]:
    """Return a text, truth value, whole number or list of these as a list of texts; else []."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(dict.fromkeys(text for each in value for text in _texts(each)))
    if isinstance(value, (str, bool, int)) and value != "":
        return [str(value)]
    return []
