"""The interval of completeness holds where those that are at hand do not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from fullrecall.testset.completeness import (
    Share,
    Stratum,
    Total,
    allocation,
    completeness,
    drawn,
    edges,
    tail_needed,
    total,
)

WORLDS = 300
QUESTIONS, DOCUMENTS = 60, 500
DEPTH, FRAME, DRAWN = 10, 200, 300


def test_the_interval_is_fay_and_feuers() -> None:
    """With v = Σ w²x and w = max w_h, as their paper has it."""
    strata = [Stratum(100, 20, 3), Stratum(900, 30, 1)]
    weights, hits = np.array([5.0, 30.0]), np.array([3, 1])
    value, v, w = float(weights @ hits), float(weights**2 @ hits), 30.0
    high = stats.gamma.ppf(0.975, (value + w) ** 2 / (v + w**2), scale=(v + w**2) / (value + w))
    low = stats.gamma.ppf(0.025, value**2 / v, scale=v / value)
    assert total(strata) == pytest.approx((value, low, high))


def test_no_hit_leaves_an_upper_bound() -> None:
    """Nothing found is not nothing there: 3.69 times the weight is still possible."""
    assert total([Stratum(1_000, 100, 0)]) == pytest.approx((0.0, 0.0, 36.888794541), rel=1e-6)


def test_a_whole_stratum_is_counted() -> None:
    """What was looked at as a whole has no uncertainty; the whole frame makes it exact."""
    assert total([Stratum(40, 40, 7), Stratum(10, 10, 0)]) == (7, 7, 7)
    exact = completeness(Total(21, 21, 21), Total(7, 7, 7))
    assert exact == pytest.approx(Share(0.75, 0.75, 0.75))


def test_what_was_not_looked_at_has_no_total() -> None:
    """A stratum without a draw is unknown, an empty one is not."""
    assert total([Stratum(40, 0, 0)]) is None
    assert total([Stratum(0, 0, 0)]) == (0, 0, 0)


def test_strata_are_geometric_and_drawn_by_rank() -> None:
    """Near ranks are drawn more densely, every stratum at least five times, all in all n."""
    assert edges(20, 100) == [28, 38, 53, 72, 100]
    assert edges(100, 100) == []
    sizes, ranks = [800, 1_000, 1_500, 1_900, 2_800], [24, 33, 45, 62, 86]
    counts = allocation(sizes, ranks, 1_000)
    rates = [count / size for count, size in zip(counts, sizes, strict=True)]
    assert sum(counts) == 1_000
    assert rates == sorted(rates, reverse=True)
    assert allocation([3, 2_000], [21, 90], 20) == [3, 17]
    assert allocation([3, 4], [21, 90], 20) == [3, 4]
    assert min(allocation([10, 100_000], [99, 21], 50)) == 5


def test_the_draw_is_by_its_seed() -> None:
    """The same seed draws the same, another does not."""
    strata, ranks = {0: range(100), 1: range(100, 300)}, {0: 20.0, 1: 80.0}
    assert drawn(strata, ranks, 40, 1) == drawn(strata, ranks, 40, 1) != drawn(strata, ranks, 40, 2)


def test_the_plan_for_a_lower_bound_holds() -> None:
    """So many draws without a hit show the completeness that was wanted."""
    n = tail_needed(8_000, 200, 0.8)
    missed = total([Stratum(8_000, n, 0)])
    assert missed is not None
    assert completeness(Total(200, 200, 200), missed).low == pytest.approx(0.8, abs=0.002)


class World(NamedTuple):
    """One made-up collection: what was pooled, and a sample of what was not."""

    truth: float
    gamma: Share
    chao: float
    bootstrap: tuple[float, float]


def world(seed: int, lift: float, n: int = DRAWN) -> World:
    """Return a world whose three retrievers share what makes them find a document."""
    draw = np.random.default_rng([seed, round(10 * lift)])
    relevant = np.zeros((QUESTIONS, DOCUMENTS), dtype=bool)
    for row in relevant:
        row[draw.choice(DOCUMENTS, 1 + draw.poisson(5), replace=False)] = True
    strength = draw.normal(lift * relevant, 1.0)
    scores = [0.8 * strength + 0.6 * draw.normal(size=strength.shape) for _ in range(3)]
    ranks = np.stack([(-one).argsort(axis=1).argsort(axis=1) + 1 for one in scores])
    best = ranks.min(axis=0)
    pooled, framed = best <= DEPTH, best <= FRAME
    known, missed = (relevant & pooled).sum(), (relevant & framed & ~pooled).sum()
    chao = chao_2(((ranks <= DEPTH) & relevant).sum(axis=0))
    strata = strata_of(best, framed & ~pooled)
    means = {s: float(best.ravel()[members].mean()) for s, members in strata.items()}
    picked = drawn(strata, means, n, seed)
    hits = {s: relevant.ravel()[members].tolist() for s, members in picked.items()}
    estimate = total([Stratum(len(strata[s]), len(hits[s]), sum(hits[s])) for s in strata])
    assert estimate is not None
    found = Total(known, known, known)
    return World(
        known / (known + missed),
        completeness(found, estimate),
        known / max(known, chao),
        bootstrap(strata, hits, known, draw),
    )


def strata_of(best: Any, tail: Any) -> dict[int, list[int]]:
    """Return the places of the tail by stratum of their best rank."""
    places = tail.ravel().nonzero()[0]
    numbers = np.searchsorted(edges(DEPTH, FRAME), best.ravel()[places])
    return {number: places[numbers == number].tolist() for number in range(int(numbers.max()) + 1)}


def chao_2(times: Any) -> float:
    """Return Chao's estimate of all relevant from how many retrievers found each."""
    once, twice = (times == 1).sum(), (times == 2).sum()
    return float((times > 0).sum() + (2 / 3) * once * (once - 1) / (2 * (twice + 1)))


