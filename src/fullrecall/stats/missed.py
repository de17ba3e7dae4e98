"""Targets that were not found, and forbidden contexts that were."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import eq
from typing import NamedTuple, overload

import numpy as np

from fullrecall.measures import Recall, paid
from fullrecall.measures.budgets import Cut, CutBudget
from fullrecall.measures.lists import Integers
from fullrecall.measures.of_samples import forbidden_positions, rank_at
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Status
from fullrecall.table.part import Part
from fullrecall.table.table import Table


class Missed(NamedTuple):
    """A target that one scorer did not find in full within `k`, which may be a budget.

    `credit` is its credit of 1.0 within k; `rank` is its rank beyond k, None if it was not
    retrieved at all.
    """

    sample: str
    question: str | None
    score: str
    target: str
    credit: float
    rank: int | None


class MissedTargets(Sequence[Missed]):
    """All targets that were not found in full within k, sample by sample.

    They are counted from columns; each is created when it is read.
    """

    def __init__(self, table: Table, k: Cut | None = None, score: str | None = None) -> None:
        self._table, self._k = table, k
        self._measure = Recall if k is None else Recall @ k
        names = [method.name for method in table.methods]
        self._scores = [nth for nth, name in enumerate(names) if score in (None, name)]
        counts = [self._counts(part) for part in table.parts]
        joined = np.concatenate(counts) if counts else np.zeros(0, np.int64)
        self._rows = np.flatnonzero(joined)
        self._ends = np.cumsum(joined[self._rows])

    def _counts(self, part: Part) -> Integers:
        """Return how many targets each row of a part misses, of all scores together."""
        missed = np.zeros(len(part), np.int64)
        for score in self._scores:
            if isinstance(self._k, CutBudget):
                # Where calls, tokens or seconds are unknown, no target is known to be missed.
                columns, is_known = paid.within(part.outcomes(score), self._k)
                missed += np.where(is_known, columns.targets - columns.found_within(None), 0)
            else:
                columns = part.columns(score)
                missed += columns.targets - columns.found_within(self._k)
        return missed

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
                return list(islice(self._from(start), max(0, stop - start)))
            return [self[index] for index in range(start, stop, step)]
        return next(self._from(range(len(self))[key]))

    def __iter__(self) -> Iterator[Missed]:
        return self._from(0)

    def _from(self, first: int) -> Iterator[Missed]:
        """Yield the missed targets from a position on."""
        nth = int(np.searchsorted(self._ends, first, side="right"))
        skipped = first - (int(self._ends[nth - 1]) if nth else 0)
        rows = map(self._of_row, self._rows[nth:].tolist())
        return islice(chain.from_iterable(rows), skipped, None)

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

    __hash__ = None  # type: ignore[assignment] # as a list

    def __repr__(self) -> str:
        shown = self[:_SHOWN]
        more = len(self) - len(shown)
        return f"{shown!r}" if not more else f"{shown!r} and {more:,} more"


_SHOWN = 20
"""Targets that are printed."""


class Leaked(NamedTuple):
    """A forbidden context that was retrieved at `rank`, by the retriever or tool `step`.

    `id` and `step` are None where they are not known.
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
    """Return the name of the step that first returned a context."""
    if sample.retrieval is None or sample.retrieved_contexts is None:
        return None
    context = sample.retrieved_contexts[position - 1]
    for call in sample.retrieval.calls:
        for each in call.walk():
            if any((c.id, c.text) == (context.id, context.text) for c in each.contexts or ()):
                return each.source
    return None
