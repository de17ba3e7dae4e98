"""The interval of completeness covers the truth with missing data and wrong labels."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from fullrecall.testset.completeness import (
    KINDS,
    Figure,
    Stratum,
    _Gamma,
    completeness,
    drawn,
    labels_needed,
    missing,
    strata_of,
)

WORLDS = 200


def test_rare_strata_have_fay_and_kims_interval() -> None:
    """The interval of rare strata is a mixture of two gamma distributions, as by SciPy."""
    strata = [Stratum("no", 100, 20, 2), Stratum("no", 900, 30, 1)]
    # Drawing is without replacement: a half less.
    weights, hits = np.array([4.5, 29.5]), np.array([2, 1])
    mean, variance = float(weights @ hits), float(weights**2 @ hits)

    def gamma(mean: float, variance: float) -> Any:
        return stats.gamma(mean**2 / variance, scale=variance / mean)

    fewer, more = gamma(mean, variance), gamma(mean + 29.5, variance + 29.5**2)
    low, high = (
        optimize.brentq(lambda x, c=chance: (fewer.cdf(x) + more.cdf(x)) / 2 - c, 1e-9, 1_000)
        for chance in (0.025, 0.975)
    )
    value = 5.0 * 2 + 30 * 1
    spread = value - mean
    assert missing(strata) == (value, np.floor(low + spread), np.floor(high + spread))


@pytest.mark.parametrize("shape", [0.3, 1.0, 40.0])
def test_gamma_probabilities_are_scipys(shape: float) -> None:
    """Gamma probabilities equal SciPy's, even where a series would overflow."""
    for x in (0.0, 0.1, 1.0, 30.0, 60.0, 1_000.0, 1e6):
        assert _Gamma(shape, 2.0).cdf(2 * x) == pytest.approx(stats.gamma(shape).cdf(x), abs=1e-12)


@pytest.mark.parametrize(("size", "labeled"), [(1_000, 100), (600, 150), (2_000, 100)])
@pytest.mark.parametrize("relevant", [0, 1, 2])
def test_a_single_rare_stratum_has_nearly_the_exact_interval(
    size: int, labeled: int, relevant: int
) -> None:
    """The upper bound is at most a tenth above that of the mid-p hypergeometric distribution."""
    counts = np.arange(relevant, size)
    there = stats.hypergeom(size, counts, labeled)
    exact = counts[there.cdf(relevant - 1) + there.pmf(relevant) / 2 > 0.025].max()
    total = missing([Stratum("no", size, labeled, relevant)])
    assert total is not None
    assert exact <= total.high <= 1.1 * exact


@pytest.mark.parametrize(("size", "labeled", "relevant"), [(60, 20, 9), (200, 40, 3), (40, 39, 2)])
def test_dense_strata_have_the_mid_p_hypergeometric_interval(
    size: int, labeled: int, relevant: int
) -> None:
    """The interval holds the totals for which the labels are not rare, by SciPy's distribution."""
    counts = np.arange(relevant, size - labeled + relevant + 1)
    there = stats.hypergeom(size, counts, labeled)
    half = there.pmf(relevant) / 2
    low, high = there.cdf(relevant - 1) + half, there.sf(relevant) + half
    totals = counts[(low > 0.025) & (high > 0.025)]
    found = missing([Stratum("yes", size, labeled, relevant)])
    assert found is not None
    assert found.low == pytest.approx(totals[0], abs=1)
    assert found.high == pytest.approx(totals[-1], abs=1)


def test_no_hit_leaves_an_upper_bound() -> None:
    """Without a hit, the upper bound is 3.00 times the weight."""
    assert missing([Stratum("no", 1_000, 100, 0)]) == (0, 0, 28)


def test_labels_bound_the_total() -> None:
    """Correct labels bound the total on both sides, and wrong labels lower the low end."""
    strata = [Stratum("yes", 23, 22, 4), Stratum("yes", 35, 31, 1), Stratum("no", 600, 590, 1)]
    honest, doubted = missing(strata), missing(strata, 0.05)
    assert honest is not None
    assert doubted is not None
    assert honest.low >= 6
    assert honest.high <= 6 + 1 + 4 + 10
    assert doubted.low < 6


def test_a_whole_stratum_is_counted() -> None:
    """A stratum that is labeled as a whole has no uncertainty."""
    assert missing([Stratum("no", 40, 40, 7), Stratum("yes", 10, 10, 0)]) == (7, 7, 7)
    assert missing([Stratum("no", 0, 0, 0)]) == (0, 0, 0)
    assert completeness(21, Figure(7, 7, 7)) == pytest.approx((0.75, 0.75, 0.75))
    assert completeness(0, Figure(0, 0, 0)) == Figure(1, 0, 1)


def test_wrong_labels_widen_the_interval() -> None:
    """Wrong labels of a single rater widen the interval more than those of two raters."""
    strata = [Stratum("yes", 100, 30, 12), Stratum("no", 900, 150, 3)]
    alone = [s._replace(twice=False) for s in strata]
    honest, twice, once = missing(strata), missing(strata, 0.05), missing(alone, 0.05)
    assert honest.value == twice.value == once.value
    assert once.low <= twice.low < honest.low
    assert twice.high > honest.high


