"""Findings within a budget: only the contexts that it pays for count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fullrecall.measures.budgets import CutBudget
from fullrecall.measures.findings import Findings, by_rank
from fullrecall.measures.found import FoundColumns, steps_of
from fullrecall.measures.lists import (
    Floats,
    Integers,
    Lists,
    count_sums,
    offsets_of,
    rises_of,
    row_maxima,
)

if TYPE_CHECKING:
    from fullrecall.measures.judgments import Judgments


def within(outcomes: FoundColumns, budget: CutBudget) -> tuple[FoundColumns, NDArray[np.bool_]]:
    """Return the columns of the contexts that a budget pays for, and a mask of rows of known cost.

    The contexts keep their order, and their ranks are those in a list of only these contexts. A
    target that one context finds is found by any paid context that supports it. Other credit counts
    if all contexts on which it rests are paid for.
    """
    paid, support = _Paid.of(outcomes, budget), outcomes.supporting
    moved = paid.moved(outcomes.row_of_target[support.rows], support.values)
    left = Lists(moved.astype(np.int32), support.offsets).kept(moved > 0)
    steps = _steps(outcomes, paid, moved == 0, left)
    whole = row_maxima(steps.values["credit"], steps.offsets) >= 1.0
    first = np.zeros(len(whole), np.int32)
    first[whole] = steps.values["position"][steps.offsets[1:][whole] - 1]
    columns: FoundColumns = replace(
        outcomes,
        retrieved=paid.counts(outcomes.retrieved),
        first=Lists(first, outcomes.first.offsets),
        supports=left,
        steps=steps,
        ranks=None if outcomes.ranks is None else paid.ranks(outcomes.ranks),
        judged=lambda: _judged(outcomes.judgments, paid),
    )
    own = outcomes.findings
    if own is not None:
        columns = replace(columns, findings=lambda row: findings_of(columns, row, own(row)))
    return columns, paid.is_known


def leaks_within(outcomes: FoundColumns, forbidden: Lists, budget: CutBudget) -> Floats:
    """Return 1.0 for each row whose budget pays for a forbidden context, else 0.0.

    A row with unknown costs has NaN.
    """
    paid = _Paid.of(outcomes, budget)
    left = paid.moved(forbidden.rows, forbidden.values) > 0
    return np.where(paid.is_known, count_sums(left, forbidden.offsets) > 0, np.nan)


def findings_of(outcomes: FoundColumns, row: int, findings: Findings) -> Findings:
    """Return a row's findings with the positions of these columns in place of ranks."""
    placed = outcomes.placed(row, findings)
    ranks = [] if outcomes.ranks is None else outcomes.ranks.of_row(row)
    return by_rank(placed, ranks) if ranks else placed


def _judged(judgments: Judgments, paid: _Paid) -> Judgments:
    """Return the judgments of the paid contexts."""
    placed = judgments.placed.values.copy()
    placed["position"] = paid.moved(judgments.placed.rows, placed["position"])
    left = Lists(placed, judgments.placed.offsets).kept(placed["position"] > 0)
    return replace(judgments, placed=left)


@dataclass(frozen=True)
class _Paid:
    """The new position of each context among those that are paid for; 0 if it is not paid for."""

    positions: Lists
    is_known: NDArray[np.bool_]

    @classmethod
    def of(cls, outcomes: FoundColumns, budget: CutBudget) -> _Paid:
        costs = outcomes.of_samples.costs
        within, is_known = costs.within(budget)
        sums = np.concatenate([[0], np.cumsum(within)])
        positions = np.where(within, sums[1:] - sums[costs.offsets[costs.rows]], 0)
        is_known = is_known & (outcomes.retrieved <= np.diff(costs.offsets))
        return cls(Lists(positions, costs.offsets), is_known)

    def moved(self, rows: Integers, positions: Integers) -> Integers:
        """Return the new positions of the contexts at these positions of these rows.

        A context that is not paid for has the position 0.
        """
        new, offsets = self.positions
        inside = positions <= self.positions.counts[rows]
        indices = np.where(inside, offsets[rows] + positions - 1, len(new))
        moved: Integers = np.concatenate([new, [0]])[indices]
        return moved

    def counts(self, retrieved: Integers) -> Integers:
        """Return how many of the first `retrieved` contexts of each row are paid for."""
        new, offsets = self.positions
        is_left = (new > 0) & (self.positions.nth <= retrieved[self.positions.rows])
        return count_sums(is_left, offsets)

    def ranks(self, ranks: Lists) -> Lists:
        """Return the ranks of the contexts that are paid for."""
        return ranks.kept(self.moved(ranks.rows, ranks.nth) > 0)


def _steps(outcomes: FoundColumns, paid: _Paid, gone: NDArray[np.bool_], left: Lists) -> Lists:
    """Return the credit steps that each target still earns by the paid contexts.

    `gone` marks the supporting contexts that are not paid for; `left` has the new positions of all
    other supporting contexts.
    """
    steps, support = outcomes.rising, outcomes.supporting
    credits_ = steps.values["credit"]
    moved = paid.moved(outcomes.row_of_target[steps.rows], steps.values["position"])
    is_kept = (moved > 0) & (_unpaid_support(steps, support, gone) == 0)
    # Credits are cumulative, so a lost rise is missing from all later credits of its target.
    lost = np.where(is_kept, 0.0, rises_of(steps.rows, credits_))
    sums = np.concatenate([[0.0], np.cumsum(lost)])
    credits_ = credits_ - (sums[1:] - sums[steps.offsets[:-1]][steps.rows])
    alone = (support.counts > 0) & (outcomes.first.values > 0)
    alone[alone] = support.values[support.offsets[:-1][alone]] == outcomes.first.values[alone]
    any_of = np.flatnonzero(alone & (left.counts > 0))
    several = is_kept & ~alone[steps.rows]
    targets = np.concatenate([steps.rows[several], any_of])
    positions = np.concatenate([moved[several], left.values[left.offsets[:-1][any_of]]])
    credits_ = np.concatenate([credits_[several], np.ones(len(any_of))])
    order = np.argsort(targets, kind="stable")
    counts = np.bincount(targets, minlength=len(alone)).astype(np.int64)
    return steps_of(positions[order], credits_[order], offsets_of(counts))


def _unpaid_support(steps: Lists, support: Lists, gone: NDArray[np.bool_]) -> Integers:
    """Return for each step how many of its contexts are not paid for.

    A step rests on the contexts that support its target, from the step before it to its own.
    """
    positions = Lists(steps.values["position"], steps.offsets)
    passed = positions.up_to(support.rows, support.values - 1)  # the number of earlier steps
    owned = passed < steps.counts[support.rows]
    nth = steps.offsets[support.rows] + passed
    return np.bincount(nth[gone & owned], minlength=len(steps.values))
