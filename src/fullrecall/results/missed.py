"""Targets that were not found: counted by columns, and shown when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, overload

from fullrecall.counts import counted
from fullrecall.result import Status
from fullrecall.table.part import SCORED
from fullrecall.table.row import Row
from fullrecall.table.table import Table


class Missed(NamedTuple):
    """A target that one scorer did not find in full within `k`.

    `credit` is what it earned of 1.0 within k; `rank` where it does stand beyond k, None if it
    was not retrieved at all.
    """

    sample: str
    question: str | None
    score: str
    target: str
    credit: float
    rank: int | None


class MissedTargets(Sequence[Missed]):
    """What a report missed: read of its table by each pass over it, and never held whole."""

    def __init__(self, table: Table, k: int | None, score: str | None) -> None:
        self._table = table
        self._k = k
        names = [method.name for method in table.methods]
        self._scores = [n for n, name in enumerate(names) if score in (None, name)]

    def __len__(self) -> int:
        return sum(self._count(score) for score in self._scores)

    @overload
    def __getitem__(self, key: int) -> Missed: ...
    @overload
    def __getitem__(self, key: slice) -> list[Missed]: ...
    def __getitem__(self, key: int | slice) -> Missed | list[Missed]:
        if isinstance(key, slice):
            indices = range(len(self))[key]
            if not indices:
                return []
            missed = list(islice(self, max(indices) + 1))
            return [missed[index] for index in indices]
        index = range(len(self))[key]
        return next(islice(self, index, None))

    def __iter__(self) -> Iterator[Missed]:
        for row in self._table.rows():
            yield from self._of(row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # it is as large as what it shows

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'missed target')}>"

    def _count(self, score: int) -> int:
        count = 0
        for part in self._table.parts:
            columns = part.columns(score)
            missing = columns.outcomes.targets - columns.outcomes.found_within(self._k)
            count += int(missing[columns.status == SCORED].sum())
        return count

    def _of(self, row: Row) -> Iterator[Missed]:
        for score in self._scores:
            result = row.results[score]
            if result.status is Status.SCORED:
                for finding in result.ranked:
                    if not finding.found_at(self._k):
                        yield Missed(
                            row.label,
                            row.sample.user_input,
                            result.method.name,
                            finding.target.label,
                            finding.credit_at(self._k),
                            finding.rank,
                        )
