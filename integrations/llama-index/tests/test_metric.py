"""Fullrecall's measures work in LlamaIndex's `RetrieverEvaluator`."""

from __future__ import annotations

import asyncio
from math import isnan
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.evaluation import RetrieverEvaluator
from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY

from fullrecall import ClaimRecall, IdRecall, SpanRecall, TextRecall
from fullrecall.errors import InputError
from fullrecall.measures import AP, RR, Hit, Measure, Precision, Recall, nDCG
from llama_index.evaluation.fullrecall import RecallMetric

QUESTION = "Where in Paris does the Eiffel Tower stand?"


@pytest.mark.parametrize(
    "measure", [Recall, Recall @ 2, Precision @ 2, Hit @ 1, RR, AP @ 3, nDCG @ 3], ids=repr
)
@pytest.mark.parametrize(
    ("expected", "retrieved"),
    [(["a", "b"], ["a", "a", "x"]), (["a"], []), (["x"], ["a", "b", "x"]), ([1, "2"], ["1", "2"])],
)
def test_a_metric_is_the_measure_of_the_core(
    measure: Measure, expected: list[Any], retrieved: list[Any]
) -> None:
    """LlamaIndex gets the values of `IdRecall`, for duplicates, empty lists and int IDs."""
    score = RecallMetric(measure=measure).compute(expected_ids=expected, retrieved_ids=retrieved)
    result = IdRecall().score(reference_context_ids=expected, retrieved_context_ids=retrieved)
    assert score.score == result[measure]
    assert score.metadata["missed"] == list(result.missed)


def test_the_evaluator_keeps_each_measure(index: VectorStoreIndex) -> None:
    """Several measures have different names, and the usual ones are in LlamaIndex's registry."""
    metrics = [RecallMetric(measure=Recall @ 1), RecallMetric(measure="recall@3")]
    evaluator = RetrieverEvaluator(
        metrics=metrics, retriever=index.as_retriever(similarity_top_k=3)
    )
    result = asyncio.run(evaluator.aevaluate(QUESTION, ["place", "rome"]))
    assert result.metric_vals_dict == {"recall@1": 0.5, "recall@3": 0.5}
    named = RetrieverEvaluator.from_metric_names(
        ["recall@1", "ndcg@10", "recall"], retriever=index.as_retriever(similarity_top_k=3)
    )
    result = asyncio.run(named.aevaluate(QUESTION, ["place", "rome"]))
    assert result.metric_vals_dict["recall@1"] == 0.5
    assert not isinstance(named.metrics[2], RecallMetric), "LlamaIndex's own names stay its own"


def test_more_measures_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measure with parameters has a name in the registry, too."""
    monkeypatch.setattr("llama_index.core.evaluation.retrieval.metrics.METRIC_REGISTRY", {})
    gain = nDCG(gain="exponential") @ 7
    assert RecallMetric.register(gain) == ["ndcg(gain=exponential)@7"]
    assert METRIC_REGISTRY.pop("ndcg(gain=exponential)@7")().measure == gain


def test_nothing_to_recall_is_not_a_number() -> None:
    """An undefined value is NaN, since LlamaIndex's result takes no None."""
    result = RecallMetric().compute(expected_ids=[], retrieved_ids=["a"])
    assert isnan(result.score)
    assert result.metadata["status"] == "undefined"


@pytest.mark.parametrize("scorer", [TextRecall(threshold=0.9), SpanRecall()], ids=repr)
def test_texts_are_compared_by_a_scorer_of_texts(scorer: Any) -> None:
    """A scorer of texts needs expected texts, and gives the metric its name."""
    metric = RecallMetric(measure=Recall @ 1, scorer=scorer)
    text = "The Eiffel Tower stands in Paris, on the Champ de Mars."
    got = metric.compute(expected_texts=[text], retrieved_texts=[text], expected_ids=["x"])
    assert (metric.metric_name, got.score) == (f"{scorer.method.name}@1", 1.0)
    with pytest.raises(InputError, match="needs expected_texts"):
        metric.compute(expected_ids=["x"], retrieved_ids=["x"], retrieved_texts=["x"])


def test_wrong_arguments_are_refused() -> None:
    """Missing lists, texts for lists, judged scorers, and unknown measures are refused."""
    with pytest.raises(InputError, match="recall needs expected_ids"):
        RecallMetric().compute(retrieved_ids=["a"])
    with pytest.raises(InputError, match="list"):
        RecallMetric().compute(expected_ids=["a"], retrieved_ids="abc")
    with pytest.raises(ValueError, match="asks no model"):
        RecallMetric(scorer=ClaimRecall())
    with pytest.raises(ValueError, match="choose one of"):
        RecallMetric(measure="recal@5")


def test_a_metric_survives_json() -> None:
    """Pydantic writes the measure by its name, and reads it."""
    metric = RecallMetric(measure=nDCG @ 5, name="mine")
    again = RecallMetric.model_validate_json(metric.model_dump_json())
    assert (again.measure, again.metric_name) == (nDCG @ 5, "mine")
