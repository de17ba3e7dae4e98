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
from fullrecall.measures import Recall, nDCG, parse
from fullrecall.results.totals import Totals, totals_of

SHARES = st.floats(0, 1) | st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 2 / 3, 1.0])
ROWS = st.lists(st.tuples(SHARES, st.sampled_from([None, "a", "b", "c"])), min_size=1, max_size=40)


def report_of(samples: list[Sample], keep: Any = "rows") -> Report:
    """Return the report of `samples`."""
    return evaluate(samples, IdRecall(), progress=False, keep=keep)


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
    whole = Totals()
    for value, group in rows:
        whole.add(value, group)
    rng.shuffle(rows)
    merged = Totals()
    cut = rng.randint(0, len(rows))
    for part in (rows[:cut], rows[cut:]):
        totals = Totals()
        for value, group in part:
            totals.add(value, group)
        merged.merge(Totals.from_dict(json.loads(json.dumps(totals.to_dict()))))
    assert (merged.mean, merged.counts()) == (whole.mean, whole.counts())
    assert merged.to_dict() == whole.to_dict()


@given(ROWS)
def test_the_mean_is_exact_and_over_groups(rows: list[tuple[float, str | None]]) -> None:
    """Against fractions: each group counts once, by its own mean."""
    groups: dict[object, list[Fraction]] = {}
    for position, (value, group) in enumerate(rows):
        groups.setdefault(position if group is None else group, []).append(Fraction(value))
    means = [sum(values) / len(values) for values in groups.values()]
    totals = totals_of(rows)
    assert totals.mean is not None
    assert abs(Fraction(totals.mean) - sum(means) / len(means)) <= Fraction(1, 2**52)
    assert (totals.samples, totals.independent) == (len(rows), len(groups))


@given(ROWS, st.lists(st.sampled_from([None, "a", "z"]), max_size=5))
def test_gaps_are_filled_where_they_are(
    rows: list[tuple[float, str | None]], gaps: list[str | None]
) -> None:
    """Totals with gaps at 0 are those of samples that scored 0."""
    ours = totals_of([*rows, *((None, group) for group in gaps)])
    filled = totals_of([*rows, *((0.0, group) for group in gaps)])
    assert ours.mean_with(0.0) == filled.mean
    assert ours.counts(0.0) == filled.counts()
    assert ours.mean == totals_of(rows).mean
    assert (ours.due, ours.samples) == (len(rows) + len(gaps), len(rows))


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 0.7, 1.0])
def test_the_mean_of_equal_values_is_that_value(value: float) -> None:
    """No rounding, also in groups, and for more distinct values than are summed at once."""
    for group in (None, "g"):
        assert totals_of([(value, group)] * 21).mean == value
    many = [n / 5_000 for n in range(5_001)]
    assert totals_of([(n, None) for n in many]).mean == pytest.approx(0.5, abs=1e-15)


@pytest.mark.parametrize("parts", [1, 2, 7, 50, 400])
def test_reports_of_parts_are_the_report(parts: int) -> None:
    """Summaries of partitions, as JSON, merge to the summary of the whole: numbers and reasons."""
    all_of_them = samples(400)
    expected = report_of(all_of_them).summary()
    random.Random(parts).shuffle(all_of_them)
    plain = [
        json.loads(json.dumps(report_of(all_of_them[n::parts], "summary").totals(str(n))))
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
    """Other parameters are another score; other measures are other totals."""
    other = evaluate(samples(3), IdRecall(name="mine"), progress=False)
    with pytest.raises(ReportError, match="id_recall and of mine"):
        Report.merged([report_of(samples(3)), other])
    with pytest.raises(ReportError, match="at least one"):
        Report.merged([])
    measured, plain = (
        evaluate(samples(3), IdRecall(), progress=False, keep="summary", measures=measures)
        for measures in ([nDCG @ 10], [])
    )
    with pytest.raises(ReportError, match=r"counted by nDCG @ 10 and by Recall @ 1, .*measures="):
        Report.merged([measured, plain])


def test_parts_keep_the_measures_that_they_were_asked_for() -> None:
    """With rows or without, merged in any way; a measure that is not counted is named."""
    asked = [nDCG @ 10, Recall @ 3]
    expected = report_of(samples(40)).summary(*asked).to_dict()
    one = evaluate(samples(40)[:15], IdRecall(), progress=False, keep="summary", measures=asked)
    two = evaluate(samples(40)[15:], IdRecall(), progress=False)
    for merged in (Report.merged([one, two]), Report.merged([two, one])):
        again = Report.of_totals([json.loads(json.dumps(merged.totals()))])
        assert again.summary().to_dict() == merged.summary(*asked).to_dict() == expected
        with pytest.raises(ReportError, match="has not counted RR"):
            again.summary(parse("rr"))


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
