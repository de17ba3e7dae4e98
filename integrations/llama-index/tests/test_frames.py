"""Frames of results, beside those that LlamaIndex itself makes of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.evaluation import EvaluationResult, RetrieverEvaluator
from llama_index.core.evaluation.eval_utils import get_results_df

from fullrecall import IdRecall, InputError, TextRecall
from llama_index.evaluation.fullrecall import (
    PrecisionAtK,
    RecallAtK,
    RecallEvaluator,
    results_frame,
    summary_frame,
)

QUESTION = "Where in Paris does the Eiffel Tower stand?"


def batch(**references: list[Any]) -> dict[str, list[EvaluationResult]]:
    """Return results as a batch runner does, of three samples for which "a" was retrieved."""
    ids, texts = RecallEvaluator(IdRecall(k=1)), RecallEvaluator(TextRecall())
    return {
        "ids": [
            ids.evaluate(f"q{n}", retrieved_ids=["a"], expected_ids=expected)
            for n, expected in enumerate(references["ids"])
        ],
        "texts": [
            texts.evaluate(f"q{n}", contexts=["a text"], reference_contexts=expected)
            for n, expected in enumerate(references["texts"])
        ],
    }


def test_a_mean_is_over_what_was_scored() -> None:
    """A result without a score is counted and told, where LlamaIndex's frame makes it a 0."""
    results = batch(ids=[["a"], [], "a"], texts=[["a text"], ["b"], None])
    summary = summary_frame(results).to_dict("records")
    assert summary == [
        {
            "evaluator": "ids", "measure": "id_recall@1", "stage": "final", "mean": 1.0,
            "scored": 1, "undefined": 1, "unscored": 1,
            "reasons": {
                "no reference items": 1,
                results["ids"][2].invalid_reason: 1,
            },
        },
        {
            "evaluator": "texts", "measure": "text_recall", "stage": "final", "mean": 0.5,
            "scored": 2, "undefined": 0, "unscored": 1,
            "reasons": {"reference_contexts is missing": 1},
        },
    ]  # fmt: skip
    theirs = get_results_df([results], ["run"], ["ids"])
    assert theirs["ids"].tolist() == [pytest.approx(1 / 3)]


def test_every_score_has_a_row_with_its_status() -> None:
    """The frame of all results keeps their order, and a missing score is missing."""
    frame = results_frame(batch(ids=[["a"], [], ["b"]], texts=[["a text"]] * 3))
    assert list(frame.columns) == [
        "evaluator", "measure", "stage", "sample", "query", "score", "status", "reason",
    ]  # fmt: skip
    ids = frame[frame["evaluator"] == "ids"]
    assert ids["sample"].tolist() == [1, 2, 3]
    assert ids["query"].tolist() == ["q0", "q1", "q2"]
    assert ids["status"].tolist() == ["scored", "undefined", "scored"]
    assert ids["score"].isna().tolist() == [False, True, False]
    assert ids["reason"].tolist()[1:] == ["no reference items", "0 of 1 found in 1 retrieved"]


def test_nothing_scored_has_no_mean() -> None:
    """Where no sample could be measured there is no number at all."""
    summary = summary_frame(batch(ids=[[], []], texts=[None, None]))
    assert summary["mean"].isna().tolist() == [True, True]
    assert summary["scored"].tolist() == [0, 0]


def test_other_evaluators_stand_beside_ours() -> None:
    """An invalid result of another evaluator is unscored, even where it carries a score."""
    theirs = [
        EvaluationResult(query="q1", score=0.5, feedback="so so"),
        EvaluationResult(query="q2", score=0.0, invalid_result=True, invalid_reason="no parse"),
        EvaluationResult(query="q3", score=None),
        EvaluationResult(query="q4", score=float("nan")),
    ]
    assert summary_frame({"theirs": theirs}).to_dict("records") == [
        {
            "evaluator": "theirs", "measure": "score", "stage": "final", "mean": 0.5,
            "scored": 1, "undefined": 0, "unscored": 3,
            "reasons": {"no reason given": 2, "no parse": 1},
        }
    ]  # fmt: skip
    assert results_frame({"theirs": theirs})["reason"].tolist()[0] == "so so"


def test_results_of_retriever_evaluators_are_summarised(index: VectorStoreIndex) -> None:
    """Each metric has its row; a query with nothing to recall is undefined, not 0."""
    evaluator = RetrieverEvaluator(
        metrics=[RecallAtK(k=1), PrecisionAtK(k=2)],
        retriever=index.as_retriever(similarity_top_k=2),
    )
    results = [
        asyncio.run(evaluator.aevaluate(QUESTION, expected))
        for expected in (["place"], [], ["rome"])
    ]
    summary = summary_frame({"vector": results})
    assert summary.to_dict("records") == [
        {
            "evaluator": "vector", "measure": measure, "stage": "final", "mean": mean,
            "scored": 2, "undefined": 1, "unscored": 0, "reasons": {"no reference items": 1},
        }
        for measure, mean in (("recall@1", 0.5), ("precision@2", 0.25))
    ]  # fmt: skip


def test_no_results_are_an_empty_frame() -> None:
    """An empty run has its columns, and no rows."""
    assert len(results_frame({})) == len(summary_frame({"ids": []})) == 0
    assert list(summary_frame({}).columns)[3] == "mean"


def test_what_is_no_result_is_refused() -> None:
    """A list of scores is no list of results: the error names where it stands."""
    with pytest.raises(InputError, match=r"give \{'recall': results\}, got list"):
        summary_frame([])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'ids', sample 1: an EvaluationResult"):
        results_frame({"ids": [0.5]})  # type: ignore[list-item]
