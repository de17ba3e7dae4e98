"""Counts of values in bounded memory: the same however the values were parted and merged."""

from __future__ import annotations

import json
import pickle
import random
from collections import Counter
from math import floor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall.errors import ParameterError, ReportError
from fullrecall.report import value_counts
from fullrecall.report.value_counts import MOST_VALUES, ValueCounts
from fullrecall.results.bounds import Counts, lower_bound, mean_above, upper_bound

VALUES = st.floats(-1, 1) | st.sampled_from([-1.0, -0.5, 0.0, 1 / 3, 0.5, 1.0, 5e-324, -1e-30])


def counted(values: list[float]) -> ValueCounts:
    """Return the counts of these values."""
    counts = ValueCounts()
    for value in values:
        counts.add(value)
    return counts


def by_hand(values: list[float], most: int) -> dict[str, Any]:
    """Return what `to_dict` must give: the finest grid that leaves at most so many values."""
    for bits in range(60, -1, -1):
        found = Counter(floor(value * 2.0**60) >> (60 - bits) for value in values)
        if len(found) <= most:
            ordered = sorted(found)
            return {"bits": bits, "values": ordered, "counts": [found[key] for key in ordered]}
    raise AssertionError


def merged_at_random(values: list[float], rng: random.Random) -> ValueCounts:
    """Return the counts of parts of the values, in any order, merged along a random tree."""
    values = rng.sample(values, len(values))
    cuts = sorted(rng.randint(0, len(values)) for _ in range(rng.randint(0, 6)))
    parts = [
        counted(values[start:end])
        for start, end in zip([0, *cuts], [*cuts, len(values)], strict=True)
    ]
    while len(parts) > 1:
        one, other = (parts.pop(rng.randrange(len(parts))) for _ in range(2))
        if rng.random() < 0.5:
            one = ValueCounts.from_dict(json.loads(json.dumps(one.to_dict())))
        one.merge(other)
        parts.append(one)
    return parts[0]


@given(st.lists(VALUES, max_size=60), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_any_order_any_parts_any_tree(values: list[float], rng: random.Random) -> None:
    """With room for 8 values, counts of parts are those of the whole, on the finest grid."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_counts, "MOST_VALUES", 8)
        whole = counted(values)
        merged = merged_at_random(values, rng)
        assert merged == whole
        assert merged.to_dict() == whole.to_dict() == by_hand(values, 8)
        assert merged.size == len(values)


def test_many_values_in_parts() -> None:
    """30,000 scores, nearly all distinct, in seven parts: at most 4,096 values, the same ones."""
    rng = random.Random(1)
    values = [rng.betavariate(9, 1) for _ in range(30_000)]
    whole = counted(values)
    parts = [counted(values[start::7]) for start in range(7)]
    merged = parts.pop()
    for part in reversed(parts):
        merged.merge(part)
    assert merged == whole
    assert whole.to_dict() == by_hand(values, MOST_VALUES)
    assert MOST_VALUES // 2 < len(whole.lower.values) <= MOST_VALUES


def test_few_values_are_exact() -> None:
    """Shares of a few targets stay what they are, for upper bounds too."""
    values = [1.0, 1 / 3, 2 / 3, 0.0, 0.1, -0.7, 1.0, -1.0]
    assert counted(values).lower == counted(values).upper == Counts.of(values)


@given(st.lists(VALUES, min_size=20, max_size=60))
def test_rounded_values_bracket_those_that_were_added(values: list[float]) -> None:
    """Sorted, each lower value is at most the true one, each upper at least; both 2^-l apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_counts, "MOST_VALUES", 8)
        counts = counted(values)
        lower, upper = (
            [v for v, n in zip(side.values, side.counts, strict=True) for _ in range(int(n))]
            for side in (counts.lower, counts.upper)
        )
        for low, value, high in zip(lower, sorted(values), upper, strict=True):
            assert -1 <= low <= value <= high + 2.0**-60 <= 1 + 2.0**-60
            assert high - low <= 2.0**-counts.bits


def test_bounds_of_rounded_values_are_on_the_safe_side() -> None:
    """The lower bound is no higher, the upper no lower, and both within one step of the grid."""
    rng = random.Random(2)
    values = [rng.betavariate(9, 1) for _ in range(9_000)]
    counts, exact = counted(values), Counts.of(values)
    step = 2.0**-counts.bits
    assert counts.bits < 60
    assert 0 <= lower_bound(exact, 0.05) - lower_bound(counts.lower, 0.05) <= step
    assert 0 <= upper_bound(counts.upper, 0.05) - upper_bound(exact, 0.05) <= step
    assert mean_above(counts.lower, 0.9) >= mean_above(exact, 0.9)


def test_merging_leaves_the_other_as_it_is() -> None:
    """A part can be merged twice, into two wholes; copies go through pickle."""
    part = counted([0.5, 0.25])
    whole = pickle.loads(pickle.dumps(part))  # noqa: S301 - written above
    whole.merge(part)
    whole.merge(part)
    assert part == counted([0.5, 0.25])
    assert whole == counted([0.5, 0.25] * 3)
    assert whole != part
    assert "6: 2 values" in repr(whole)


@pytest.mark.parametrize("value", [1.0000001, -1.5, float("nan"), float("inf")])
def test_values_out_of_range_are_refused(value: float) -> None:
    """Nothing outside of [-1, 1] is counted, nor NaN."""
    with pytest.raises(ParameterError, match="value must be from -1 to 1"):
        ValueCounts().add(value)


GOOD = {"bits": 1, "values": [-2, 1, 2], "counts": [1, 4, 2]}


@pytest.mark.parametrize(
    "change",
    [
        {"bits": 61}, {"bits": -1}, {"bits": "1"}, {"bits": True}, {"bits": 1.0},
        {"values": [-3, 1, 2]}, {"values": [-2, 1, 3]}, {"values": [1, -2, 2]},
        {"values": [1, 1, 2]}, {"values": [0.5, 1, 2]}, {"values": None}, {"values": [0, 1]},
        {"counts": [1, 4, 0]}, {"counts": [1, 4, -2]}, {"counts": [1, 4, 2.0]},
        {"counts": [1, 4]}, {"counts": 7}, {"counts": [1, 4, float("nan")]},
    ],
)  # fmt: skip
def test_damaged_counts_are_refused(change: dict[str, Any]) -> None:
    """What no run can have saved is not read."""
    assert ValueCounts.from_dict(GOOD).to_dict() == GOOD
    with pytest.raises(ReportError, match="damaged"):
        ValueCounts.from_dict({**GOOD, **change})
    with pytest.raises(ReportError, match="damaged"):
        ValueCounts.from_dict({key: value for key, value in GOOD.items() if key not in change})
