"""Findings within a budget: contexts beyond it are treated as if they had not been retrieved.

A context is paid for if it is within the budget.
"""

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
    """Return columns with only the contexts within a budget, and a mask of rows with known costs.

    The contexts keep their order and their ranks, but their positions are renumbered without the
    other contexts. If the first context that supports a target finds it in full, any supporting
    context within the budget finds the target in full. For all other targets, a rise of credit
    counts only if all contexts that contribute to it are within the budget.
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
    """Return 1.0 for each row with a forbidden context within the budget, else 0.0.

    A row with unknown costs has NaN.
    """
    paid = _Paid.of(outcomes, budget)
    left = paid.moved(forbidden.rows, forbidden.values) > 0
    return np.where(paid.is_known, count_sums(left, forbidden.offsets) > 0, np.nan)


def findings_of(outcomes: FoundColumns, row: int, findings: Findings) -> Findings:
    """Return a row's findings with the credit and ranks in these columns, without evidence."""
    placed = outcomes.placed(row, findings)
    ranks = [] if outcomes.ranks is None else outcomes.ranks.of_row(row)
    return by_rank(placed, ranks) if ranks else placed


def _judged(judgments: Judgments, paid: _Paid) -> Judgments:
    """Return the judgments of the contexts that a budget pays for, at their new positions.

    The column `grades` is unchanged.
    """
    placed = judgments.placed.values.copy()
    placed["position"] = paid.moved(judgments.placed.rows, placed["position"])
    left = Lists(placed, judgments.placed.offsets).kept(placed["position"] > 0)
    return replace(judgments, placed=left)


@dataclass(frozen=True)
class _Paid:
    """For each context, its position among the contexts paid for; 0 if it is not paid for.

    `is_known` marks the rows whose contexts have known costs.
    """

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
        """Return the new positions of contexts, given the row and the old position of each.

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
        """Return the given ranks without those of contexts that are not paid for."""
        return ranks.kept(self.moved(ranks.rows, ranks.nth) > 0)


def _steps(outcomes: FoundColumns, paid: _Paid, gone: NDArray[np.bool_], left: Lists) -> Lists:
    """Return the rises of each target's credit that the paid contexts still earn.

    `gone` marks the supporting contexts that are not paid for; `left` has the new positions of the
    supporting contexts that are paid for.
    """
    steps, support = outcomes.rising, outcomes.supporting
    credits_ = steps.values["credit"]
    moved = paid.moved(outcomes.row_of_target[steps.rows], steps.values["position"])
    is_kept = (moved > 0) & (_unpaid_support(steps, support, gone) == 0)
    # Credits are cumulative, so subtract each lost rise from all later credits of its target.
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
    """Return, for each rise of credit, how many of its contributing contexts are not paid for.

    A context contributes to a rise if it supports the target and comes after the target's previous
    rise, but not after this rise.
    """
    positions = Lists(steps.values["position"], steps.offsets)
    passed = positions.up_to(support.rows, support.values - 1)  # the number of earlier steps
    owned = passed < steps.counts[support.rows]
    nth = steps.offsets[support.rows] + passed
    return np.bincount(nth[gone & owned], minlength=len(steps.values))
