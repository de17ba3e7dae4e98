"""Discounted gains: the gain that each context adds, from the grades of its targets."""

from __future__ import annotations

import numpy as np

from fullrecall.measures.found import FoundColumns
from fullrecall.measures.lists import (
    Floats,
    Integers,
    Lists,
    discounts,
    powers,
    rises_of,
    row_maxima,
)

_LARGEST_POWER = 512
"""The largest exponent of 2 that is computed, so that powers are finite."""


def discounted_gains(outcomes: FoundColumns, k: int | None, gain: str) -> tuple[Lists, Lists]:
    """Return the DCG terms of the contexts within `k`, and those of the ideal ranking.

    The `gain` of a target is "linear" or "exponential" in its grade. The ideal ranking has the
    largest gain first, and each missing target at a rank of its own.
    """
    worths = outcomes.weights("grade") if gain == "linear" else exponential_grades(outcomes)
    rows, positions, gains = _gains(outcomes, worths)
    ideal = _ideal(outcomes, k, worths, rows, gains)
    added, ranks = _ranked(outcomes, k, rows, positions, gains)
    return Lists(added.values / discounts(ranks), added.offsets), ideal


def added_gains(outcomes: FoundColumns, k: int | None, worths: Floats) -> tuple[Lists, Integers]:
    """Return the gains of each row's contexts within `k`, and the rank of each."""
    return _ranked(outcomes, k, *_gains(outcomes, worths))


def exponential_grades(outcomes: FoundColumns, top: float | None = None) -> Floats:
    """Return (2^grade - 1) / 2^`top` of each target.

    If `top` is None, 0 is used. In a row with a grade above 512, the highest grade minus 512 is
    used instead, so that all powers are finite.
    """
    grades = outcomes.weights("grade")
    lowered = np.full(len(grades), 0.0 if top is None else float(top))
    if top is None and outcomes.grade is not None:
        largest = row_maxima(grades, outcomes.first.offsets)
        lowered = (largest - _LARGEST_POWER).clip(min=0)[outcomes.row_of_target]
    return powers(grades - lowered) - powers(-lowered)


def _ranked(
    outcomes: FoundColumns, k: int | None, rows: Integers, positions: Integers, gains: Floats
) -> tuple[Lists, Integers]:
    within = positions <= outcomes.cut(k)[rows]
    rows, positions = rows[within], positions[within]
    return Lists(gains[within], outcomes.offsets_of_rows(rows)), outcomes.rank_of(rows, positions)


def _ideal(
    outcomes: FoundColumns, k: int | None, worths: Floats, rows: Integers, gains: Floats
) -> Lists:
    reached = row_maxima(outcomes.rising.values["credit"], outcomes.rising.offsets)
    missing = worths * (1.0 - reached)
    rows, gains = np.concatenate([outcomes.row_of_target, rows]), np.concatenate([missing, gains])
    rows, gains = rows[gains > 0], gains[gains > 0]
    is_sorted = bool((gains == gains[:1]).all())  # all gains are equal, as without grades
    order = np.argsort(rows, kind="stable") if is_sorted else np.lexsort((-gains, rows))
    rows, gains = rows[order], gains[order]
    nth = Lists(gains, outcomes.offsets_of_rows(rows)).nth - 1
    if k is not None:
        within = nth < k * outcomes.lists[rows]
        rows, gains, nth = rows[within], gains[within], nth[within]
    return Lists(gains / discounts(nth // outcomes.lists[rows] + 1), outcomes.offsets_of_rows(rows))


def _gains(outcomes: FoundColumns, worths: Floats) -> tuple[Integers, Integers, Floats]:
    """Return the row, the position and the gain of each context that raises a credit, in order."""
    targets, positions = outcomes.rising.rows, outcomes.rising.values["position"]
    gains = worths[targets] * rises_of(targets, outcomes.rising.values["credit"])
    rows = outcomes.row_of_target[targets]
    width = int(positions.max(initial=0)) + 1
    keys, which = np.unique(rows * width + positions, return_inverse=True)
    return keys // width, keys % width, np.bincount(which, gains, len(keys)).astype(float)
