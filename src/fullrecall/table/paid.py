"""What is left of what was found where only what a budget pays for counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fullrecall.findings import Findings, Step, by_rank
from fullrecall.measures.budgets import Budget
from fullrecall.table.found import FoundColumns, Steps, rises_of
from fullrecall.table.lists import Integers, Lists, count_sums, offsets_of, row_maxima


def within(outcomes: FoundColumns, budget: Budget) -> tuple[FoundColumns, NDArray[np.bool_]]:
    """Return the columns of the contexts that a budget pays for, and which rows are known.

    They keep their order and their ranks move up, as if the others had not been retrieved. A
    target that its first context alone finds is found by any that supports it; any other
    credit stays where all contexts are there on which it rests.
    """
    paid = _Paid.of(outcomes, budget)
    positions = paid.moved_ranks(outcomes)
    credits_ = paid.steps(outcomes)
    whole = row_maxima(credits_.credits, credits_.positions.offsets) >= 1.0
    last = np.zeros(len(whole), np.int64)
    filled = credits_.positions.counts > 0
    last[filled] = credits_.positions.values[credits_.positions.offsets[1:][filled] - 1]
    first = Lists(np.where(whole, last, 0).astype(np.int32), outcomes.first.offsets)
    retrieved = paid.counts(outcomes.retrieved)
    ranks = None if outcomes.ranks is None else paid.ranks(outcomes.ranks)
    columns = replace(
        outcomes, retrieved=retrieved, first=first, supports=positions, steps=credits_, ranks=ranks
    )
    return columns, paid.is_known


def leaks_within(
    outcomes: FoundColumns, budget: Budget
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether a budget pays for a forbidden context, and of which rows that is known."""
    if outcomes.forbidden is None:
        return np.zeros(len(outcomes), np.bool_), np.ones(len(outcomes), np.bool_)
    paid, positions = _Paid.of(outcomes, budget), outcomes.forbidden.positions
    return count_sums(
        paid.moved(positions.rows, positions.values) > 0, positions.offsets
    ) > 0, paid.is_known


def findings_of(outcomes: FoundColumns, row: int, findings: Findings) -> Findings:
    """Return the findings of a row as these columns have them, by position."""
    start = int(outcomes.first.offsets[row])
    rising, supporting = outcomes.rising, outcomes.supporting
    every = []
    for target, finding in enumerate(findings, start=start):
        low, high = rising.positions.offsets[target : target + 2].tolist()
        steps = zip(rising.positions.of_row(target), rising.credits[low:high].tolist(), strict=True)
        every.append(
            finding._replace(
                steps=tuple(Step(position, credit) for position, credit in steps),
                ranks=tuple(supporting.of_row(target)),
                evidence=(),
            )
        )
    ranks = () if outcomes.ranks is None else tuple(outcomes.ranks.of_row(row))
    return by_rank(every, ranks) if ranks else every


