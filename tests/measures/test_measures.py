"""Measures are values that are made, printed, parsed, refused, and extended."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace
from math import log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullrecall import IdRecall, Sample, compare, evaluate
from fullrecall.errors import ParameterError
from fullrecall.measures import (
    AP,
    ERR,
    F1,
    MEASURES,
    RBP,
    RR,
    AllFound,
    FBeta,
    Hit,
    Measure,
    Precision,
    Recall,
    Threshold,
    nDCG,
    parse,
    parse_threshold,
)
from fullrecall.measures.findings import Findings
from fullrecall.measures.measure import GradedMeasure

SHARES = st.floats(0, 1).map(lambda x: round(x, 3))
GRADES = st.one_of(st.integers(1, 9), st.floats(0.25, 8).map(lambda x: round(x, 2)))


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    """Return any measure with any parameters."""
    measure = draw(st.sampled_from(list(MEASURES.values())))
    given: dict[str, Any] = {}
    if draw(st.booleans()):
        given["zero_division"] = draw(SHARES)
    if isinstance(measure, GradedMeasure) and draw(st.booleans()):
        given["min_grade"] = draw(GRADES)
    if measure is Recall:
        given["weight"] = draw(st.sampled_from(["equal", "grade", "size"]))
    if measure in (Precision, F1):
        given["denominator"] = draw(st.sampled_from(["retrieved", "k"]))
    if measure is nDCG:
        given["gain"] = draw(st.sampled_from(["linear", "exponential"]))
    changed = measure(**given)
    return draw(st.one_of(st.just(changed), st.integers(1, 10**6).map(lambda k: changed @ k)))


@given(measures())
def test_a_measure_is_what_its_two_forms_say(measure: Measure) -> None:
    """Both forms of a measure parse back to an equal measure, and equal measures hash alike."""
    for text in (measure.name, repr(measure), f" {measure.name} "):
        assert parse(text) == measure
        assert hash(parse(text)) == hash(measure)
    assert eval(repr(measure), {repr(one): one for one in MEASURES.values()}) == measure  # noqa: S307 - the point
    for again in (pickle.loads(pickle.dumps(measure)), copy.deepcopy(measure)):  # noqa: S301
        assert again == measure


def test_measures_print_as_they_are_typed() -> None:
    """Measures print in the forms that the documentation shows."""
    assert repr(Recall @ 5) == "Recall @ 5"
    assert repr(nDCG(gain="exponential") @ 10) == "nDCG(gain='exponential') @ 10"
    assert (nDCG(gain="exponential") @ 10).name == "ndcg(gain=exponential)@10"
    assert (parse("NDCG @ 10"), parse("AllFound@3")) == (nDCG @ 10, AllFound @ 3)
    assert repr(Recall @ 10 >= 0.9) == "Recall @ 10 >= 0.9"
    assert (Recall @ 5).whole is not Recall
    assert (Recall @ 5).whole == Recall


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_every_parameter_of_every_measure_is_checked(measure: Measure) -> None:
    """A wrong value is refused when the measure is made, not when a report is read."""
    for each in fields(measure):
        with pytest.raises(ParameterError, match=f"^{each.name} must be "):
            replace(measure, **{each.name: "wrong"})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a measure such as recall@5"),
        ("foo", "no measure 'foo': choose one of recall"),
        ("recall@0", "k must be a whole number of at least 1, or a budget"),
        ("recall@-1", "k must be"),
        (
            "recall@2.5",
            "k must be a whole number of at least 1, or a budget such as 3calls, got '2.5'",
        ),
        ("recall@5@6", "k must be a whole number"),
        ("recall(k=3)", "write measure @ k"),
        ("recall(x=1)", "recall has no parameter 'x'"),
        ("recall(min_grade)", "expected name=value"),
        ("recall(min_grade=1,min_grade=2)", "expected name=value once"),
        ("recall(min_grade=0)", "min_grade must be a number above 0, got 0.0"),
        ("recall(min_grade=nan)", "min_grade must be"),
        ("recall(weight=length)", "weight must be 'equal' or 'grade' or 'size', got 'length'"),
        ("ndcg(gain=exp)", "gain must be 'linear' or 'exponential', got 'exp'"),
        ("ndcg(min_grade=2)", "ndcg has no parameter 'min_grade'"),
        ("precision(denominator=n)", "denominator must be"),
        ("recall(zero_division=2)", "zero_division must be a number from 0 to 1, got 2.0"),
    ],
)
def test_an_invalid_measure_is_refused_by_name(text: str, problem: str) -> None:
    """An invalid measure is an error that names the wrong part and the choices."""
    with pytest.raises(ParameterError) as caught:
        parse(text)
    assert problem in str(caught.value)


def test_a_parameter_beyond_floats_is_refused() -> None:
    """A whole number that no float can hold is refused, before a value is read."""
    with pytest.raises(ParameterError, match="beta must be a number above 0"):
        FBeta(beta=10**400)


@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan"), "0.9", True])
def test_a_threshold_is_a_share(least: Any) -> None:
    """Thresholds are numbers from 0 to 1."""
    with pytest.raises(ParameterError, match="a threshold must be a number from 0 to 1"):
        assert Recall >= least


def test_thresholds_parse() -> None:
    """Thresholds parse with or without spaces around `>=`; one without `>=` is an error."""
    assert parse_threshold("recall@10>=0.9") == (Recall @ 10 >= 0.9) == Threshold(Recall @ 10, 0.9)
    assert parse_threshold("RR >= .7") == (RR >= 0.7)
    with pytest.raises(ParameterError, match=r"expected a threshold such as recall@10>=0\.9"):
        parse_threshold("recall@10")


def test_any_measure_of_any_result() -> None:
    """A result refuses any index but a measure, and the error shows an example."""
    result = IdRecall().score(retrieved_ids=["a"], expected_ids=["a", "b"])
    assert [result[m] for m in (Recall, Hit, AllFound, AP @ 1)] == [0.5, 1.0, 0.0, 0.5]
    for wrong in ("recall@5", 5, None, Recall >= 0.5):
        with pytest.raises(ParameterError, match="expected a measure such as Recall @ 5"):
            result[wrong]  # type: ignore[index]


class FoundFirst(Measure):
    """A user's own measure, as in the docstring of `Measure`."""

    text = "found_first"

    share: float = 1.0

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return the share of targets found at rank 1."""
        return self.share * sum(finding.rank == 1 for finding in findings) / len(findings)


def test_a_measure_of_ones_own_goes_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's measure has `@ k`, a text form, parameters, means, intervals, and columns."""
    own = FoundFirst(share=0.5)
    assert repr(own @ 2) == "FoundFirst(share=0.5) @ 2"
    samples = [
        Sample(id=n, retrieved_ids=["a", "b"][:: 1 if n % 2 else -1], expected_ids=["a", "b"])
        for n in range(10)
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    estimate = report.summary(own)["id_recall"][own]
    assert estimate.mean == 0.25
    assert estimate.interval is not None
    assert compare(report, report, own)["id_recall"][own].difference == 0.0
    assert report.to_frame(own)["id_recall.found_first(share=0.5)"].tolist() == [0.25] * 10
    with pytest.raises(ParameterError, match="found_first"):
        parse("found_first")
    monkeypatch.setitem(MEASURES, "found_first", FoundFirst())
    assert parse("found_first(share=0.5)@2") == own @ 2


def test_capped_recall_divides_by_what_k_can_hold() -> None:
    """`Recall(denominator="k")` reaches 1.0 with k targets found; a weight is refused."""
    result = IdRecall().score(
        retrieved_context_ids=["a", "x", "b"], reference_context_ids=["a", "b", "c", "d"]
    )
    capped = Recall(denominator="k")
    assert [result[capped @ k] for k in (1, 2, 3, 4, 10)] == [1.0, 0.5, 2 / 3, 0.5, 0.5]
    assert result[capped] == result[Recall]
    assert parse("recall(denominator=k)@3") == capped @ 3
    with pytest.raises(ParameterError, match="leave weight out"):
        Recall(denominator="k", weight="grade")


@pytest.mark.parametrize("grade", [513, 1024, 1e300])
def test_huge_grades_do_not_overflow(grade: float) -> None:
    """A grade too large for a float cancels in nDCG, and the other rows keep their values."""
    rows = [
        {"retrieved_ids": ["b", "a"], "expected_ids": {"a": grade, "b": grade - 1}},
        {"retrieved_ids": ["b", "a"], "expected_ids": {"a": 2, "b": 1}},
    ]
    measure = nDCG(gain="exponential")
    huge, small = evaluate(rows, IdRecall(), progress=False).values(measure).tolist()
    ratio = 1.0 if grade - 1 == grade else 0.5
    rank_2 = 1 / log2(3)
    assert huge == pytest.approx((ratio + rank_2) / (1 + ratio * rank_2))
    assert small == (1 + 3 * rank_2) / (3 + rank_2)
    with pytest.raises(ParameterError, match=r"write ERR\(max_grade="):
        evaluate(rows, IdRecall(), progress=False).values(ERR)


def test_rank_biased_precision_by_hand() -> None:
    """Rank-biased precision by hand is (1 - p) times 1 at rank 1 and p squared at rank 3."""
    sample = Sample(retrieved_context_ids=["a", "x", "b"], reference_context_ids=["a", "b"])
    measure = RBP(p=0.5)
    assert IdRecall().score(sample)[measure] == pytest.approx(0.5 * (1 + 0.25))
    graded = evaluate([sample, sample], IdRecall(), progress=False).values(measure)
    assert graded.tolist() == pytest.approx([0.625, 0.625])


def test_an_alternative_is_found_in_columns_as_in_a_single_result() -> None:
    """A group counts at the rank of its first retrieved alternative, in columns too."""
    samples = [
        Sample(retrieved_context_ids=found, reference_context_ids=[["a", "b"], ["c"]])
        for found in (["b", "x"], ["x", "b", "a"], ["c"], ["x"])
    ]
    single = [IdRecall().score(sample) for sample in samples]
    report = evaluate(samples, IdRecall(), progress=False)
    for measure, expected in ((Recall, [0.5, 0.5, 0.5, 0.0]), (RR, [1.0, 0.5, 1.0, 0.0])):
        assert [result[measure] for result in single] == expected
        assert report.values(measure).tolist() == expected
