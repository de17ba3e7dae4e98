"""A sample that cannot be measured has a result with a reason: never 0, no exception."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from known_nodes import QUESTION, Answer, Nodes, OnlyScore, in_a_loop, tokens
from llama_index.core import SummaryIndex
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import TextNode
from llama_index.core.tools import ToolOutput

from fullrecall import Context
from fullrecall.scorers import Status
from llama_index.evaluation.fullrecall import RecallEvaluator


def test_an_empty_retrieval_scores_zero_and_a_missing_one_is_unscored() -> None:
    """An empty list scores zero, and a missing response is unscored."""
    evaluator = RecallEvaluator()
    missing = evaluator.evaluate_response(QUESTION, None, expected_ids=["a"])
    assert (missing.score, missing.invalid_result, missing.contexts) == (None, True, None)
    assert missing.result.status is Status.UNSCORED
    nothing = evaluator.evaluate(QUESTION, [], expected_ids=["a"])
    assert (nothing.score, nothing.contexts) == (0.0, [])
    given = evaluator.evaluate(QUESTION, Response("x"), retrieved_nodes=[], expected_ids=["a"])
    assert (given.score, given.contexts) == (0.0, [])


@pytest.mark.parametrize("way", ["chat", "stream_chat", "achat", "astream_chat"])
@pytest.mark.parametrize("mode", ["context", "condense_plus_context", "condense_question"])
def test_a_chat_engine_that_found_nothing_scores_zero(llm: MockLLM, mode: Any, way: str) -> None:
    """A chat engine whose retriever, or inner engine, found no nodes scores 0."""
    memory = ChatMemoryBuffer.from_defaults(llm=llm)
    chat = SummaryIndex([]).as_chat_engine(chat_mode=mode, llm=llm, memory=memory)

    async def awaited() -> Any:
        response = await getattr(chat, way)("q")
        if way == "astream_chat":
            assert [token async for token in response.async_response_gen()]
        return response

    if way.startswith("a"):
        response = asyncio.run(awaited())
    else:
        response = getattr(chat, way)("q")
        if way == "stream_chat":
            assert list(response.response_gen)
    answer = RecallEvaluator().evaluate_response("q", response, expected_ids=["a"])
    assert (answer.score, answer.contexts) == (0.0, []), answer.invalid_reason


class AnswersWith(CustomQueryEngine):
    """A user's own engine that names no sources, for any retrieval."""

    answer: Any

    def custom_query(self, query_str: str) -> Any:
        """Answer."""
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        "a text alone",
        Response("x", []),
        Response("x", None),  # type: ignore[arg-type]
        Response(None, []),
        PydanticResponse(Answer(city="Paris")),
        StreamingResponse(iter(["Paris"])),
        AsyncStreamingResponse(tokens()),
        AgentChatResponse("Paris"),
        AgentChatResponse(
            "Paris",
            [ToolOutput(tool_name="t", raw_input={}, content="", raw_output=Response("x", []))],
        ),
        StreamingAgentChatResponse(),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_a_response_without_source_nodes_tells_nothing_of_the_retrieval(answer: Any) -> None:
    """A response without sources is unscored with the fix, since the engine may name none."""
    response = AnswersWith(answer=answer).query(QUESTION)
    told = RecallEvaluator().evaluate_response(QUESTION, response, expected_ids=["place"])
    assert (told.score, told.result.status, told.contexts) == (None, Status.UNSCORED, None)
    assert told.invalid_reason == (
        "no retrieval: the response names no source nodes, so what was retrieved is unknown: "
        "ask it in `with capture_retrievals():`, or pass retrieved_nodes=[…]"
    )


