"""Row groups put together: each row once, by the rows' numbers, and what is missing."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fullrecall.errors import ReportError
from fullrecall.result import Method, Result
from fullrecall.results.files.columns import ROW
from fullrecall.results.files.ranges import gaps_of, in_words, runs_of
from fullrecall.sample import Sample
from fullrecall.table.lists import Integers, offsets_of
from fullrecall.table.part import Part, ScoreColumns

if TYPE_CHECKING:
    from fullrecall.results.files.row_groups import RowGroup

_SHOWN = 3
"""Failures that a report quotes."""


def assembled(
    groups: Sequence[RowGroup], methods: Sequence[Method], rows: int | None
) -> tuple[list[Part], str | None]:
    """Return row groups as parts of one report, and why it lacks rows; None where it has all.

    `rows` is how many were planned; rows that come twice count once. Raises `ReportError` where
    they come with different content, and where rows have no numbers and `rows` is given.
    """
    numbers = [group.numbers(ROW) for group in groups]
    if any(own is None for own in numbers):
        if rows is not None:
            raise ReportError(
                "rows=… needs numbered rows: pass position=… to the BatchScorer that scores them"
            )
        return list(groups), None
    failures: Counter[tuple[int, str]] = Counter()
    scored = []
    for group, own in zip(groups, numbers, strict=True):
        numbered, failed = _Numbered(group, own).split(methods)  # type: ignore[arg-type]
        failures.update(failed)
        if len(numbered.numbers):
            scored.append(numbered)
    scored.sort(key=lambda numbered: (int(numbered.numbers.min()), str(numbered.group)))
    whole = _distinct(scored)
    return list(map(_in_order, _clusters(whole))), _stopped(whole, rows, failures)


@dataclass(frozen=True)
class _Numbered:
    """A row group with the numbers of its rows."""

    group: RowGroup
    numbers: Integers

    def split(self, methods: Sequence[Method]) -> tuple[_Numbered, Counter[tuple[int, str]]]:
        """Return the rows that were scored, and the numbers of those that failed, with why."""
        if not self.group.has_nulls(f"{methods[0].name}_status"):
            return self, Counter()
        statuses = self.group.cells(f"{methods[0].name}_status")
        scored = np.array([status is not None for status in statuses], np.bool_)
        reasons = self.group.cells(f"{methods[0].name}_reason")
        failed = np.flatnonzero(~scored).tolist()
        why = Counter((int(self.numbers[row]), reasons[row] or "") for row in failed)
        return self.selected(np.flatnonzero(scored)), why

    @property
    def ascends(self) -> bool:
        """Whether each row has a higher number than the one before it."""
        return bool((np.diff(self.numbers) > 0).all())

    def selected(self, rows: Integers) -> _Numbered:
        """Return these rows."""
        return _Numbered(self.group.selected(rows), self.numbers[rows])


def _distinct(scored: Sequence[_Numbered]) -> Sequence[_Numbered]:
    """Return the rows that come once, and one of each that comes more often."""
    if all(len(cluster) == 1 and cluster[0].ascends for cluster in _clusters(scored)):
        return scored
    values, frequencies = np.unique(
        np.concatenate([each.numbers for each in scored]), return_counts=True
    )
    repeated = values[frequencies > 1]
    copies: dict[int, list[tuple[tuple[str, str], int, int]]] = defaultdict(list)
    for index, each in enumerate(scored):
        rows = np.flatnonzero(np.isin(each.numbers, repeated))
        digests = _digests(each.group.selected(rows)) if len(rows) else []
        for row, digest in zip(rows.tolist(), digests, strict=True):
            copies[int(each.numbers[row])].append((digest, index, row))
    differ = [n for n, same in copies.items() if len({digest[0] for digest, *_ in same}) > 1]
    if differ:
        raise ReportError(
            f"rows that come twice with different content: {in_words(runs_of(np.sort(differ)))}; "
            "number each row once, and leave out all but one of the files that have them"
        )
    kept = [np.ones(len(each.numbers), np.bool_) for each in scored]
    for same in copies.values():
        for _, index, row in sorted(same)[1:]:
            kept[index][row] = False
    return [
        each if keep.all() else each.selected(np.flatnonzero(keep))
        for each, keep in zip(scored, kept, strict=True)
        if keep.any()
    ]


def _digests(group: RowGroup) -> list[tuple[str, str]]:
    """Return of each row a digest of its content without what it cost, and one of all of it."""
    digests = []
    for cells in group.cells_of_rows().to_pylist():
        whole = json.dumps(cells, sort_keys=True, default=str)
        for name, value in cells.items():
            if name.endswith("_details") and value is not None:
                cells[name] = {**json.loads(value), "usage": None}
            elif name == "retrieval" and value is not None:
                cells[name] = {**json.loads(value), "seconds": None}
        content = json.dumps(cells, sort_keys=True, default=str)
        digests.append(tuple(sha256(text.encode()).hexdigest() for text in (content, whole)))
    return digests  # type: ignore[return-value]


def _clusters(scored: Sequence[_Numbered]) -> list[list[_Numbered]]:
    """Return row groups by their first rows, those together whose rows lie between each other."""
    clusters: list[list[_Numbered]] = []
    last = -1
    for each in sorted(scored, key=lambda each: int(each.numbers.min())):
        if clusters and int(each.numbers.min()) <= last:
            clusters[-1].append(each)
        else:
            clusters.append([each])
        last = max(last, int(each.numbers.max()))
    return clusters


def _in_order(cluster: Sequence[_Numbered]) -> Part:
    """Return the rows of some row groups by their numbers."""
    if len(cluster) == 1:
        each = cluster[0]
        if each.ascends:
            return each.group
        return each.group.selected(np.argsort(each.numbers, kind="stable"))
    order = np.argsort(np.concatenate([each.numbers for each in cluster]), kind="stable")
    return Mixed([each.group for each in cluster], order)


class Mixed(Part):
    """Rows of several parts in any order: `order` has their indices, one part after another."""

    def __init__(self, parts: Sequence[Part], order: Integers) -> None:
        self._parts = parts
        self._order = order
        self._starts = offsets_of(map(len, parts))
        self.has_texts = any(part.has_texts for part in parts)
        self.forbids = any(part.forbids for part in parts)

    def __len__(self) -> int:
        return len(self._order)

    @cached_property
    def ids(self) -> Sequence[str | None]:
        """The ID of each sample."""
        return self._ordered([name for part in self._parts for name in part.ids])

    @cached_property
    def groups(self) -> Sequence[str | None]:
        """The group that each sample names."""
        return self._ordered([name for part in self._parts for name in part.groups])

    @property
    def questions(self) -> Sequence[str | None]:
        """The question of each sample."""
        return self._ordered([text for part in self._parts for text in part.questions])

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a number for the targets of each row; see `Table.target_digests`."""
        return np.concatenate([part.target_digests(score) for part in self._parts])[self._order]

    def columns(self, score: int) -> ScoreColumns:
        """Return the columns of the score at this index."""
        parts = [part.columns(score) for part in self._parts]
        return ScoreColumns.joined(parts).selected(self._order)

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        part, own = self._located(row)
        return part.sample(own)

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""
        part, own = self._located(row)
        return part.result(own, score)

    def selected(self, rows: Integers) -> Mixed:
        """Return these rows, in the order given."""
        return Mixed(self._parts, self._order[rows])

    def judged(self, score: int) -> bool:
        """Return whether any result of this score may have verdicts."""
        return any(part.judged(score) for part in self._parts)

    def retrievals(self) -> Counter[str]:
        """Return of how many samples the retrieval was "united" of calls, or had a "failed" one."""
        return super().retrievals() if any(p.retrievals() for p in self._parts) else Counter()

    def _ordered(self, values: list[Any]) -> list[Any]:
        return [values[row] for row in self._order.tolist()]

    def _located(self, row: int) -> tuple[Part, int]:
        number = int(self._order[row])
        owner = int(np.searchsorted(self._starts, number, side="right")) - 1
        return self._parts[owner], number - int(self._starts[owner])


def _stopped(
    scored: Sequence[_Numbered], rows: int | None, failures: Counter[tuple[int, str]]
) -> str | None:
    """Return which planned rows are missing, and what failed; None where none is."""
    covered = np.sort(np.concatenate([np.zeros(0, np.int64), *(each.numbers for each in scored)]))
    planned = int(covered.max(initial=-1)) + 1 if rows is None else rows
    beyond = runs_of(covered[covered >= planned])
    missing = planned - int((covered < planned).sum())
    reasons = []
    if missing:
        lost = in_words(gaps_of(covered, planned))
        reasons.append(f"{missing:,} of {planned:,} rows are missing: {lost}")
    if beyond:
        reasons.append(f"rows that are not planned are there: {in_words(beyond)}")
    there = set(covered.tolist()) if failures else set()
    why = Counter(reason for number, reason in failures if number < planned and number not in there)
    reasons += [f"{count:,} rows failed: {reason}" for reason, count in why.most_common(_SHOWN)]
    return "; ".join(reasons) or None
