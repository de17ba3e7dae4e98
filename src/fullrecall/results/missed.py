"""Targets that were not found: counted by columns, and shown when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, overload

from fullrecall.counts import counted
from fullrecall.measures import Recall
from fullrecall.measures.budgets import Budget, Cut
from fullrecall.result import Result, Status
from fullrecall.table import paid
from fullrecall.table.part import SCORED
from fullrecall.table.row import Row
from fullrecall.table.table import Table


class Missed(NamedTuple):
    """A target that one scorer did not find in full within `k`, which may be a budget.

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

    def __init__(self, table: Table, k: Cut | None, score: str | None) -> None:
        self._table = table
        self._measure = Recall if k is None else Recall @ k
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
        count, budget = 0, self._measure.k
        for owner, part in enumerate(self._table.parts):
            columns = part.columns(score)
            outcomes, counts = columns.outcomes, columns.status == SCORED
            if isinstance(budget, Budget):
                costs = self._table.costs(owner)
                outcomes, is_known = paid.within(replace(outcomes, costs=costs), budget)
                counts &= is_known
            missing = outcomes.targets - outcomes.found_within(self._measure.top)
            count += int(missing[counts].sum())
        return count

    def _of(self, row: Row) -> Iterator[Missed]:
        for score in self._scores:
            result = row.results[score]
            if result.status is not Status.SCORED or not self._is_known(result):
                continue
            rank_of = {finding.target: finding.rank for finding in result.ranked}
            for finding in result.paid(self._measure):
                if not finding.found_at(self._measure.top):
                    yield Missed(
                        row.label,
                        row.sample.user_input,
                        result.method.name,
                        finding.target.label,
                        finding.credit_at(self._measure.top),
                        rank_of[finding.target],
                    )

    def _is_known(self, result: Result) -> bool:
        """Return whether it is known what a budget pays for."""
        return not isinstance(self._measure.k, Budget) or result[self._measure] is not None
