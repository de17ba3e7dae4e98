"""The metrics, by themselves and inside LlamaIndex's own `RetrieverEvaluator`."""

from __future__ import annotations

import asyncio
import math
import pickle
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.evaluation import (
    MultiModalRetrieverEvaluator,
    RetrievalEvalResult,
    RetrieverEvaluator,
)
from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY, Recall
from llama_index.core.schema import ImageNode, NodeWithScore, QueryBundle
from pydantic import ValidationError

from fullrecall import IdRecall, InputError
from fullrecall.datasets import from_embedding_qa
from llama_index.evaluation.fullrecall import (
    AllFoundAtK,
    AveragePrecisionAtK,
    HitAtK,
    MetricAtK,
    NDCGAtK,
    PrecisionAtK,
    RecallAtK,
    ReciprocalRankAtK,
    SpanRecallAtK,
    TextRecallAtK,
    register_metrics,
)

QUESTION = "Where in Paris does the Eiffel Tower stand?"
PLACE = "The Eiffel Tower stands in Paris."
BY_ID: list[type[MetricAtK]] = [
    RecallAtK,
    PrecisionAtK,
    HitAtK,
    AllFoundAtK,
    ReciprocalRankAtK,
    AveragePrecisionAtK,
    NDCGAtK,
]


def evaluated(evaluator: Any, *given: Any, **named: Any) -> RetrievalEvalResult:
    """Return what the evaluator says; its sync `evaluate` leaves an event loop open."""
    result = asyncio.run(evaluator.aevaluate(*given, **named))
    assert isinstance(result, RetrievalEvalResult)
    return result


class Finds(BaseRetriever):
    """Finds the same nodes for every question."""

    def __init__(self, *nodes: NodeWithScore) -> None:
        super().__init__()
        self._nodes = nodes

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return list(self._nodes)


@pytest.fixture
def registry() -> Iterator[dict[str, Any]]:
    """LlamaIndex's registry, as it was again afterwards."""
    before = dict(METRIC_REGISTRY)
    yield METRIC_REGISTRY
    METRIC_REGISTRY.clear()
    METRIC_REGISTRY.update(before)


def test_metrics_with_several_k_stand_side_by_side(index: VectorStoreIndex) -> None:
    """LlamaIndex keys by name: two recalls, and LlamaIndex's own, all keep their numbers."""
    evaluator = RetrieverEvaluator(
        metrics=[RecallAtK(k=1), RecallAtK(k=3), RecallAtK(), PrecisionAtK(k=3), Recall()],
        retriever=index.as_retriever(similarity_top_k=4),
    )
    result = evaluated(evaluator, QUESTION, expected_ids=["place", "capital"])
    assert result.metric_vals_dict == {
        "recall@1": 0.5,
        "recall@3": 1.0,
        "recall@all": 1.0,
        "precision@3": pytest.approx(2 / 3),
        "recall": 1.0,
    }
    metadata = result.metric_dict["recall@1"].metadata
    assert metadata == {
        "status": "scored",
        "reason": "1 of 2 found in 1 retrieved",
        "missed": ["capital"],
    }


@pytest.mark.parametrize("metric", BY_ID)
@pytest.mark.parametrize("k", [1, 2, None])
def test_a_metric_is_the_measure_of_the_scorer(metric: type[MetricAtK], k: int | None) -> None:
    """The numbers are those of `IdRecall`, duplicates and all: nothing is counted here."""
    expected, retrieved = ["a", "b", "c"], ["x", "b", "b", "a"]
    result = IdRecall(k=k).score(reference_context_ids=expected, retrieved_context_ids=retrieved)
    score = metric(k=k).compute(expected_ids=expected, retrieved_ids=retrieved).score
    assert score == result.value(metric.measure, k)


