"""Targets that were not found in full, and forbidden contexts that were retrieved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import eq
from typing import NamedTuple, overload

import numpy as np

from fullrecall.measures import Recall
from fullrecall.measures.budgets import Cut, CutBudget
from fullrecall.measures.found import FoundColumns
from fullrecall.measures.lists import Integers, offsets_of
from fullrecall.measures.of_samples import forbidden_positions, rank_at
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Status
from fullrecall.table.part import Part
from fullrecall.table.table import Table


class Missed(NamedTuple):
    """A target that a scorer did not find in full within `k`, a number of contexts or a budget.

    `credit` is its credit within k, below 1.0; `rank` is the rank beyond k at which it is found in
    full, None if there is none.
    """

    sample: str
    question: str | None
    score: str
    target: str
    credit: float
    rank: int | None


class MissedTargets(Sequence[Missed]):
    """All targets that were not found in full within k, sample by sample.

    The constructor counts the targets in each part of the table. Each item is created when read.
    """

    def __init__(self, table: Table, k: Cut | None = None, score: str | None = None) -> None:
        self._table, self._k = table, k
        self._measure = Recall if k is None else Recall @ k
        names = [method.name for method in table.methods]
        self._scores = [nth for nth, name in enumerate(names) if score in (None, name)]
        self._ends = np.cumsum([self._count(part) for part in table.parts], dtype=np.int64)
        self._starts = offsets_of(map(len, table.parts))
        self._last: tuple[int, Integers, Integers] | None = None

    def _count(self, part: Part) -> int:
        """Return the number of targets that a part misses, over all scores."""
        missed = 0
        for score in self._scores:
            distinct = part.distinct(score)
            if distinct is None or isinstance(self._k, CutBudget):
                missed += int(self._missed(part, score).sum())
            else:
                missed += int(_missed(distinct.columns, self._k) @ distinct.counts)
        return missed

    def _missed(self, part: Part, score: int) -> Integers:
        """Return the number of targets of a score that each row of a part misses."""
        if not isinstance(self._k, CutBudget):
            return _missed(part.columns(score), self._k)
        from fullrecall.measures.paid import within

        # If calls, tokens or seconds are unknown, the misses are unknown, too: count none.
        columns, is_known = within(part.outcomes(score), self._k)
        return np.where(is_known, _missed(columns, None), 0)

    def _rows(self, nth: int) -> tuple[Integers, Integers]:
        """Return the rows of a part that miss a target, and the cumulative number of misses."""
        last = self._last  # Read it once, since another thread may replace it meanwhile.
        if last is None or last[0] != nth:
            part = self._table.parts[nth]
            missed = np.zeros(len(part), np.int64)
            for score in self._scores:
                missed += self._missed(part, score)
            rows = np.flatnonzero(missed)
            last = self._last = nth, rows + self._starts[nth], np.cumsum(missed[rows])
        return last[1:]

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, key: int) -> Missed: ...
    @overload
    def __getitem__(self, key: slice) -> list[Missed]: ...
    def __getitem__(self, key: int | slice) -> Missed | list[Missed]:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return list(islice(self._missed_from(start), max(0, stop - start)))
            return [self[index] for index in range(start, stop, step)]
        return next(self._missed_from(range(len(self))[key]))

    def __iter__(self) -> Iterator[Missed]:
        return self._missed_from(0)

    def _missed_from(self, first: int) -> Iterator[Missed]:
        """Yield the missed targets from the index `first` on."""
        nth = int(np.searchsorted(self._ends, first, side="right"))
        skipped = first - (int(self._ends[nth - 1]) if nth else 0)
        parts = range(nth, len(self._ends))
        return chain.from_iterable(
            self._of_part(part, skipped if part == nth else 0) for part in parts
        )

    def _of_part(self, nth: int, first: int) -> Iterator[Missed]:
        """Yield the missed targets of part `nth`, without the first `first` ones."""
        rows, ends = self._rows(nth)
        row = int(np.searchsorted(ends, first, side="right"))
        skipped = first - (int(ends[row - 1]) if row else 0)
        return islice(chain.from_iterable(map(self._of_row, rows[row:].tolist())), skipped, None)

    def _of_row(self, index: int) -> Iterator[Missed]:
        row = self._table.row(index)
        for result in (row.results[score] for score in self._scores):
            is_known = not isinstance(self._k, CutBudget) or result[self._measure] is not None
            if result.status is not Status.SCORED or not is_known:
                continue
            rank_of = {finding.target: finding.rank for finding in result.ranked}
            top = self._measure.top
            for finding in result.paid(self._measure):
                if not finding.found_at(top):
                    yield Missed(
                        row.label,
                        row.sample.user_input,
                        result.method.name,
                        finding.target.label,
                        finding.credit_at(top),
                        rank_of[finding.target],
                    )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment] # not hashable, as a list is not

    def __repr__(self) -> str:
        shown = self[:_SHOWN]
        more = len(self) - len(shown)
        return f"{shown!r}" if not more else f"{shown!r} and {more:,} more"


def _missed(columns: FoundColumns, k: int | None) -> Integers:
    """Return how many targets of each row are not found in full within the first `k` ranks."""
    return columns.targets - columns.found_within(k)


_SHOWN = 20
"""The most targets that are printed."""


class Leaked(NamedTuple):
    """A forbidden context that was retrieved at `rank`; `id` is its ID, None if it is unknown.

    `step` is the name of the retriever or tool that first returned it, None if it is unknown.
    """

    sample: str
    question: str | None
    id: str | None
    rank: int
    step: str | None

    def __str__(self) -> str:
        source = "" if self.step is None else f" from {self.step}"
        return f"{self.sample}: {self.id or 'a context without an ID'} at rank {self.rank}{source}"


def leaked(table: Table, k: int | None = None, *, unanswerable: bool = True) -> Iterator[Leaked]:
    """Yield the forbidden contexts within the first `k` ranks of each sample, by rank.

    All contexts of an unanswerable question are forbidden; `unanswerable=False` leaves them out.
    """
    first = 1
    for part in table.parts:
        for row in range(len(part)) if part.forbids else ():
            sample = part.sample(row)
            if sample.answerable is False and not unanswerable:
                continue
            for position in forbidden_positions(sample) or ():
                rank = rank_at(sample, position)
                if k is None or rank <= k:
                    label = sample.id or f"#{first + row}"
                    name = (sample.retrieved_context_ids or ())[position - 1]
                    step = _step(sample, position)
                    yield Leaked(label, sample.user_input, name, rank, step)
        first += len(part)


def _step(sample: Sample, position: int) -> str | None:
    """Return the name of the retriever or tool that first returned a context, or None."""
    if sample.retrieval is None or sample.retrieved_contexts is None:
        return None
    context = sample.retrieved_contexts[position - 1]
    for call in sample.retrieval.calls:
        for each in call.walk():
            if any((c.id, c.text) == (context.id, context.text) for c in each.contexts or ()):
                return each.source
    return None
