"""Simulations of decisions: `compare` and `smallest_k` err as often as they say, and no more."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fullrecall import IdRecall, Report, Row, Sample, evaluate
from fullrecall.report import compare

POOL = 4_000
K = 8


def pool(seed: int, *, reach: float) -> list[Row]:
    """Return scored rows: one to three targets each, of which a share is found, mostly early."""
    rng = random.Random(seed)
    samples = []
    for n in range(POOL):
        targets = [f"t{target}" for target in range(rng.randint(1, 3))]
        ranked = [f"x{rank}" for rank in range(K)]
        ease = rng.betavariate(4, 1.5)
        for target in targets:
            rank = int(rng.expovariate(0.5))
            if rng.random() < reach + (1 - reach) * ease and rank < K:
                ranked[rank] = target
        # Whoever is overwritten is not found.
        samples.append(Sample(retrieved_ids=ranked, expected_ids=targets, metadata={"n": n}))
    return list(evaluate(samples, IdRecall(ks=()), progress=False))


def drawn(rows: list[Row], rng: random.Random, count: int) -> Report:
    """Return a report of `count` rows, drawn from all."""
    return Report.of([rows[0].results[0].method], rng.choices(rows, k=count))


@pytest.mark.parametrize("count", [40, 100])
def test_smallest_k_errs_at_most_at_its_rate(count: int) -> None:
    """The k found has a mean below the target in at most 5% of the runs, over the whole search.

    The target is a hair above the true mean at k = 3, so that k = 3 and all below are too small,
    and that at 3 is the hardest of all to tell.
    """
    rows = pool(1, reach=0.9)
    truth = {k: float(np.mean([row.results[0].at[k] for row in rows])) for k in range(1, K + 1)}
    target = truth[3] + 1e-9
    rng, runs, wrong, found = random.Random(count), 1_200, 0, 0
    for _ in range(runs):
        answer = drawn(rows, rng, count).smallest_k(target)
        found += answer.k is not None
        wrong += answer.k is not None and truth[answer.k] < target
    assert wrong / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5
    assert wrong  # the simulation can fail
    assert found / runs > 0.5


def test_the_other_way_round_would_err_more() -> None:
    """Why the search goes down: going up, the first k whose bound passes errs at each k anew."""
    from fullrecall.report.statistics import decision_bounds
    from fullrecall.report.totals import spread_of

    rng = np.random.default_rng(2)
    # Means that hardly rise with k, each just below the target: many chances to err.
    wrong_up = wrong_down = 0
    for _ in range(1_000):
        lower = []
        for _ in range(6):
            bounds = decision_bounds(spread_of((rng.random(60) < 0.8).astype(float).tolist()))
            assert bounds is not None
            lower.append(bounds.low)
        wrong_up += max(lower) >= 0.8
        wrong_down += lower[-1] >= 0.8
    assert wrong_up / 1_000 > 0.1
    assert wrong_down / 1_000 <= 0.06


@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "in groups"])
def test_compare_rejects_as_often_as_it_says_under_no_difference(*, grouped: bool) -> None:
    """Two runs of one retriever differ by chance alone: p <= 0.05 in 4 to 6% of comparisons."""
    rng = random.Random(3 + grouped)
    method = pool(4, reach=0.5)[0].results[0].method
    pairs = list(zip(pool(4, reach=0.5), pool(5, reach=0.5), strict=True))
    rejected, runs = 0, 2_500
    for run in range(runs):
        before, after = [], []
        for n, (one, two) in enumerate(rng.choices(pairs, k=60)):
            sample = Sample(id=n, group=n // 3 if grouped else None)
            if grouped and n % 3:  # alike within a group: the same pair again
                one, two = before[-1], after[-1]  # noqa: PLW2901
            elif rng.random() < 0.5:
                one, two = two, one  # noqa: PLW2901
            before.append(Row(n, sample, one.results))
            after.append(Row(n, sample, two.results))
        comparison = compare(
            Report.of([method], before), Report.of([method], after), resamples=199, seed=run
        )
        rejected += comparison["id_recall"].p <= 0.05
    assert 0.04 <= rejected / runs <= 0.06