@pytest.mark.parametrize("metric", BY_ID)
@pytest.mark.parametrize(
    ("expected", "retrieved"),
    [
        (["a", "b"], ["a", "a", "a"]),
        (["D0", "D1"], ["D0", "D0", "D1"]),
        (["a", "a"], ["a"]),
        (["a", "b", "c", "d"], ["a", "b"]),
    ],
)
def test_no_score_exceeds_one(
    metric: type[MetricAtK], expected: list[str], retrieved: list[str]
) -> None:
    """The lists for which LlamaIndex's own metrics give 1.31, 1.5 and 2.0."""
    score = metric().compute(expected_ids=expected, retrieved_ids=retrieved).score
    assert 0.0 <= score <= 1.0


@pytest.mark.parametrize("metric", BY_ID)
def test_an_empty_retrieval_is_zero(metric: type[MetricAtK]) -> None:
    """A retriever that found nothing scores 0.0, where LlamaIndex's metrics raise."""
    assert metric(k=5).compute(expected_ids=["a"], retrieved_ids=[]).score == 0.0


@pytest.mark.parametrize("metric", [*BY_ID, TextRecallAtK, SpanRecallAtK])
def test_nothing_expected_is_undefined(metric: type[MetricAtK]) -> None:
    """It is NaN with the status beside it: never 0, never 1, and out of pandas' means."""
    found = metric(k=5).compute(
        expected_ids=[], retrieved_ids=["a"], expected_texts=[], retrieved_texts=["x"]
    )
    assert math.isnan(found.score)
    assert found.metadata == {
        "status": "undefined",
        "reason": "no reference items",
        "missed": [],
    }


@pytest.mark.parametrize("metric", BY_ID)
def test_a_bare_string_is_refused(metric: type[MetricAtK]) -> None:
    """LlamaIndex takes it for its characters and scores 1.0."""
    with pytest.raises(InputError, match="reference_context_ids"):
        metric().compute(expected_ids="abc", retrieved_ids=["a", "b", "c"])
    with pytest.raises(InputError, match="retrieved_context_ids"):
        metric().compute(expected_ids=["a"], retrieved_ids="abc")


def test_ids_are_compared_as_text() -> None:
    """The integer 1 and the text "1" name the same document."""
    assert RecallAtK().compute(expected_ids=[1, "2"], retrieved_ids=["1", 2]).score == 1.0


@pytest.mark.parametrize(
    ("metric", "missing"),
    [
        (RecallAtK(k=1), "recall@1 compares ids, and expected_ids is missing: give expected_ids="),
        (TextRecallAtK(), "text_recall@all compares texts, and expected_texts is missing"),
        (SpanRecallAtK(), "span_recall@all compares texts, and expected_texts is missing"),
    ],
)
def test_a_list_that_is_missing_is_named(metric: MetricAtK, missing: str) -> None:
    """A metric of texts without texts would be NaN in every row: the call says what to give."""
    with pytest.raises(InputError, match=missing):
        metric.compute(query="q", retrieved_ids=["a"], retrieved_texts=["x"])


def test_texts_are_compared_too(index: VectorStoreIndex) -> None:
    """Text recall in a `RetrieverEvaluator`, whose signature wants a list of IDs as well."""
    evaluator = RetrieverEvaluator(
        metrics=[
            TextRecallAtK(k=1, threshold=0.8),
            TextRecallAtK(k=1, threshold=1.0, name="exact@1"),
            SpanRecallAtK(k=1),
            TextRecallAtK(k=3, similarity="partial_ratio", threshold=1.0),
        ],
        retriever=index.as_retriever(similarity_top_k=3),
    )
    wanted = ["The Eiffel Tower stands in Paris", "The Eiffel Tower is 330 metres high."]
    result = evaluated(evaluator, QUESTION, expected_ids=[], expected_texts=wanted)
    assert result.metric_vals_dict == {
        "text_recall@1": 0.5,
        "exact@1": 0.0,
        "span_recall@1": 0.5,
        "text_recall@3": 1.0,
    }


