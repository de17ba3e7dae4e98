"""Simulations: intervals that say 95% cover the truth 95% of the time, and bounds err no more.

Each distribution looks like recall: in [0, 1], heavy at 1, with lumps at 0 and between. The seeds
are fixed; with 1,500 repetitions a true 95% comes out between 93.3% and 96.7%.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

Draw = Callable[[Any], Any]
"""A function that turns uniform numbers into scores."""


def lumps(u: Any) -> Any:
    """One or two targets: one sample in ten finds none, three in four find all."""
    return np.where(u < 0.1, 0.0, np.where(u < 0.25, 0.5, 1.0))


def thirds(u: Any) -> Any:
    """Three targets, found independently of each other with 80%."""
    return np.searchsorted([0.008, 0.104, 0.488], u) / 3


def mixed(u: Any) -> Any:
    """Characters: some samples find nothing, most find all, the others any part."""
    return np.where(u < 0.08, 0.0, np.where(u < 0.4, (u - 0.08) / 0.32, 1.0))


def smooth(u: Any) -> Any:
    """Many targets: no lumps, skewed towards 1, with mean 5/7."""
    return 1 - (1 - u) ** 2.5


TRUTH: dict[Draw, float] = {lumps: 0.825, thirds: 0.8, mixed: 0.76, smooth: 1 - 1 / 3.5}


def covered(draw: Draw, uniform: Any, groups: list[str | None] | None = None) -> float:
    """Return the share of the rows of `uniform` whose interval covers the truth."""
    from fullrecall.calibration.estimation import mean_interval, spread_of

    hits = 0
    for values in draw(uniform):
        interval = mean_interval(spread_of(values.tolist(), groups))
        assert interval is not None
        hits += interval.low <= TRUTH[draw] <= interval.high
    return hits / len(uniform)


@pytest.mark.long
@pytest.mark.parametrize("draw", TRUTH, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize(("n", "repetitions"), [(30, 1_500), (100, 600)])
def test_intervals_cover_the_truth(draw: Draw, n: int, repetitions: int) -> None:
    """A 95% interval of a mean covers it in 93 to 97% of the samples drawn, small or larger."""
    uniform = np.random.default_rng([n, 1]).random((repetitions, n))
    assert 0.93 <= covered(draw, uniform) <= 0.97


SIZES = {
    "30 of 1 to 6": [1 + n % 6 for n in range(30)],
}


def in_groups(sizes: list[int], repetitions: int, likeness: float, seed: int) -> tuple[Any, Any]:
    """Return uniform numbers that are alike within groups, and the group of each column."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(repetitions, len(sizes))).repeat(sizes, axis=1)
    own = rng.normal(size=(repetitions, sum(sizes)))
    groups = [f"g{group}" for group, size in enumerate(sizes) for _ in range(size)]
    return ndtr(likeness**0.5 * shared + (1 - likeness) ** 0.5 * own), groups


@pytest.mark.long
@pytest.mark.parametrize("draw", [lumps, smooth], ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
def test_intervals_cover_the_truth_in_groups(draw: Draw, sizes: list[int]) -> None:
    """Samples of one group are alike (correlation 0.5): the groups count, not the samples."""
    uniform, groups = in_groups(sizes, 1_000, 0.5, seed=2)
    assert 0.93 <= covered(draw, uniform, groups) <= 0.97


@pytest.mark.long
def test_ignoring_groups_would_be_wrong() -> None:
    """The simulation can fail: without the groups the same intervals are too narrow."""
    uniform, _ = in_groups([6] * 30, 1_000, 0.5, seed=3)
    assert covered(lumps, uniform) < 0.85


@pytest.mark.parametrize("share", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("n", [30, 100])
def test_intervals_of_hits(share: float, n: int) -> None:
    """Means of hits take few values, so the coverage changes in steps."""
    from fullrecall.calibration.estimation import mean_interval, spread_of

    hits = (np.random.default_rng([n, 4]).random((4_000, n)) < share).sum(axis=1)
    intervals = {
        found: mean_interval(spread_of([1.0] * found + [0.0] * (n - found)))
        for found in set(hits.tolist())
    }
    inside = [i for i, at in intervals.items() if at and at.low <= share <= at.high]
    assert 0.93 <= np.isin(hits, inside).mean() <= 0.98
