"""Each measure of one judged list, computed by hand from its formula."""

from __future__ import annotations

from math import log2

import pytest

from fullrecall import IdRecall, Sample, TextRecall, evaluate
from fullrecall.measures import Measure, parse

SAMPLE = Sample(
    retrieved_context_ids=["z", "a", "u", "y", "b", "v"],
    reference_context_ids={"a": 2, "b": 1, "c": 1, "y": 0, "z": 0, "w": -1},
)
"""Targets at the ranks 2 (grade 2) and 5, and one missing; irrelevant contexts at 1 and 4."""

IDEAL = 1 / log2(3) + 1 / log2(4)

BY_HAND = {
    "recall": 2 / 3,
    "recall@4": 1 / 3,
    "recall(min_grade=2)": 1.0,
    "precision": 2 / 6,
    "precision@3": 1 / 3,
    "f1": 4 / 9,
    "f_beta(beta=2)": 5 / 9,
    "hit@1": 0.0,
    "hit@2": 1.0,
    "all_found": 0.0,
    "rr": 1 / 2,
    "rr(min_grade=2)": 1 / 2,
    "ap": (1 / 2 + 2 / 5) / 3,
    "mean_precision": (1 / 2 + 2 / 5) / 2,
    "ndcg": (2 / log2(3) + 1 / log2(6)) / (2 + IDEAL),
    "ndcg@2": (2 / log2(3)) / (2 + 1 / log2(3)),
    "ndcg(gain='exponential')": (3 / log2(3) + 1 / log2(6)) / (3 + IDEAL),
    "r_precision": 1 / 3,
    "r_precision@1": 0.0,
    "rbp": 0.2 * (0.8 + 0.8**4),
    "rbp(p=0.5)@4": 0.5 * 0.5,
    "err": 3 / 16 / 2 + 13 / 16 * 1 / 16 / 5,
    "err(max_grade=2)": 3 / 4 / 2 + 1 / 4 * 1 / 4 / 5,
    "bpref": (1 / 2 + 0) / 3,
    "bpref@1": 0.0,
    "bpref(min_grade=2)": 0.0,
    "interpolated_precision": 1 / 2,
    "interpolated_precision(recall=0.5)": 2 / 5,
    "interpolated_precision(recall=1)": 0.0,
    "judged": 4 / 6,
    "judged@3": 2 / 3,
    "retrieved": 6,
    "retrieved@4": 4,
    "relevant": 3,
    "relevant(min_grade=2)": 1,
    "relevant_retrieved": 2,
    "relevant_retrieved@3": 1,
}


@pytest.mark.parametrize("text", BY_HAND)
def test_a_measure_is_its_formula(text: str) -> None:
    """A measure equals its formula, for a single sample and for columns of many."""
    measure: Measure = parse(text)
    assert IdRecall().score(SAMPLE)[measure] == pytest.approx(BY_HAND[text])
    report = evaluate([SAMPLE] * 3, IdRecall(), progress=False)
    assert [*report.values(measure)] == [pytest.approx(BY_HAND[text])] * 3


def test_without_references_by_id_nothing_is_judged() -> None:
    """The share of judged contexts is None, not 0, without references by ID."""
    result = TextRecall().score(retrieved_contexts=["a"], reference_contexts=["a"])
    assert result[parse("judged")] is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("retrieved", 1), ("relevant", 0), ("relevant_retrieved", 0), ("judged", 1), ("recall", None)],
)
def test_counts_need_no_target(text: str, value: float | None) -> None:
    """A sample without a relevant document has counts, but no recall."""
    sample = Sample(retrieved_context_ids=["a"], reference_context_ids={"a": 0})
    assert IdRecall().score(sample)[parse(text)] == value
    column = evaluate([sample], IdRecall(), progress=False).values(parse(text))
    assert [None if number != number else number for number in column] == [value]  # noqa: PLR0124
