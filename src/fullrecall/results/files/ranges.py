"""Which rows: ascending whole numbers as runs of neighbors, each from its first to its last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from fullrecall.table.lists import Integers

Runs: TypeAlias = Sequence[tuple[int, int]]
"""Runs of whole numbers, both ends included: ascending, apart, and not next to each other."""

_SHOWN = 5


def runs_of(numbers: Integers) -> Runs:
    """Return the runs of distinct numbers that ascend."""
    breaks = np.flatnonzero(np.diff(numbers) > 1)
    firsts = numbers[np.concatenate([[0], breaks + 1])] if len(numbers) else numbers
    lasts = numbers[np.concatenate([breaks, [-1]])] if len(numbers) else numbers
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def gaps_of(numbers: Integers, count: int) -> Runs:
    """Return the runs of the numbers below `count` that are not among these, which ascend."""
    edges = np.concatenate([[-1], numbers[numbers < count], [count]])
    breaks = np.flatnonzero(np.diff(edges) > 1)
    return list(zip((edges[breaks] + 1).tolist(), (edges[breaks + 1] - 1).tolist(), strict=True))


def in_words(runs: Runs) -> str:
    """Return the runs for people: "500 to 999, 2,000, and 12 more ranges"."""
    shown = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in runs[:_SHOWN]]
    more = len(runs) - _SHOWN
    if more > 0:
        shown.append(f"and {more:,} more range{'s' if more > 1 else ''}")
    return ", ".join(shown)