def test_one_query_without_expected_ids_costs_no_other(index: VectorStoreIndex) -> None:
    """LlamaIndex's own metrics abort the whole set there; the mean is that of the others."""
    evaluator = RetrieverEvaluator(
        metrics=[RecallAtK(k=1)], retriever=index.as_retriever(similarity_top_k=2)
    )
    dataset = {
        "queries": {"q1": QUESTION, "q2": "Rome?", "q3": "What do bananas hold?"},
        "corpus": {"place": PLACE, "banana": "Bananas hold much potassium."},
        "relevant_docs": {"q1": ["place"], "q2": [], "q3": ["banana", "place"]},
    }
    scores = [
        evaluated(
            evaluator,
            sample.user_input or "",
            [reference.any_of[0] for reference in sample.reference_context_ids or ()],
        ).metric_vals_dict
        for sample in from_embedding_qa(dataset)
    ]
    frame = pd.DataFrame(scores)
    assert frame["recall@1"].isna().tolist() == [False, True, False]
    assert frame["recall@1"].mean() == 0.75


def test_a_multimodal_evaluator_takes_them() -> None:
    """Images are scored by ID as texts are."""
    nodes = [NodeWithScore(node=ImageNode(id_=name, text=name)) for name in ("one", "two")]
    evaluator = MultiModalRetrieverEvaluator(metrics=[RecallAtK(k=1)], retriever=Finds(*nodes))
    for mode in ("text", "image"):
        result = evaluated(evaluator, "q", ["one", "two"], mode=mode)
        assert result.metric_vals_dict == {"recall@1": 0.5}


def test_an_evaluator_is_made_by_names(registry: dict[str, Any], index: VectorStoreIndex) -> None:
    """After `register_metrics`, names with a k are known beside LlamaIndex's own."""
    own = set(registry)
    with pytest.raises(ValueError, match="Invalid metric name"):
        RetrieverEvaluator.from_metric_names(["recall@5"], retriever=index.as_retriever())
    names = register_metrics(ks=[2, 5])
    assert set(registry) == own | set(names)
    assert not own & set(names)
    assert names[:3] == ["recall@all", "recall@2", "recall@5"]
    assert len(set(names)) == len(names) == 27
    evaluator = RetrieverEvaluator.from_metric_names(
        ["recall@5", "recall", "ndcg@2", "all_found@all"],
        retriever=index.as_retriever(similarity_top_k=3),
    )
    result = evaluated(evaluator, QUESTION, ["place", "capital"])
    assert list(result.metric_vals_dict) == ["recall@5", "recall", "ndcg@2", "all_found@all"]
    assert result.metric_vals_dict["recall@5"] == result.metric_vals_dict["recall"] == 1.0
    assert {made().metric_name for name, made in registry.items() if name in names} == set(names)


@pytest.mark.parametrize("k", [0, -1, True, 1.5, "3"])
def test_a_k_that_is_none_is_refused(k: Any) -> None:
    """The error names the parameter, before anything is retrieved."""
    with pytest.raises(ValidationError, match=r"k is a whole number >= 1, got"):
        RecallAtK(k=k)
    with pytest.raises(ValueError, match=r"ks is a whole number >= 1, got"):
        register_metrics(ks=[k])


def test_a_parameter_of_the_scorer_is_refused_at_once() -> None:
    """A threshold out of range shows when the metric is made, not at the first query."""
    with pytest.raises(ValueError, match="threshold is a number from 0 to 1"):
        TextRecallAtK(threshold=2.0)
    with pytest.raises(ValueError, match="no similarity 'levenstein'"):
        TextRecallAtK(similarity="levenstein")


def test_metrics_travel_to_worker_processes() -> None:
    """A metric is a plain pydantic model: it pickles with its parameters."""
    metric = TextRecallAtK(k=3, threshold=0.8)
    again = pickle.loads(pickle.dumps(metric))  # noqa: S301 - made here
    assert again == metric
    assert again.metric_name == "text_recall@3"