INVALID: dict[str, tuple[dict[str, Any], Status, str]] = {
    "no references": ({"expected_ids": []}, Status.UNDEFINED, "no reference items"),
    "references missing": ({}, Status.UNSCORED, "reference_context_ids is missing"),
    "references misspelt": (
        {"expected_id": ["a"], "sleep_time_in_seconds": 0},
        Status.UNSCORED,
        "reference_context_ids is missing; not used: expected_id",
    ),
    "nothing but what LlamaIndex passes": (
        {"sleep_time_in_seconds": 0},
        Status.UNSCORED,
        "reference_context_ids is missing",
    ),
    "a float": ({"expected_ids": [1.0]}, Status.UNSCORED, "1.0 is not an ID"),
    "two questions": ({"user_input": 7}, Status.UNSCORED, "expected one str"),
    "two retrievals": (
        {"contexts": ["x"], "retrieved_nodes": [], "expected_ids": ["a"]},
        Status.UNSCORED,
        "contexts and retrieved_nodes mean the same: pass one",
    ),
    "unequal lists": (
        {"contexts": ["x"], "retrieved_ids": ["a", "b"], "expected_ids": ["a"]},
        Status.UNSCORED,
        "1 retrieved_contexts but 2 retrieved_context_ids",
    ),
    "contexts no list": ({"contexts": "text", "expected_ids": ["a"]}, Status.UNSCORED, "a list"),
    "text among nodes": (
        {"contexts": [TextNode(text="x"), "text"], "expected_ids": ["a"]},
        Status.UNSCORED,
        "rank 2: expected a node, got str",
    ),
    "retriever failed": (
        {"retrieval": {"error": "timeout"}, "expected_ids": ["a"]},
        Status.UNSCORED,
        "no retrieval: timeout",
    ),
}


@pytest.mark.parametrize("case", INVALID)
@in_a_loop
async def test_an_unmeasured_sample_is_a_result(case: str, scored: Nodes) -> None:
    """All four methods return an invalid result with the reason, and never raise."""
    fields, status, reason = INVALID[case]
    response = Response("said", scored("place"))
    evaluator = RecallEvaluator()
    answers = [
        evaluator.evaluate(QUESTION, response, **fields),
        evaluator.evaluate_response(QUESTION, response, **fields),
        await evaluator.aevaluate(QUESTION, response, **fields),
        await evaluator.aevaluate_response(QUESTION, response, **fields),
    ]
    for answer in answers:
        assert (answer.score, answer.passing, answer.invalid_result) == (None, None, True)
        assert answer.result.status is status
        assert answer.invalid_reason is not None
        assert reason in answer.invalid_reason
        assert "sleep" not in answer.invalid_reason
        assert answer.feedback == answer.invalid_reason == answer.result.reason
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize("error", [RuntimeError("the pool is closed"), ValueError("boom")])
@in_a_loop
async def test_a_scorer_that_raises_is_a_result_with_its_own_words(error: Exception) -> None:
    """A scorer's RuntimeError in a running loop keeps its own words."""
    reason = f"own raised {type(error).__name__}: {error}"
    evaluator = RecallEvaluator(OnlyScore(error))
    assert evaluator.evaluate(QUESTION).invalid_reason == reason
    assert evaluator.evaluate_response(QUESTION).invalid_reason == reason
    assert (await evaluator.aevaluate(QUESTION)).invalid_reason == reason
    assert (await evaluator.aevaluate_response(QUESTION)).invalid_reason == reason


@pytest.mark.parametrize("awaited", [False, True])
def test_a_label_that_the_corpus_no_longer_has_is_unscored(*, awaited: bool) -> None:
    """A label that the corpus no longer has is unscored, and the other samples are scored."""
    evaluator = RecallEvaluator(corpus=[Context("Paris.", id="a")])
    nodes = [TextNode(id_="a", text="Paris.")]
    answers = {}
    for label in ("a", "b"):
        given: Any = {"query": QUESTION, "contexts": nodes, "expected_ids": [label]}
        answers[label] = (
            asyncio.run(evaluator.aevaluate(**given)) if awaited else evaluator.evaluate(**given)
        )
    assert (answers["a"].score, answers["b"].score) == (1.0, None)
    assert answers["b"].invalid_reason == "stale label: 'b' is not in the corpus"