def bootstrap(strata: Any, hits: Any, known: int, draw: Any) -> tuple[float, float]:
    """Return the percentile interval of resampling what was drawn."""
    totals = np.zeros(400)
    for name, members in strata.items():
        if hits[name]:
            again = draw.binomial(len(hits[name]), np.mean(hits[name]), size=400)
            totals += len(members) * again / len(hits[name])
    shares = known / (known + totals)
    return float(np.quantile(shares, 0.025)), float(np.quantile(shares, 0.975))


@pytest.mark.parametrize("lift", [1.0, 2.0, 3.0])
def test_the_interval_covers_where_others_fail(lift: float) -> None:
    """Of 300 worlds it holds the truth in 95 % at least; Chao's is off, the bootstrap covers less.

    That the two fail shows that the test can tell.
    """
    worlds = [world(seed, lift) for seed in range(WORLDS)]
    covered = np.mean([one.gamma.low <= one.truth <= one.gamma.high for one in worlds])
    assert covered >= 0.95
    assert np.mean([one.chao - one.truth for one in worlds]) >= 0.15
    low_high = [one.bootstrap[0] <= one.truth <= one.bootstrap[1] for one in worlds]
    assert np.mean(low_high) <= 0.92


@pytest.mark.parametrize("lift", [1.0, 3.0])
def test_a_large_sample_is_unbiased(lift: float) -> None:
    """With a thousand draws the estimate is right to 0.02 in the mean."""
    worlds = [world(seed, lift, 1_000) for seed in range(100)]
    assert abs(np.mean([one.gamma.value - one.truth for one in worlds])) <= 0.02


def test_the_whole_frame_gives_the_truth() -> None:
    """Where everything was looked at, the completeness is exact and its interval a point."""
    one = world(3, 2.0, 10**6)
    assert one.gamma == pytest.approx((one.truth,) * 3)
