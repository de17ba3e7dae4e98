"""An evaluator's feedback names missed targets, and IDs of another kind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from known_nodes import QUESTION, Nodes

from fullrecall import IdRecall, TextRecall
from llama_index.evaluation.fullrecall import RecallEvaluationResult, RecallEvaluator


def test_feedback_lists_missed_targets_in_readable_length() -> None:
    """The feedback cuts long texts and lists, and the result holds them whole."""
    long = "word " * 100
    answer = RecallEvaluator(TextRecall()).evaluate(
        contexts=["x"], reference_contexts=[long, *(f"text number {n}" for n in range(14))]
    )
    assert answer.feedback is not None
    assert answer.feedback.startswith("0 of 15 found in 1 retrieved; missed: word word")
    assert answer.feedback.endswith(
        "…, " + ", ".join(f"text number {n}" for n in range(9)) + ", … and 5 more"
    )
    assert len(answer.result.missed) == 15
    assert answer.result.missed[0] == long


@pytest.mark.parametrize(
    ("id_key", "expected", "hint"),
    [
        ("node_id", "doc-tower", "id_key='ref_doc_id' would find them"),
        ("ref_doc_id", "place", "id_key='node_id' would find them"),
        ("none", "place", "id_key='node_id' would find them"),
        (lambda node: "x", "place", "id_key='node_id' would find them"),
    ],
)
def test_ids_of_another_kind_are_told(id_key: Any, expected: str, hint: str, scored: Nodes) -> None:
    """If document IDs are expected and node IDs retrieved, the result says so."""
    evaluator = RecallEvaluator(id_key=id_key)
    answer = evaluator.evaluate(contexts=scored("place", "rome"), expected_ids=[expected])
    assert not answer.score
    assert answer.feedback is not None
    assert hint in answer.feedback
    assert hint in answer.result.reason


def test_the_result_survives_pydantic(scored: Nodes) -> None:
    """Copied, dumped to JSON and read again, a result keeps its findings, status and method."""
    answer = RecallEvaluator(IdRecall()).evaluate(
        QUESTION, scored("place", "rome"), expected_ids=["place", "height"]
    )
    assert answer.model_copy(deep=True) == answer
    again = RecallEvaluationResult.model_validate_json(answer.model_dump_json())
    assert again == answer
    assert again.result.missed == ("height",)
    assert json.loads(answer.model_dump_json())["result"]["method"]["name"] == "id_recall"
    invalid = RecallEvaluator().evaluate(QUESTION)
    assert RecallEvaluationResult.model_validate(invalid.model_dump()) == invalid
    with pytest.raises(ValueError, match="expected a fullrecall Result, got int"):
        RecallEvaluationResult(result=7)  # type: ignore[arg-type]
    assert "result" in RecallEvaluationResult.model_json_schema()["properties"]
