"""The interval of completeness holds where data are missing and labels are wrong."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import stats

from fullrecall.testset.completeness import (
    KINDS,
    Share,
    Stratum,
    Total,
    allocation,
    completeness,
    drawn,
    labels_needed,
    missing,
    share_of,
    strata_of,
    with_textless,
)

WORLDS = 200


def test_rare_strata_have_fay_and_feuers_interval() -> None:
    """With v = Σ w²x and w = max w_h, as their paper has it; rounded outward."""
    strata = [Stratum("no", 100, 20, 2), Stratum("no", 900, 30, 1)]
    weights, hits = np.array([5.0, 30.0]), np.array([2, 1])
    value, v, w = float(weights @ hits), float(weights**2 @ hits), 30.0
    high = stats.gamma.ppf(0.975, (value + w) ** 2 / (v + w**2), scale=(v + w**2) / (value + w))
    low = stats.gamma.ppf(0.025, value**2 / v, scale=v / value)
    assert missing(strata) == (value, np.floor(low), np.ceil(high))


@pytest.mark.parametrize(("size", "labeled", "relevant"), [(60, 20, 9), (200, 40, 3), (40, 39, 2)])
def test_dense_strata_have_the_mid_p_hypergeometric_interval(
    size: int, labeled: int, relevant: int
) -> None:
    """The totals at which what was seen is not rare on either side, by SciPy's distribution."""

    def kept(count: int) -> bool:
        there = stats.hypergeom(size, count, labeled)
        half = there.pmf(relevant) / 2
        return bool(there.cdf(relevant - 1) + half > 0.025 and there.sf(relevant) + half > 0.025)

    totals = [count for count in range(relevant, size - labeled + relevant + 1) if kept(count)]
    found = missing([Stratum("yes", size, labeled, relevant)])
    assert found is not None
    assert found.low == pytest.approx(totals[0], abs=1)
    assert found.high == pytest.approx(totals[-1], abs=1)


def test_no_hit_leaves_an_upper_bound() -> None:
    """Nothing found is not nothing there: 3.69 times the weight is still possible."""
    assert missing([Stratum("no", 1_000, 100, 0)]) == (0, 0, 37)


def test_a_whole_stratum_is_counted() -> None:
    """What was labeled as a whole has no uncertainty; what was not looked at has no total."""
    assert missing([Stratum("no", 40, 40, 7), Stratum("yes", 10, 10, 0)]) == (7, 7, 7)
    assert missing([Stratum("no", 40, 0, 0)]) is None
    assert missing([Stratum("no", 0, 0, 0)]) == (0, 0, 0)
    assert completeness(21, Total(7, 7, 7)) == pytest.approx((0.75, 0.75, 0.75))
    assert completeness(0, Total(0, 0, 0)) == Share(1, 0, 1)
    assert share_of(Total(3, 3, 3), Total(1, 1, 1)) == pytest.approx((0.75, 0.75, 0.75))


def test_wrong_labels_widen_the_interval() -> None:
    """More where one person's word stands alone; the figure itself stays."""
    strata = [Stratum("yes", 100, 30, 12), Stratum("no", 900, 150, 3)]
    alone = [s._replace(twice=False) for s in strata]
    honest, twice, once = missing(strata), missing(strata, 0.05), missing(alone, 0.05)
    assert honest.value == twice.value == once.value
    assert once.low <= twice.low < honest.low
    assert twice.high > honest.high


def test_what_has_no_text_is_added_in_proportion() -> None:
    """As the references without a text are to those with one, and never more than there are."""
    value, low, high = with_textless(Total(40, 30, 60), 80, 20, 100)
    assert value == 50
    assert low < 30 * 1.25 < 60 * 1.25 < high
    assert with_textless(Total(40, 30, 60), 80, 20, 5).high == 65


def test_strata_and_labels_are_drawn_near_the_top_first() -> None:
    """By what the judge said, by nearness, at least ten of each."""
    kinds = ["yes"] * 50 + ["no"] * 400 + ["no verdict"] * 50
    strata = strata_of(kinds, [1 / (1 + at % 50) for at in range(500)])
    assert [len(members) for members in strata] == [20, 30, 20, 40, 100, 240, 5, 15, 30]
    assert all(kinds[at] == kind for kind, of in zip(KINDS, strata, strict=True) for at in of)
    counts = allocation([len(members) for members in strata], 200)
    assert sum(counts) == 200
    assert min(counts) == 5
    assert drawn(strata, 200, 1) == drawn(strata, 200, 1) != drawn(strata, 200, 2)
    assert len(drawn(strata, 10**6, 0)) == 500
    assert 50 <= labels_needed([len(members) for members in strata], 60) <= 500


@pytest.mark.long
@pytest.mark.parametrize(("silent", "wrong"), [(0.6, 0.0), (0.6, 0.05)])
def test_intervals_cover(silent: float, wrong: float) -> None:
    """In made worlds, 200 each, 95 % within chance; the benchmark has real collections."""
    held = 0
    for world in range(WORLDS):
        draw = random.Random(f"{silent}:{wrong}:{world}")
        truth = [draw.random() < (0.5 if at < 60 else 0.02) for at in range(900)]
        kinds = [
            "no verdict" if draw.random() < silent * (1 if relevant else 0.5)
            else "yes" if draw.random() < (0.85 if relevant else 0.05) else "no"
            for relevant in truth
        ]  # fmt: skip
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
