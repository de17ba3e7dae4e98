"""A summary has the uncertainty of its means: intervals, groups, coverage, bounds."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from tests.observe.calls import of_calls

from fullrecall import Context, IdRecall, Report, Sample, evaluate
from fullrecall.measures import Leak, Recall, Retrieved
from fullrecall.measures.findings import CreditStep, Finding, Target
from fullrecall.report import Row
from fullrecall.samples.calls import Call
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.show.text import outward
from fullrecall.stats.bounds import Counts, Interval, lower_bound, upper_bound


def report_of(found: list[bool | None], group: int | None = None) -> Report:
    """Return a report of samples with one target, at rank 2 or missed; None is unscored."""
    rows = [
        Sample(
            retrieved_ids=None if hit is None else ["x", "a" if hit else "y"],
            expected_ids=["a"],
            group=None if group is None else n // group,
        )
        for n, hit in enumerate(found)
    ]
    return evaluate(rows, IdRecall(), progress=False)


FOUND: list[bool | None] = [True, True, False, True, None, True, False, True, True, None]


def test_intervals_are_those_of_the_values() -> None:
    """The interval of each measure is Gaffke's, at 2.5% on either side."""
    score = report_of(FOUND).summary(Recall @ 1, Recall @ 2)["id_recall"]
    alpha = 0.025
    for measure, values in (
        (Recall @ 1, [0.0] * 8),
        (Recall @ 2, [float(h) for h in FOUND if h is not None]),
    ):
        counts = Counts.of(values)
        expected = Interval(lower_bound(counts, alpha), upper_bound(counts, alpha))
        assert score[measure].interval == expected
        assert score[measure].groups == 8


def test_samples_of_a_group_are_one() -> None:
    """Five groups of two samples have a wider interval than ten samples."""
    found: list[bool | None] = [True, True, False, False, True, True, True, True, False, False]
    alone, together = (report_of(found, group).summary()["id_recall"] for group in (None, 2))
    assert (alone.main.groups, together.main.groups) == (10, 5)
    assert alone.interval is not None
    assert together.interval is not None
    assert together.interval.low < alone.interval.low
    assert together.interval.high > alone.interval.high
    assert re.search(r"^  in groups +5$", str(report_of(found, 2).summary()), re.MULTILINE)


def test_bounds_on_what_is_unscored() -> None:
    """The bounds are the means with all unscored samples at 0 and at 1."""
    score = report_of(FOUND).summary()["id_recall"]
    assert score.bounds == pytest.approx((6 / 10, 8 / 10))
    assert score.coverage == 0.8
    assert "id_recall: 0.600 to 0.800, depending on unscored samples" in str(
        report_of(FOUND).summary()
    )


def test_the_table_and_the_json_have_the_intervals() -> None:
    """The table has each interval below its mean; JSON has both ends and the confidence."""
    summary = report_of(FOUND).summary(Recall @ 2)
    interval = summary["id_recall"].interval
    assert interval is not None
    low, high = outward(interval)
    shown = f"{low:.3f}–{high:.3f}".replace("0.", ".")
    assert low <= interval.low < interval.high <= high
    assert re.search(rf"^  @2 +0\.750\n    95% +{re.escape(shown)}$", str(summary), re.MULTILINE)
    plain = json.loads(json.dumps(summary.to_dict()))["scores"][0]["measures"]["recall@2"]
    assert plain["interval"] == {"low": interval.low, "high": interval.high, "confidence": 0.95}
    assert "whatever the distribution of the scores" in str(summary)


def test_credit_on_unverified_quotes_stands_in_the_summary() -> None:
    """If one of two credited claims has an unverified quote, half of the credit is unverified."""
    method = Method("claim_recall", {"judge": "j"})
    found = [
        Finding(Target((name,)), (CreditStep(1, 1.0),), (1,), verdict="supported", unverified=share)
        for name, share in (("a", 0.0), ("b", 1.0))
    ]
    rows = [
        Row(
            n,
            Sample(id=n, retrieved_contexts=["x"]),
            (Result(method, Status.SCORED, tuple(found), 1),),
        )
        for n in (1, 2)
    ]
    summary = Report.of([method], rows).summary()
    assert summary["claim_recall"].unverified == 0.5
    assert "50.0% of the credit in claim_recall rests on quotes that were not verified" in str(
        summary
    )
    assert summary.to_dict()["scores"][0]["unverified"] == 0.5