def test_strata_and_labels_are_drawn_near_the_top_first() -> None:
    """Strata are by verdict and nearness; at least ten labels, or all, are drawn of each."""
    kinds = ["yes"] * 50 + ["no"] * 400 + ["no verdict"] * 50
    strata = strata_of(kinds, [1 / (1 + at % 50) for at in range(500)])
    assert [len(members) for members in strata] == [20, 30, 20, 40, 100, 240, 5, 15, 30]
    assert all(kinds[at] == kind for kind, of in zip(KINDS, strata, strict=True) for at in of)
    assert {at % 50 for at in strata[2]} == {0, 1, 2}
    chosen = set(drawn(strata, 200, 1))
    assert len(chosen) == 200
    assert min(len(chosen & set(members)) for members in strata) == 5
    assert drawn(strata, 200, 1) == drawn(strata, 200, 1) != drawn(strata, 200, 2)
    assert len(drawn(strata, 10**6, 0)) == 500
    assert 50 <= labels_needed([len(members) for members in strata], 60) <= 500


@pytest.mark.long
@pytest.mark.parametrize(("silent", "wrong"), [(0.6, 0.0), (0.6, 0.05)])
def test_intervals_cover(silent: float, wrong: float) -> None:
    """Intervals cover 95 % of 200 made worlds, within chance; the benchmark has real ones."""
    held = 0
    for world in range(WORLDS):
        draw = random.Random(f"{silent}:{wrong}:{world}")
        truth = [draw.random() < (0.5 if at < 60 else 0.02) for at in range(900)]
        kinds = [
            "no verdict"
            if draw.random() < silent * (1 if relevant else 0.5)
            else "yes"
            if draw.random() < (0.85 if relevant else 0.05)
            else "no"
            for relevant in truth
        ]
        strata = strata_of(kinds, [1 / (10 + at) for at in range(900)])
        said = {}
        for at in drawn(strata, 200, world):
            first, second = (truth[at] != (draw.random() < wrong) for _ in range(2))
            said[at] = first and (second or kinds[at] == "yes")
        total = missing(
            [
                Stratum(
                    kind, len(of), sum(at in said for at in of), sum(said.get(at, 0) for at in of)
                )
                for kind, of in zip(KINDS, strata, strict=True)
            ],
            0.05 if wrong else 0.0,
        )
        held += total.low <= sum(truth) <= total.high
    assert stats.binom.cdf(held, WORLDS, 0.95) > 0.001


@pytest.mark.parametrize(
    ("strata", "error", "figure"),
    [
        ([("yes", 40, 20, 12)], 0.0, (24, 18, 29)),
        ([("yes", 40, 20, 12)], 0.05, (24, 15, 32)),
        ([("yes", 40, 40, 12)], 0.0, (12, 12, 12)),
        ([("yes", 40, 40, 12)], 0.05, (12, 8, 13)),
        ([("yes", 40, 20, 20)], 0.0, (40, 36, 40)),
        ([("yes", 40, 20, 0)], 0.0, (0, 0, 4)),
        ([("no", 400, 50, 0)], 0.05, (0, 0, 23)),
        ([("no", 400, 50, 1, False)], 0.05, (8, 0, 37)),
        # three hits, and 15 % of the labels, make a stratum dense
        ([("no", 400, 20, 3)], 0.0, (60, 17, 140)),
        ([("no", 400, 21, 3)], 0.0, (400 / 7, 15, 152)),
        ([("no", 400, 13, 2)], 0.0, (800 / 13, 11, 201)),
        ([("no", 30, 29, 1)], 0.0, (30 / 29, 1, 2)),
        ([("no", 30, 30, 1)], 0.0, (1, 1, 1)),
        ([("no", 400, 50, 1), ("no", 600, 30, 1, False)], 0.05, (28, 0, 110)),
        ([("no", 400, 50, 1), ("no verdict", 60, 10, 1)], 0.05, (14, 0, 52)),
        ([("yes", 40, 20, 12), ("no", 400, 50, 0), ("no", 0, 0, 0)], 0.0, (24, 18, 47)),
        ([], 0.0, (0, 0, 0)),
    ],
)
def test_totals_of_examples(
    strata: list[tuple[Any, ...]], error: float, figure: tuple[float, float, float]
) -> None:
    """Dense and sparse strata, with and without a second label or an error, are added."""
    total = missing([Stratum(*each) for each in strata], error)
    assert tuple(total) == pytest.approx(figure)


def test_completeness_of_examples() -> None:
    """Nothing known and nothing missing is complete; the ends change places."""
    assert completeness(0, Figure(0, 0, 0)) == (1, 0, 1)
    assert completeness(0, Figure(5, 2, 9)) == (0, 0, 0)
    assert completeness(10, Figure(5, 2, 9)) == pytest.approx((10 / 15, 10 / 19, 10 / 12))
