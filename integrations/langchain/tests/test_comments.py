"""The comment beside a score, and the values that `observed` refuses."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import IdRecall, Sample, SpanRecall
from fullrecall.errors import ParameterError
from fullrecall.measures import Measure, Recall
from langchain_fullrecall.feedback import comment
from langchain_fullrecall.measurement import Measured
from langchain_fullrecall.retriever import runnable_of

TEXT = "The old mill was built by hand near the river."
PARTS = Sample(retrieved_contexts=[TEXT[:23], "other"], reference_contexts=[TEXT, "absent words"])
IDS = Sample(retrieved_context_ids=["a", "b"], reference_context_ids=["b", "c"])
UNSEEN = Sample(reference_context_ids=["a"])
UNSEEN_REASON = (
    "unscored: no retrieval observed: the sample has neither retrieved_contexts nor "
    "retrieved_context_ids"
)
NONE = Sample(retrieved_context_ids=["a"], reference_context_ids=["c"])


@pytest.mark.parametrize(
    ("sample", "measure", "text"),
    [
        (PARTS, Recall @ 1, f"0 of 2 found in full in 1 retrieved; missed: {TEXT}, absent words"),
        (PARTS, Recall @ 2, f"0 of 2 found in full in 2 retrieved; missed: {TEXT}, absent words"),
        (IDS, Recall, "1 of 2 found in 2 retrieved; missed: c"),
        (IDS, Recall @ 1, "0 of 2 found in 1 retrieved; missed: b, c"),
        (IDS, Recall @ 2, "1 of 2 found in 2 retrieved; missed: c"),
        (NONE, Recall @ 1, "0 of 1 found in 1 retrieved; missed: c; retrieved: a; a hint"),
        (UNSEEN, Recall, UNSEEN_REASON),
    ],
)  # fmt: skip
def test_a_comment_explains_a_score(sample: Sample, measure: Measure, text: str) -> None:
    """Found and missed targets within k; without any, the retrieved IDs and a hint."""
    by_id = sample is not PARTS
    scorer = IdRecall() if by_id else SpanRecall()
    hint = "a hint" if sample is NONE else ""
    assert comment(Measured(sample, scorer.score(sample), hint, by_id), measure) == text


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (7, "expected a Runnable, a VectorStore or a function of the question, got 7"),
        ("search", "expected a Runnable, a VectorStore or a function of the question"),
        (dict, "expected a retriever instance, got class dict"),
    ],
)
def test_a_source_that_cannot_be_observed(source: Any, problem: str) -> None:
    """A number, a text, and a class are refused at once."""
    with pytest.raises(ParameterError, match=problem):
        runnable_of(source)
