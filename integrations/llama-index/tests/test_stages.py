"""The evaluator scores an attached engine's final list, and the lists before it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from known_steps import LastTwoFirst
from llama_index.core import VectorStoreIndex
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.query_engine.retriever_query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall import ClaimRecall, IdRecall, SpanRecall
from fullrecall.measures import Recall
from fullrecall.scorers import Status
from llama_index.evaluation.fullrecall import (
    RecallEvaluationResult,
    RecallEvaluator,
    capture_retrievals,
)
from llama_index.evaluation.fullrecall.capture import capture_in

QUESTION = "Where in Paris does the Eiffel Tower stand?"
EXPECTED = ["place", "capital"]
HEIGHT = "The Eiffel Tower is 330 metres high."


class JustTheLast(BaseNodePostprocessor):
    """A filter that keeps the last node."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[-1:]


class Counting(SpanRecall):
    """A scorer that counts its calls."""

    def score(self, *arguments: Any, **fields: Any) -> Any:
        """Count, and score."""
        counted.append(1)
        return super().score(*arguments, **fields)


counted: list[int] = []


@pytest.fixture
def engine(index: VectorStoreIndex) -> RetrieverQueryEngine:
    """Return an engine whose reranker drops the first node."""
    return reranked(index, LastTwoFirst())


def reranked(index: VectorStoreIndex, *postprocessors: BaseNodePostprocessor) -> Any:
    """Return an engine that retrieves three nodes and asks no model."""
    return RetrieverQueryEngine(
        index.as_retriever(similarity_top_k=3),
        response_synthesizer=NoText(llm=MockLLM()),
        node_postprocessors=list(postprocessors),
    )


def test_nodes_lost_by_a_reranker_are_seen(engine: RetrieverQueryEngine) -> None:
    """One call scores the nodes that reached the model, and the retrieved nodes before."""
    with capture_retrievals():
        answer = RecallEvaluator().evaluate_response(
            QUESTION, engine.query(QUESTION), expected_ids=EXPECTED
        )
    assert (answer.score, answer.result.missed) == (0.5, ("place",))
    assert {name: result.score for name, result in answer.stages.items()} == {
        "VectorIndexRetriever": 1.0
    }
    assert answer.feedback == (
        "1 of 2 found in 2 retrieved; missed: place; retrieved, then dropped: place"
    )


def test_without_attaching_there_are_no_stages(engine: RetrieverQueryEngine) -> None:
    """A response without a record has the final list only, and no stages."""
    answer = RecallEvaluator().evaluate_response(
        QUESTION, engine.query(QUESTION), expected_ids=EXPECTED
    )
    assert (answer.score, answer.stages) == (0.5, {})
    assert answer.feedback == (
        "1 of 2 found in 2 retrieved; read from the response's nodes, not recorded; missed: place"
    )


def test_a_capture_is_taken_like_a_response(index: VectorStoreIndex) -> None:
    """The record of an agent or workflow, whose output has no nodes, is scored."""
    with capture_retrievals() as capture:
        index.as_retriever(similarity_top_k=1).retrieve(QUESTION)
    answer = RecallEvaluator().evaluate(QUESTION, capture, expected_ids=["place"])
    assert (answer.score, answer.response) == (1.0, None)
    with capture_retrievals() as nothing:
        pass
    answer = RecallEvaluator().evaluate(QUESTION, nothing, expected_ids=["place"])
    assert (answer.score, answer.result.status) == (None, Status.UNSCORED)
    assert "no retrieval was seen" in (answer.invalid_reason or "")


def test_source_nodes_count_where_nothing_was_seen() -> None:
    """An attached engine whose nodes were not recorded is scored by its source nodes."""

    class Elsewhere(CustomQueryEngine):
        def custom_query(self, query_str: str) -> Any:
            node = TextNode(id_="place", text="The Eiffel Tower stands in Paris.")
            return Response(f"answer to {query_str}", [NodeWithScore(node=node)])

    engine = Elsewhere()
    with capture_retrievals():
        response = engine.query(QUESTION)
    answer = RecallEvaluator().evaluate_response(QUESTION, response, expected_ids=["place"])
    assert (answer.score, answer.stages) == (1.0, {})


def test_stages_can_be_left_out(index: VectorStoreIndex) -> None:
    """`score_stages=False` scores the final list alone, so that a judge is asked less."""
    counted.clear()
    engine = reranked(index, JustTheLast())
    with capture_retrievals():
        response = engine.query(QUESTION)
    answer = RecallEvaluator(Counting(), score_stages=False).evaluate_response(
        QUESTION, response, reference_contexts=[HEIGHT]
    )
    assert (answer.score, answer.stages, len(counted)) == (0.0, {}, 1)


def test_judged_scorers_see_every_stage_too(index: VectorStoreIndex) -> None:
    """Claims are judged in both lists, sync and async."""
    engine = reranked(index, JustTheLast())
    evaluator = RecallEvaluator(ClaimRecall())
    with capture_retrievals():
        response = engine.query(QUESTION)
    answers = [
        evaluator.evaluate_response(QUESTION, response, reference=HEIGHT),
        asyncio.run(evaluator.aevaluate_response(QUESTION, response, reference=HEIGHT)),
    ]
    for answer in answers:
        assert (answer.score, answer.stages["VectorIndexRetriever"].score) == (0.0, 1.0)


def test_stages_survive_pydantic(engine: RetrieverQueryEngine) -> None:
    """Results of stages survive JSON."""
    with capture_retrievals():
        response = engine.query(QUESTION)
    assert capture_in(response) is not None
    answer = RecallEvaluator(IdRecall(), Recall @ 1).evaluate(
        QUESTION, response, expected_ids=EXPECTED
    )
    assert list(answer.stages) == ["VectorIndexRetriever"]
    assert answer.scores == {"id_recall@1": 0.5}
    again = RecallEvaluationResult.model_validate_json(answer.model_dump_json())
    assert again == answer
    assert again.stages["VectorIndexRetriever"][Recall @ 1] == 0.5
    assert again.sample.retrieval == answer.sample.retrieval


def test_each_list_of_a_record(index: VectorStoreIndex, llm: MockLLM) -> None:
    """Three nodes were retrieved, and the two kept ones were in the prompt; each list is scored."""
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=3), llm=llm, node_postprocessors=[LastTwoFirst()]
    )
    with capture_retrievals():
        response = engine.query(QUESTION)
    views: Any = ("retrieved", "contexts", "read")
    scores = [
        RecallEvaluator(view=view)
        .evaluate(QUESTION, response, expected_ids=["place", "height", "capital"])
        .score
        for view in views
    ]
    assert scores == [1.0, pytest.approx(2 / 3), pytest.approx(2 / 3)]
