"""Totals of parts are those of the whole, to the last bit, however the samples were parted."""

from __future__ import annotations

import json
import pickle
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullrecall import IdRecall, Report, Sample, evaluate
from fullrecall.errors import ReportError
from fullrecall.report.totals import Totals, spread_of

SHARES = st.floats(0, 1) | st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 2 / 3, 1.0])
ROWS = st.lists(st.tuples(SHARES, st.sampled_from([None, "a", "b", "c"])), min_size=1, max_size=40)


def report_of(samples: list[Sample], keep: Any = "rows") -> Report:
    """Return the report of `samples`."""
    return evaluate(samples, IdRecall(k=5, ks=(1, 3, 7)), progress=False, keep=keep)


def samples(count: int) -> list[Sample]:
    """Return samples of all statuses, some in groups."""
    rng = random.Random(1)
    return [
        Sample(
            retrieved_ids=[rng.randrange(20) for _ in range(12)] if rng.random() > 0.1 else None,
            expected_ids=rng.sample(range(20), rng.randint(0, 7)),
            retrieval={"error": f"error {rng.randrange(300)}"},
            group=rng.choice([None, None, "a", "b", "c", "d"]),
        )
        for _ in range(count)
    ]


@given(ROWS, st.randoms(use_true_random=False))
def test_any_order_any_parts(rows: list[tuple[float, str | None]], rng: random.Random) -> None:
    """Shuffled and parted anywhere, and sent as JSON, totals add up to the same."""
    whole = Totals(1)
    for value, group in rows:
        whole.add((value,), group)
    rng.shuffle(rows)
    merged = Totals(1)
    cut = rng.randint(0, len(rows))
    for part in (rows[:cut], rows[cut:]):
        totals = Totals(1)
        for value, group in part:
            totals.add((value,), group)
        merged.merge(Totals.from_dict(json.loads(json.dumps(totals.to_dict()))))
    assert merged.spread(0) == whole.spread(0)
    assert merged.to_dict() == whole.to_dict()


@given(ROWS)
def test_mean_and_variance_are_exact(rows: list[tuple[float, str | None]]) -> None:
    """Against fractions: the mean and the variance are right but for rounding."""
    values = [value for value, _ in rows]
    spread = spread_of(values)
    mean = sum(map(Fraction, values)) / len(values)
    assert spread is not None
    assert abs(Fraction(spread.mean) - mean) <= Fraction(1, 2**53)
    if len(values) > 1:
        variance = sum((Fraction(value) - mean) ** 2 for value in values)
        expected = float(variance / len(values) / (len(values) - 1))
        assert spread.variance == pytest.approx(expected, rel=1e-9, abs=1e-30)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 0.7, 1.0])
def test_equal_values_have_no_variance(value: float) -> None:
    """No rounding makes a variance of equal values, also in groups of one size."""
    for groups in (None, [f"g{n // 3}" for n in range(21)]):
        spread = spread_of([value] * 21, groups)
        assert spread is not None
        assert spread.variance == 0.0
        assert spread.mean == value


@pytest.mark.parametrize("parts", [1, 2, 7, 50, 400])
def test_reports_of_parts_are_the_report(parts: int) -> None:
    """Summaries of partitions, as JSON, merge to the summary of the whole: numbers and reasons."""
    all_of_them = samples(400)
    expected = report_of(all_of_them).summary()
    random.Random(parts).shuffle(all_of_them)
    plain = [
        json.loads(json.dumps(report_of(all_of_them[n::parts], "summary").totals()))
        for n in range(parts)
    ]
    merged = Report.of_totals(plain).summary()
    assert list(merged) == list(expected)
    assert merged.to_dict() == expected.to_dict()
    assert str(merged) == str(expected)


def test_merged_reports_keep_their_rows() -> None:
    """Reports with rows merge to one with rows, numbered anew; a report goes through pickle."""
    all_of_them = samples(30)
    parts = [report_of(all_of_them[:11]), report_of(all_of_them[11:])]
    merged = Report.merged(pickle.loads(pickle.dumps(parts)))  # noqa: S301 - written above
    whole = report_of(all_of_them)
    assert list(merged) == list(whole)
    assert merged.summary().to_dict() == whole.summary().to_dict()


def test_a_part_without_rows_makes_a_whole_without() -> None:
    """Rows of some parts alone would be rows of no report."""
    whole = Report.merged([report_of(samples(5)), report_of(samples(5), "summary")])
    assert (len(whole), whole.keeps_rows) == (10, False)
    with pytest.raises(ReportError, match="keeps no rows"):
        _ = whole.rows


def test_parts_of_different_evaluations_do_not_add_up() -> None:
    """Another k is another score."""
    other = evaluate(samples(3), IdRecall(k=9), progress=False)
    with pytest.raises(ReportError, match="id_recall@5 and of id_recall@9"):
        Report.merged([report_of(samples(3)), other])
    with pytest.raises(ReportError, match="at least one"):
        Report.merged([])


def test_reasons_stay_few() -> None:
    """Of hundreds of reasons the most frequent are named, the rest counted together."""
    rows = [Sample(retrieval={"error": f"error {n}"}, expected_ids=["a"]) for n in range(500)]
    rows += [Sample(retrieval={"error": "down"}, expected_ids=["a"])] * 7
    report = report_of(rows, "summary")
    reasons = report.summary()["id_recall"].reasons
    assert sum(reasons.values()) == 507
    assert len(reasons) == 13
    assert next(iter(reasons.items())) == ("no retrieval: down", 7)
    assert len(report.totals()["tallies"][0]["reasons"]) == 101
