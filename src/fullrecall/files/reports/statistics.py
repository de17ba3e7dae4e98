"""The statistics of a file's rows, kept in its metadata: a summary reads them instead of rows.

Statistics of several files can be merged exactly. They are counts, exact sums, and the distinct
findings with the number of rows that have each. Every measure can be computed from the distinct
findings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fullrecall.files.reports.plain import located, mapping
from fullrecall.measures.found import STEP, FoundColumns
from fullrecall.measures.lists import Lists
from fullrecall.scorers.result import Method
from fullrecall.table.distinct import DistinctRows
from fullrecall.table.groups import IdRange
from fullrecall.table.part import Part
from fullrecall.table.verdicts import VerdictSums

KEY = "fullrecall.statistics"
"""The key of the statistics in a file's metadata."""

_VERSION = 1

_TYPES: dict[str, Any] = {"status": np.int8, "grade": np.float64, "size": np.float64, "steps": STEP}
"""The NumPy types of the fields of `FoundColumns` that are not `int32`."""


class SampleSums(NamedTuple):
    """Sums over rows that can be computed only from samples and results.

    - `unanswerable`: the number of unanswerable questions; `empty`: of those, the number with an
      empty retrieval.
    - `retrievals`: the counts that `Part.retrievals` returns.
    - `verdicts`: for each score, the sums over its verdicts, or None if it has none.
    """

    unanswerable: int
    empty: int
    retrievals: Counter[Any]
    verdicts: Sequence[VerdictSums | None]

    @classmethod
    def of(cls, part: Part, methods: Sequence[Method]) -> SampleSums:
        """Return the sums over a part."""
        verdicts = [part.verdicts(score) for score in range(len(methods))]
        return cls(*part.unanswerable(), +part.retrievals(), verdicts)

    @classmethod
    def joined(cls, sums: Sequence[SampleSums]) -> SampleSums:
        """Return the sums over all rows, from the sums over the rows of each part."""
        unanswerable, empty, retrievals, verdicts = zip(*sums, strict=True)
        return cls(
            sum(unanswerable),
            sum(empty),
            sum(retrievals, Counter()),
            [VerdictSums.joined(own) for own in zip(*verdicts, strict=True)],
        )


class Statistics(NamedTuple):
    """The statistics of the rows of a file.

    - `head`: the JSON of the report's methods, as `columns.head` returns it.
    - `rows`: the number of rows.
    - `first`: the number of the first row, or None if the rows are not numbered consecutively.
    - `ids`: the range of the IDs, or None if any repeats.
    - `has_ties`: whether any sample has ranks that are tied by equal scores.
    - `notes`: for each score, the notes of unscored rows, with the number of rows that have each.
    - `distinct`: for each score, the rows with distinct findings, or None if there are too many.
    - `sums`: the sums over samples and results.
    """

    head: str
    rows: int
    first: int | None
    ids: IdRange | None
    has_ties: bool
    notes: Sequence[Counter[str]]
    distinct: Sequence[DistinctRows | None]
    sums: SampleSums

    def to_json(self) -> str:
        """Return the statistics as JSON, which `read` reads; equal statistics give equal JSON."""
        return json.dumps(
            {
                **self._asdict(),
                "version": _VERSION,
                "notes": [sorted(notes.items()) for notes in self.notes],
                "distinct": list(map(_plain_distinct, self.distinct)),
                "sums": {
                    **self.sums._asdict(),
                    "retrievals": sorted(self.sums.retrievals.items(), key=repr),
                    "verdicts": [
                        each and list(map(str, astuple(each))) for each in self.sums.verdicts
                    ],
                },
            }
        )

    @classmethod
    def read(cls, text: bytes, where: str) -> Statistics | None:
        """Return saved statistics; None if they are of another version.

        Raises `ReportError`, which begins with `where`, if they cannot be read.
        """
        with located(f"{where}: its statistics cannot be read"):
            content = mapping(text)
            if content.pop("version") != _VERSION:
                return None
            sums = content["sums"]
            retrievals = Counter({_key(name): count for name, count in sums["retrievals"]})
            verdicts = [own and _verdicts(own) for own in sums["verdicts"]]
            read = {
                "ids": None if content["ids"] is None else IdRange(*content["ids"]),
                "notes": [Counter(dict(notes)) for notes in content["notes"]],
                "distinct": list(map(_distinct, content["distinct"])),
                "sums": SampleSums(sums["unanswerable"], sums["empty"], retrievals, verdicts),
            }
            return cls(**{**content, **read})


def _key(name: Any) -> Any:
    """Return a key of `Part.retrievals` from JSON: a text, or a tuple as in `funnel_counts`."""
    return name if isinstance(name, str) else (tuple(name[0]), name[1])


def _verdicts(sums: Iterable[str]) -> VerdictSums:
    credit, unverified, *counts = sums
    return VerdictSums(Fraction(credit), Fraction(unverified), *map(int, counts))


def _plain_distinct(distinct: DistinctRows | None) -> dict[str, Any] | None:
    """Return distinct rows as plain JSON values, without columns that are None.

    A column of lists becomes its values and its offsets.
    """
    if distinct is None:
        return None
    columns = distinct.columns
    own = {name: getattr(columns, name) for name in _COLUMNS}
    if columns.supports is not None:
        own["supports"] = columns.supporting
    plain: dict[str, Any] = {"counts": distinct.counts.tolist()}
    for name, column in own.items():
        if isinstance(column, Lists):
            plain[name] = [column.values.tolist(), column.offsets.tolist()]
        elif column is not None:
            plain[name] = column.tolist()
    return plain


_COLUMNS = ("status", "retrieved", "first", "supports", "steps", "grade", "size", "ranks")


def _distinct(plain: Mapping[str, Any] | None) -> DistinctRows | None:
    if plain is None:
        return None
    own: dict[str, Any] = {}
    for name in _COLUMNS:
        kind = _TYPES.get(name, np.int32)
        if name not in plain:
            own[name] = None
        elif name in ("first", "supports", "steps", "ranks"):
            values, offsets = plain[name]
            values = list(map(tuple, values)) if name == "steps" else values
            own[name] = Lists(np.array(values, kind), np.array(offsets, np.int32))
        else:
            own[name] = np.array(plain[name], kind)
    return DistinctRows(FoundColumns(**own), np.array(plain["counts"], np.int64))
