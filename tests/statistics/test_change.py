"""One interval of a change, the outcome that follows from it, and the p-value beside it."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall.errors import ParameterError
from fullrecall.results.bounds import Counts, mean_above, mean_below
from fullrecall.results.change import Direction, bracketed, change, corrected
from fullrecall.results.sign_flips import sign_flip_p

STEPS = st.integers(-12, 12).map(lambda twelfths: twelfths / 12)


def slow_p(differences: list[float]) -> Fraction:
    """Return the sign-flip p-value by writing down every pattern of signs, in exact fractions."""
    exact = [Fraction(each).limit_denominator(10_000) for each in differences]
    seen = abs(sum(exact, Fraction()))
    sums = [
        abs(sum((s * d for s, d in zip(signs, exact, strict=True)), Fraction()))
        for signs in product((1, -1), repeat=len(exact))
    ]
    return Fraction(sum(each >= seen for each in sums), len(sums))


@given(st.lists(STEPS, min_size=1, max_size=10))
@settings(max_examples=50, deadline=None)
def test_p_is_that_of_every_pattern_of_signs(differences: list[float]) -> None:
    """The p-value equals the one of writing down all patterns of signs."""
    assert sign_flip_p(np.array(differences)) == pytest.approx(float(slow_p(differences)), abs=1e-9)


def test_p_of_many_equal_differences_is_the_binomial_tail() -> None:
    """It is exact for thousands of groups: 2,050 of 4,000 gain what the others lose."""
    p = sign_flip_p(np.array([0.5, -0.5]), np.array([2_050.0, 1_950.0]))
    tail = 2 * sum(comb(4_000, k) for k in range(2_050, 4_001)) / 2**4_000
    assert p == pytest.approx(tail, rel=1e-9)


def test_p_without_any_difference_is_one() -> None:
    """Nothing changed, or gains equal losses: no evidence of anything."""
    assert sign_flip_p(np.zeros(40)) == 1.0
    assert sign_flip_p(np.array([0.3, -0.3])) == 1.0


def test_drawn_patterns_do_not_depend_on_the_order_or_on_a_seed_of_the_caller() -> None:
    """Where patterns are too many to enumerate, the same differences have the same p-value."""
    rng = np.random.default_rng(5)
    differences = rng.normal(0.03, 0.2, 300).clip(-1, 1)
    first = sign_flip_p(differences)
    assert {sign_flip_p(rng.permutation(differences)) for _ in range(3)} == {first}
    normal = abs(differences.sum()) / np.sqrt((differences**2).sum())
    assert first == pytest.approx(2 * (1 - _phi(normal)), abs=0.02)


def _phi(z: float) -> float:
    from statistics import NormalDist

    return NormalDist().cdf(z)


def test_p_keeps_its_level_under_its_null_and_not_under_a_mean_of_zero() -> None:
    """Exchangeable: at most 5%. A mean change of 0 with skew: more, as its sentence warns."""
    rng = np.random.default_rng(11)
    exchangeable = rng.choice([-0.9, 0.9, 0.1, -0.1], p=[0.05, 0.05, 0.45, 0.45], size=(300, 30))
    skewed = rng.choice([0.1, -0.9], p=[0.9, 0.1], size=(300, 30))
    rates = [np.mean([sign_flip_p(row) <= 0.05 for row in rows]) for rows in (exchangeable, skewed)]
    assert rates[0] <= 0.05 + 2 * 0.0126
    assert rates[1] > 0.15


@given(st.lists(STEPS, min_size=1, max_size=40), st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=25, deadline=None)
def test_outcome_interval_and_p_mean_agree(differences: list[float], confidence: float) -> None:
    """Better or worse exactly where the interval leaves out 0, and where its p-value is small."""
    found = change(differences, confidence=confidence)
    assert found.interval.low <= found.mean <= found.interval.high  # type: ignore[operator]
    assert (found.outcome is Direction.BETTER) == (found.interval.low > 0)
    assert (found.outcome is Direction.WORSE) == (found.interval.high < 0)
    if abs(found.p_mean - (1 - confidence)) > 1e-9:
        assert (found.outcome is not Direction.CANNOT_TELL) == (found.p_mean < 1 - confidence)
    counts = Counts.of(differences)
    sides = mean_above(counts, 0, least=-1), mean_below(counts, 0, most=1)
    assert found.p_mean == pytest.approx(min(1, 2 * min(sides)))


@given(st.lists(STEPS, min_size=1, max_size=30))
@settings(max_examples=20, deadline=None)
def test_before_and_after_swapped_mirror_everything(differences: list[float]) -> None:
    """A change undone is the same change with the other sign."""
    there, back = change(differences), change([-each for each in differences])
    assert back.mean == pytest.approx(-there.mean)  # type: ignore[operator]
    assert back.interval.low == pytest.approx(-there.interval.high, abs=1e-9)
    assert back.p == pytest.approx(there.p)
    assert back.needed == there.needed


def test_counts_stand_for_as_many_groups() -> None:
    """Values with counts give what the values written out do."""
    written = change([0.5] * 30 + [0.0] * 60 + [-0.25] * 10)
    counted = change([0.5, 0.0, -0.25], [30, 60, 10])
    assert counted.interval == pytest.approx(written.interval)
    assert (counted.mean, counted.groups) == (written.mean, 100)
    assert counted.p == pytest.approx(written.p)


def test_needed_groups_would_settle_it() -> None:
    """So many groups of the same differences leave out 0, and one tenth fewer do not."""
    found = change([0.5] * 4 + [-0.5] * 2 + [0.0] * 34)
    assert found.outcome is Direction.CANNOT_TELL
    assert found.needed is not None
    values, shares = np.array([0.5, -0.5, 0.0]), np.array([0.1, 0.05, 0.85])
    assert change(values, shares * found.needed).outcome is Direction.BETTER
    assert change(values, shares * found.needed * 0.9).outcome is Direction.CANNOT_TELL


def test_no_number_of_groups_settles_a_tie() -> None:
    """Gains that equal losses, and no change at all, need no number."""
    assert change([0.5, -0.5] * 20).needed is None
    nothing = change([0.0] * 50)
    assert (nothing.outcome, nothing.needed, nothing.p) == (Direction.CANNOT_TELL, None, 1.0)


def test_a_known_range_makes_the_interval_narrower() -> None:
    """Who knows that no sample changes by more than 0.2 says so, and needs fewer samples."""
    small = [0.1] * 30 + [0.0] * 60 + [-0.1] * 10
    wide, narrow = change(small), change(small, range=0.2)
    assert wide.outcome is Direction.CANNOT_TELL
    assert narrow.outcome is Direction.BETTER
    with pytest.raises(ParameterError, match=r"differences must be from -0.2 to 0.2, got 0.5"):
        change([0.5], range=0.2)


def test_few_groups_show_nothing() -> None:
    """Five groups that all gain everything are not enough for 95% confidence of more than luck."""
    assert change([0.05] * 5).outcome is Direction.CANNOT_TELL


def test_no_groups_have_no_mean() -> None:
    """Without groups the interval is all that is possible."""
    found = change([])
    assert (found.mean, found.groups, found.needed) == (None, 0, None)
    assert found.interval[:2] == (-1.0, 1.0)


def test_a_margin_is_kept_or_not_shown_to_be() -> None:
    """Identical reports keep a margin of .05 from 59 samples on, and not from 58."""
    assert change([0.0] * 59, margin=0.05).non_inferior is True
    assert change([0.0] * 58, margin=0.05).non_inferior is False
    assert change([0.0] * 59).non_inferior is None


def test_holm_corrects_what_is_shown_together() -> None:
    """Ten changes at once: the same evidence no longer suffices, strong evidence does."""
    strong, weak = change([0.5] * 60 + [0.0] * 40), change([0.5] * 10 + [0.0] * 30)
    assert weak.outcome is Direction.BETTER
    together = corrected([strong, *[weak] * 9])
    assert together[0].outcome is Direction.BETTER
    assert {each.outcome for each in together[1:]} == {Direction.CANNOT_TELL}
    assert together[1].p_adjusted == pytest.approx(min(1, 9 * weak.p_mean))


def test_many_distinct_values_are_bracketed() -> None:
    """More than 4,096 distinct values are rounded outwards, by less than anybody sees."""
    values = np.random.default_rng(2).uniform(-1, 1, 20_000)
    low, high = bracketed(values, least=-1, most=1)
    assert max(len(low.values), len(high.values)) <= 4_097
    assert low.mean <= values.mean() <= high.mean
    assert high.mean - low.mean < 1e-3


def test_it_is_plain_json() -> None:
    """`to_dict` is what JSON holds."""
    plain = json.loads(json.dumps(change([0.5, 0.0], margin=0.1).to_dict()))
    assert plain["outcome"] == "cannot_tell"
    assert plain["interval"]["confidence"] == 0.95


@pytest.mark.parametrize("bad", [{"range": 0}, {"range": 2}, {"confidence": 1}, {"margin": 3}])
def test_arguments_out_of_range(bad: dict[str, float]) -> None:
    """Each argument out of its range is refused by name."""
    with pytest.raises(ParameterError, match=next(iter(bad))):
        change([0.1], **bad)


def test_differences_that_are_no_numbers() -> None:
    """NaN is refused, not carried on."""
    with pytest.raises(ParameterError, match="got nan"):
        change([float("nan")])
