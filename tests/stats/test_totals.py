"""Totals give exact means over groups, and means with missing values filled."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullrecall.stats.bounds import MOST_VALUES, bracketed
from fullrecall.stats.totals import Totals

SHARES = st.floats(0, 1) | st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 2 / 3, 1.0])
ROWS = st.lists(
    st.tuples(st.none() | SHARES, st.sampled_from([-1, 0, 1, 2])), min_size=1, max_size=40
)


def totals(rows: list[tuple[float | None, int]]) -> Totals:
    """Return the totals of (value, group) rows; None is a missing value that counts."""
    values = np.array([np.nan if value is None else value for value, _ in rows])
    return Totals.of(values, due=np.isnan(values), groups=np.array([code for _, code in rows]))


def means(rows: list[tuple[float | None, int]], gap: float | None) -> list[Fraction]:
    """Return the mean of each group, computed plainly; a sample without a group is one."""
    groups: dict[tuple[int, int], list[float]] = {}
    for position, (value, code) in enumerate(rows):
        filled = gap if value is None else value
        if filled is not None:
            groups.setdefault((code, position if code < 0 else -1), []).append(filled)
    return [sum(map(Fraction, some), Fraction(0)) / len(some) for some in groups.values()]


@given(ROWS, st.sampled_from([None, 0.0, 1.0, 0.25]))
def test_the_mean_is_exact_and_over_groups(
    rows: list[tuple[float | None, int]], gap: float | None
) -> None:
    """The mean over groups is exact to 2⁻⁶⁰ for each value."""
    expected = means(rows, gap)
    mean = totals(rows).mean_with(gap)
    if not expected:
        assert mean is None
    else:
        assert mean == pytest.approx(float(sum(expected) / len(expected)), abs=1e-15)


@given(ROWS, st.randoms())
def test_the_order_of_samples_changes_nothing(
    rows: list[tuple[float | None, int]], rng: object
) -> None:
    """The order of samples does not change the mean by a bit."""
    turned = sorted(rows, key=lambda _: rng.random())  # type: ignore[attr-defined]
    ours, theirs = totals(rows), totals(turned)
    assert ours.mean == theirs.mean
    assert ours.counts(0.0) == theirs.counts(0.0)
    assert (ours.samples, ours.due, ours.independent) == (
        theirs.samples,
        theirs.due,
        theirs.independent,
    )


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_joined_totals_are_those_of_all_rows(parts: list[list[tuple[float | None, int]]]) -> None:
    """Totals of parts that share no groups, joined, have the values and the mean of all rows."""
    apart = [
        [(value, code + 3 * number if code >= 0 else -1) for value, code in rows]
        for number, rows in enumerate(parts)
    ]
    joined, whole = (
        Totals.joined(list(map(totals, parts))),
        totals([*chain(*apart)]),
    )
    assert (joined.mean, joined.samples, joined.due) == (whole.mean, whole.samples, whole.due)
    assert (joined.counts(0.0), joined.independent) == (whole.counts(0.0), whole.independent)


@given(ROWS)
def test_gaps_are_counted_and_filled(rows: list[tuple[float | None, int]]) -> None:
    """Missing values are counted; filled with 0 they give a lower mean than filled with 1."""
    made = totals(rows)
    assert made.due == len(rows)
    assert made.samples == sum(value is not None for value, _ in rows)
    low, high = made.mean_with(0.0), made.mean_with(1.0)
    assert low is not None
    assert high is not None
    assert low <= high


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 1.0])
def test_the_mean_of_equal_values_is_that_value(value: float) -> None:
    """The mean of equal values is that value, since the sum is not rounded."""
    assert totals([(value, -1)] * 1_000).mean == value


@given(st.integers(MOST_VALUES + 1, 20_000), st.integers(0, 2**31))
def test_many_values_are_bracketed(count: int, seed: int) -> None:
    """Many values are replaced by few, rounded down and up, for the same number of samples."""
    values = np.random.default_rng(seed).random(count)
    low, high, _ = bracketed(values, None, least=0.0)
    assert max(len(low.values), len(high.values)) <= MOST_VALUES
    assert low.size == high.size == count
    assert low.mean <= values.mean() <= high.mean
    assert high.mean - low.mean < 1e-3


@given(st.lists(st.none() | SHARES, max_size=40))
def test_samples_without_groups_are_groups_of_one(values: list[float | None]) -> None:
    """Totals without groups equal totals with group -1 for every sample."""
    numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    plain = Totals.of(numbers, due=np.isnan(numbers))
    grouped = Totals.of(numbers, due=np.isnan(numbers), groups=np.full(len(values), -1))
    assert (plain.mean, plain.gaps, plain.due) == (grouped.mean, grouped.gaps, grouped.due)
    assert plain.group_values(0.5)[0].tolist() == grouped.group_values(0.5)[0].tolist()