def test_united_and_failed_calls_stand_in_the_summary() -> None:
    """The summary counts samples with a union of calls, and with a failed call."""
    one, two, failed = (
        Call("a", query="1", contexts=(Context("t", id="x"),)),
        Call("b", query="2", contexts=(Context("u", id="y"),)),
        Call("b", query="2", error="boom"),
    )
    samples = [
        Sample(id=n, expected_ids=["x"], retrieval=of_calls(calls))
        for n, calls in enumerate([(one, two), (one, failed), (one,)])
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    summary = report.summary()
    assert (summary.united, summary.failed_calls) == (1, 1)
    assert "united calls in 1 of 3 samples" in str(summary)
    assert "failed calls in 1 of 3 samples" in str(summary)
    empty = Sample(expected_ids=[], retrieval=of_calls((one, two)))
    summary = evaluate([empty], IdRecall(), progress=False).summary()
    assert (summary.united, summary[0].over_calls) == (1, None)
    with pytest.raises(IndexError, match="no score 1: there are 1"):
        _ = summary[1]


def test_the_mean_of_a_count_is_printed_without_an_interval() -> None:
    """A count has no upper limit, so its mean has no interval; the mean is printed."""
    result = IdRecall().score(retrieved_ids=["a", "b"], expected_ids=["a"])
    counting = replace(result, method=Method("contexts", headline=Retrieved))
    report = Report.of([counting.method], [Row(1, Sample(id="q"), (counting,))])
    assert repr(report.summary()[0]).startswith("ScoreSummary(2.000, contexts: 1 scored")


def test_no_sample_is_said() -> None:
    """A summary without samples says so, instead of showing zeros."""
    assert "id_recall: no sample was given" in str(
        evaluate([], IdRecall(), progress=False).summary()
    )
    assert "no sample was given" not in str(report_of([None]).summary())
    assert "in groups" not in str(report_of([True]).summary())  # no sample has a group


def test_many_calls_in_a_sentence() -> None:
    """The means within at most 30 calls are shown, and then that of all calls."""
    calls = [Call("s", query=f"{n:02}", contexts=(Context("x", id=f"d{n}"),)) for n in range(40)]

    def sentence(expected: list[str], made: list[Call]) -> str:
        sample = Sample(id="q", expected_ids=expected, retrieval=of_calls(made))
        summary = evaluate([sample], IdRecall(), progress=False).summary(Recall)
        (found,) = (note for note in summary.sheets[0].notes if "after call 1" in note)
        return found

    half, zeros = " ".join(["0.500"] * 30), " ".join(["0"] * 29)
    assert sentence(["d0", "d35"], calls) == (
        f"id_recall after call 1, 2, …: {half}; new targets: 1 {zeros}; after all 40 calls 1.000"
    )
    assert sentence(["d0"], calls[:2]) == (
        "id_recall after call 1, 2, …: 1.000 1.000; new targets: 1 0; stop after call 1: the same "
        "recall, 50% of the tokens"
    )
    assert sentence(["d1"], calls[:2]) == (
        "id_recall after call 1, 2, …: 0.000 1.000; new targets: 0 1"
    )


@pytest.mark.parametrize(
    ("forbidden", "leaking", "sentence"),
    [
        (20, 0, "leak@1: 0 of 20 questions leak: at most 14.0% of such questions (95%)"),
        (1, 0, "leak@1: 0 of 1 question leak: at most 95.0% of such questions (95%)"),
        (0, 0, "leak@1: no question forbids anything"),
        (
            5,
            4,
            (
                "leak@1: 4 of 5 questions leak, at most 99.0% of such questions (95%): 0: a at "
                "rank 1; 1: a at rank 1; 2: a at rank 1; … and 1 more"
            ),
        ),
    ],
)
def test_leaks_in_a_sentence(forbidden: int, leaking: int, sentence: str) -> None:
    """The rate of leaks has an upper bound, which is rounded up; three leaks are named."""
    samples = [
        Sample(
            id=str(n),
            retrieved_ids=["a", "b"],
            forbidden_ids=(["a"] if n < leaking else ["b"]) if n < forbidden else None,
        )
        for n in range(20)
    ]
    assert sentence in str(evaluate(samples, IdRecall(), progress=False).summary(Leak @ 1))