@dataclass(frozen=True)
class _Paid:
    """The position of each context of some rows among those paid for, 0 if it is not."""

    offsets: Integers
    positions: Integers
    is_known: NDArray[np.bool_]

    @classmethod
    def of(cls, outcomes: FoundColumns, budget: Budget) -> _Paid:
        costs = outcomes.costs
        assert costs is not None  # noqa: S101 - whoever reads a budget has asked for them
        within, is_known = costs.within(budget)
        sums = np.concatenate([[0], np.cumsum(within)])
        rows = np.repeat(np.arange(len(outcomes)), np.diff(costs.offsets))
        positions = np.where(within, sums[1:] - sums[costs.offsets[rows]], 0)
        return cls(
            costs.offsets, positions, is_known & (outcomes.retrieved <= np.diff(costs.offsets))
        )

    def moved(self, rows: Integers, positions: Integers) -> Integers:
        """Return the new positions of some positions of some rows, 0 for those that are gone."""
        inside = positions <= np.diff(self.offsets)[rows]
        indices = np.where(inside, self.offsets[rows] + positions - 1, 0)
        if not len(self.positions):
            return np.zeros(len(rows), np.int64)
        moved: Integers = np.where(inside, self.positions[indices], 0)
        return moved

    def counts(self, retrieved: Integers) -> Integers:
        """Return how many of the first contexts of each row are left."""
        sums = np.concatenate([[0], np.cumsum(self.positions > 0)])
        ends = np.minimum(self.offsets[:-1] + retrieved, self.offsets[1:])
        left: Integers = sums[ends] - sums[self.offsets[:-1]]
        return left

    def ranks(self, ranks: Lists) -> Lists:
        """Return the ranks of the contexts that are left."""
        nth = np.arange(len(ranks.values)) - ranks.offsets[:-1][ranks.rows] + 1
        return ranks.kept(self.moved(ranks.rows, nth) > 0)

    def moved_ranks(self, outcomes: FoundColumns) -> Lists:
        """Return the positions that still support each target."""
        support = outcomes.supporting
        moved = self.moved(outcomes.row_of_target[support.rows], support.values)
        return Lists(moved.astype(np.int32), support.offsets).kept(moved > 0)

    def steps(self, outcomes: FoundColumns) -> Steps:
        """Return the credit that is left of each target."""
        rising, support = outcomes.rising, outcomes.supporting
        steps = rising.positions
        lost = self._lost(outcomes, steps, support)
        gone = np.where(lost > 0, rises_of(steps.rows, rising.credits), 0.0)
        sums = np.concatenate([[0.0], np.cumsum(gone)])
        credits_ = rising.credits - (sums[1:] - sums[steps.offsets[:-1]][steps.rows])
        positions = self.moved(outcomes.row_of_target[steps.rows], steps.values)
        return self._any(outcomes, Steps(Lists(positions, steps.offsets), credits_), lost == 0)

    def _lost(self, outcomes: FoundColumns, steps: Lists, support: Lists) -> Integers:
        """Return how many of the contexts on which each step rests are gone."""
        gone = self.moved(outcomes.row_of_target[support.rows], support.values) == 0
        left = self.moved(outcomes.row_of_target[steps.rows], steps.values) > 0
        lost: Integers = np.where(left, 0, 1)
        width = int(max(steps.values.max(initial=0), support.values.max(initial=0))) + 1
        keys = steps.rows * width + steps.values
        nth = np.searchsorted(keys, support.rows * width + support.values)
        owned = nth < len(keys)
        owned[owned] = steps.rows[nth[owned]] == support.rows[owned]
        np.add.at(lost, nth[gone & owned], 1)
        return lost

    def _any(self, outcomes: FoundColumns, steps: Steps, kept: NDArray[np.bool_]) -> Steps:
        """Return the steps that are kept; where the first context was enough, any is."""
        support, moved = outcomes.supporting, self.moved_ranks(outcomes)
        targets = np.arange(len(outcomes.first.values))
        filled = (support.counts > 0) & (outcomes.first.values > 0)
        alone = np.zeros(len(targets), np.bool_)
        alone[filled] = (
            support.values[support.offsets[:-1][filled]] == outcomes.first.values[filled]
        )
        counts = np.where(
            alone,
            (moved.counts > 0).astype(np.int64),
            count_sums(kept, steps.positions.offsets),
        )
        offsets = offsets_of(counts)
        positions, credits_ = np.zeros(int(offsets[-1]), np.int32), np.ones(int(offsets[-1]))
        single = alone & (moved.counts > 0)
        positions[offsets[:-1][single]] = moved.values[moved.offsets[:-1][single]]
        several = kept & ~alone[steps.positions.rows]
        into = np.repeat(~alone, counts)
        positions[into] = steps.positions.values[several]
        credits_[into] = steps.credits[several]
        return Steps(Lists(positions, offsets), credits_)
