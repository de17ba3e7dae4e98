"""Sign flips and the interval that inverts them: one set of subsets, so the two never disagree."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullrecall.errors import ParameterError
from fullrecall.results.sign_flips import SignFlips, sign_flips
from fullrecall.results.bounds import alpha_of

CHANGES = [0.5, -0.25, 0.0, 1.0, 0.5, 0.75, -0.5, 0.25]


def flips(changes: list[float], sizes: list[float] | None = None, **options: Any) -> SignFlips:
    """Return what sign flips say of one figure."""
    (found,) = sign_flips([[change] for change in changes], sizes, **options)
    return found


def excludes_0(found: SignFlips) -> bool:
    """Return whether the interval leaves out 0."""
    return not found.interval.low <= 0 <= found.interval.high


def subset_means(sums: list[float], sizes: list[float]) -> list[float]:
    """Return the sorted means of all nonempty subsets, by hand."""
    places = range(len(sums))
    return sorted(
        sum(sums[g] for g in subset) / sum(sizes[g] for g in subset)
        for count in range(1, len(sums) + 1)
        for subset in combinations(places, count)
    )


class TestInversion:
    """The p-value and the interval are one test."""

    @pytest.mark.parametrize("sizes", [None, [1, 2, 3, 4, 1, 2, 3, 4]], ids=["alone", "in groups"])
    def test_of_few_groups_all_subsets_count(self, sizes: list[float] | None) -> None:
        """By hand: limits are order statistics of subset means, p counts those beyond 0."""
        means = subset_means(CHANGES, sizes or [1] * 8)
        found = flips(CHANGES, sizes)
        assert len(means) == 255
        assert found.interval[:2] == pytest.approx((means[5], means[-6]))
        beyond = min(sum(mean <= 0 for mean in means), sum(mean >= 0 for mean in means))
        assert found.p == 2 * (beyond + 1) / 256

    @pytest.mark.parametrize("sizes", [None, [1, 2, 3, 4, 1, 2, 3, 4]], ids=["alone", "in groups"])
    def test_the_interval_is_where_the_test_of_a_shift_does_not_reject(
        self, sizes: list[float] | None
    ) -> None:
        """Tested at each shift by flipping signs outright, the shifts that are kept are those."""
        weights = np.array(sizes or [1] * 8)
        low, high, _ = flips(CHANGES, sizes).interval
        signs = 1 - 2 * (np.arange(256)[:, None] >> np.arange(8) & 1)
        for shift in np.linspace(-0.6, 1.1, 400):
            shifted = np.array(CHANGES) - shift * weights
            sums, seen = signs @ shifted, shifted.sum()
            p = 2 * min((sums >= seen - 1e-12).mean(), (sums <= seen + 1e-12).mean())
            assert (p > 0.05) == (low <= shift <= high)

    def test_p_and_interval_never_disagree(self) -> None:
        """2,000 random cases with ties, groups, and rounding: p <= alpha iff 0 is left out."""
        rng = np.random.default_rng(7)
        decided = 0
        for case in range(2_000):
            groups = int(rng.integers(1, 25))
            steps = rng.choice([2, 3, 10])
            sizes = rng.integers(1, 5, groups) if case % 2 else np.ones(groups)
            drawn = rng.integers(-steps, steps + 1, groups) + rng.choice([0, 1]) * (steps // 2)
            sums = np.clip(drawn, -steps, steps) / steps * sizes * rng.choice([0.1, 1 / 3, 1])
            sums[rng.random(groups) < 0.2] = 0
            confidence = float(rng.choice([0.8, 0.9, 0.95, 0.99]))
            found = flips(
                sums.tolist(), sizes.tolist(), confidence=confidence, resamples=399, seed=case
            )
            assert (found.p <= alpha_of(confidence)) == excludes_0(found) == found.differs
            decided += found.differs
        assert 300 < decided < 1_700

    @pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.98, 0.99])
    def test_nor_at_the_very_level(self, confidence: float) -> None:
        """Where p is exactly 1 - confidence, which binary fractions miss by a hair, 0 is left out.

        Shifted so that the lower limit is just above 0, p is the level; just below, it is more.
        """
        changes = np.random.default_rng(3).normal(0.1, 0.2, 30)
        low = flips(changes.tolist(), confidence=confidence, resamples=999).interval.low
        above, below = (
            flips((changes - low + off).tolist(), confidence=confidence, resamples=999)
            for off in (1e-9, -1e-9)
        )
        assert above.p == alpha_of(confidence) < below.p
        assert excludes_0(above)
        assert above.differs
        assert not excludes_0(below)
        assert not below.differs


class TestTies:
    """What is equal but for rounding is equal."""

    def test_sums_that_cancel_but_for_rounding_are_0(self) -> None:
        """0.1 + 0.2 - 0.3 is 0: scaled by a tenth, a case gives the p of whole numbers."""
        whole = [1, 2, -3, 4, -1, 5, 2, 2, 3, -2]
        tenths = [number / 10 for number in whole]
        assert sum(tenths[:3]) != 0
        assert flips(tenths).p == flips(whole).p
        assert flips([-number for number in tenths]).p == flips(whole).p

    def test_unchanged_groups_stay_in_the_mean(self) -> None:
        """Ties pull the interval towards 0 as they do the mean: they are not dropped."""
        changes = [0.5, 0.25, 0.75, 0.5, 1.0, 0.25, 0.5]
        without, with_ties = flips(changes), flips([*changes, *[0.0] * 5])
        assert with_ties.interval.low < without.interval.low
        assert with_ties.interval.high < without.interval.high
        assert without.differs
        assert with_ties.differs

    def test_nothing_changed_says_nothing(self) -> None:
        """All differences 0: p is 1 and the interval all of [-1, 1], not the single point 0."""
        for changes in ([0.0] * 50, [1e-17, -1e-17] * 25):
            found = flips(changes)
            assert (found.p, found.interval[:2]) == (1.0, (-1.0, 1.0))


class TestRanges:
    """Few groups, no groups, out of range."""

    def test_fewer_than_six_groups_say_nothing_at_95_percent(self) -> None:
        """2 / 2^5 is above .05, 2 / 2^6 is not."""
        assert flips([0.3] * 5).interval[:2] == (-1, 1)
        six = flips([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        assert six.p == 2 / 64
        assert six.interval[:2] == pytest.approx((0.1, 0.6))

    def test_intervals_stay_in_the_range_of_differences(self) -> None:
        """Sums that exceed their sizes by rounding do not take the interval out of [-1, 1]."""
        found = flips([1 + 1e-15] * 10)
        assert found.interval[:2] == (1, 1)
        assert sign_flips([]) == []

    @pytest.mark.parametrize(
        "wrong",
        [
            {"sums": [[0.1]], "sizes": [1, 2]},
            {"sums": [[0.1], [0.2]], "sizes": [1, 0]},
            {"sums": [[float("nan")]]},
            {"sums": [[0.1]], "confidence": 1.0},
            {"sums": [[0.1]], "resamples": 0},
        ],
    )
    def test_wrong_arguments_are_refused(self, wrong: dict[str, Any]) -> None:
        """No p-value comes of what is missing or out of range."""
        with pytest.raises(ParameterError):
            sign_flips(**wrong)


class TestDrawing:
    """Many groups: subsets are drawn."""

    def test_figures_share_one_set_of_subsets(self) -> None:
        """A figure says the same alone, beside others, and again; not so by another seed."""
        rows = np.random.default_rng(1).normal(0.05, 0.3, size=(60, 3)).clip(-1, 1)
        together = sign_flips(rows.tolist(), seed=5)
        assert together == sign_flips(rows.tolist(), seed=5)
        for figure, found in enumerate(together):
            (alone,) = sign_flips(rows[:, [figure]].tolist(), seed=5)
            assert alone.p == found.p
            assert alone.interval == pytest.approx(found.interval)
        assert together != sign_flips(rows.tolist(), seed=6)

    def test_drawn_subsets_agree_with_all_of_them(self) -> None:
        """Of 14 groups, 9,999 drawn subsets come within chance of all 16,383."""
        changes = [*CHANGES, 0.25, -0.75, 0.5, 0.0, 0.25, -0.25]
        drawn, every = flips(changes, resamples=9_999), flips(changes, resamples=2**14)
        assert drawn.p == pytest.approx(every.p, abs=5 * sqrt(every.p / 9_999))
        assert drawn.interval == pytest.approx(every.interval, abs=0.02)
        assert drawn != every

    def test_p_is_never_0(self) -> None:
        """However clear the change, p is at least 2 / (resamples + 1)."""
        assert flips([1.0] * 100, resamples=99).p == 0.02

    @given(st.integers(1, 300), st.integers(1, 60))
    def test_no_drawn_subset_is_empty(self, resamples: int, groups: int) -> None:
        """An empty subset has no mean; where few are drawn of few groups it would turn up."""
        found = flips([0.5] * groups, resamples=resamples, confidence=0.5)
        assert found.interval.low in (0.5, -1.0)

    def test_it_rejects_symmetric_laws_as_often_as_it_says(self) -> None:
        """As many gains as losses, in groups of 1 to 4: p <= .05 in at most 5% of the runs."""
        rng = np.random.default_rng(8)
        rejected, runs = 0, 1_500
        for seed in range(runs):
            sizes = rng.integers(1, 5, 25)
            sums = sizes * rng.choice([-1, -0.5, 0, 0.5, 1], 25)
            rejected += flips(sums.tolist(), sizes.tolist(), resamples=199, seed=seed).differs
        assert 0.02 <= rejected / runs <= 0.05 + 2 * sqrt(0.05 * 0.95 / runs)
