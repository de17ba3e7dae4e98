"""`RecallEvaluator` with LlamaIndex's own engines, responses and batch runner."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from llama_index.core import Settings, SummaryIndex, VectorStoreIndex
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.evaluation import BaseEvaluator, BatchEvalRunner, EvaluationResult
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import (
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.tools import ToolOutput

from fullrecall import Context, IdRecall, Sample, SpanRecall, TextRecall
from fullrecall.errors import ParameterError
from fullrecall.measures import RR, Recall
from fullrecall.result import Method, Result, Status
from llama_index.evaluation.fullrecall import RecallEvaluationResult, RecallEvaluator

QUESTION = "Where in Paris does the Eiffel Tower stand?"
TOP_3 = ["place", "height", "capital"]

PLACE = "The Eiffel Tower stands in Paris."
HEIGHT = "The Eiffel Tower is 330 metres high."
CAPITAL = "Paris is the capital of France."
ROME = "Rome is the capital of Italy."
BANANA = "Bananas hold much potassium."

Nodes: TypeAlias = Callable[..., list[NodeWithScore]]


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test in an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Any, **fixtures: Any) -> None:
        asyncio.run(test(*arguments, **fixtures))  # type: ignore[arg-type]

    return run


class LastTwoFirst(BaseNodePostprocessor):
    """A reranker: the two nodes that were last, the last one first."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[::-1][:2]


class OnlyScore:
    """A user's own scorer: the protocol and no more, and it may raise."""

    method = Method("own")

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls = 0
        self.threads: set[int] = set()

    def score(self, sample: Sample) -> Result:
        """Count the call and the thread, then raise or answer."""
        self.calls += 1
        self.threads.add(threading.get_ident())
        if self.error is not None:
            raise self.error
        return Result(self.method, Status.UNDEFINED, note="scored by the user's own")


class AlsoAsync(OnlyScore):
    """A user's own scorer that awaits something."""

    async def ascore(self, sample: Sample) -> Result:
        """Answer after another task has had its turn."""
        await asyncio.sleep(0)
        return Result(self.method, Status.UNDEFINED, note="awaited")


def test_it_is_a_llama_index_evaluator() -> None:
    """Whatever takes LlamaIndex's evaluators takes it; it has no prompts, and changes none."""
    evaluator = RecallEvaluator()
    assert isinstance(evaluator, BaseEvaluator)
    assert evaluator.get_prompts() == {}
    evaluator.update_prompts({})
    assert evaluator.scorer == IdRecall()


def test_a_query_engine_is_scored_by_node_id(index: VectorStoreIndex, llm: MockLLM) -> None:
    """The IDs that LlamaIndex's own evaluators drop arrive, with the answer and the texts."""
    response = index.as_query_engine(llm=llm, similarity_top_k=3).query(QUESTION)
    answer = RecallEvaluator(IdRecall(), Recall, Recall @ 1, RR).evaluate_response(
        QUESTION, response, expected_ids=["height", "rome"]
    )
    assert isinstance(answer, EvaluationResult)
    assert answer.score == 0.5
    assert answer.feedback == "1 of 2 found in 3 retrieved; missed: rome"
    assert answer.query == QUESTION
    assert answer.response == "text text text text text"
    assert answer.contexts == [PLACE, HEIGHT, CAPITAL]
    assert (answer.invalid_result, answer.invalid_reason, answer.passing) == (False, None, None)
    assert answer.result.missed == ("rome",)
    assert answer.scores == {"id_recall": 0.5, "id_recall@1": 0.0, "id_recall.rr": 0.5}


def test_an_engine_without_text_is_scored(index: VectorStoreIndex, llm: MockLLM) -> None:
    """An engine that only retrieves, in the mode "no_text", is the cheapest to evaluate."""
    # Given as such: with response_mode="no_text", LlamaIndex forgets the llm and wants OpenAI's.
    engine = index.as_query_engine(llm=llm, response_synthesizer=NoText(llm=llm))
    answer = RecallEvaluator().evaluate_response(
        QUESTION, engine.query(QUESTION), expected_ids=["place"]
    )
    assert (answer.score, answer.response) == (1.0, "")


def test_no_model_is_needed(index: VectorStoreIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """IDs and texts are compared with no LLM configured: `Settings.llm` is never touched."""

    def touched(self: object) -> None:
        raise AssertionError("Settings.llm was touched")

    monkeypatch.setattr(type(Settings), "llm", property(touched))
    nodes = index.as_retriever(similarity_top_k=3).retrieve(QUESTION)
    assert RecallEvaluator().evaluate(QUESTION, nodes, expected_ids=["place"]).score == 1.0
    by_text = RecallEvaluator(TextRecall())
    answer = by_text.evaluate(QUESTION, nodes, reference_contexts=[PLACE])
    assert answer.score == 1.0
    with pytest.raises(AssertionError, match="was touched"):
        _ = Settings.llm


def test_a_reranker_shows(index: VectorStoreIndex, llm: MockLLM) -> None:
    """The response holds what the reranker left; what it was given can be scored beside it."""
    engine = index.as_query_engine(
        llm=llm, similarity_top_k=3, node_postprocessors=[LastTwoFirst()]
    )
    evaluator, response = RecallEvaluator(), engine.query(QUESTION)
    after = evaluator.evaluate_response(QUESTION, response, expected_ids=["place", "capital"])
    assert (after.score, after.result.missed) == (0.5, ("place",))
    assert after.result[RR] == 1.0
    nodes = index.as_retriever(similarity_top_k=3).retrieve(QUESTION)
    before = evaluator.evaluate_response(
        QUESTION, response, retrieved_nodes=nodes, expected_ids=["place", "capital"]
    )
    assert before.score == 1.0
    by_ids = evaluator.evaluate_response(
        QUESTION, response, retrieved_ids=TOP_3, expected_ids=["place", "capital"]
    )
    assert by_ids.score == 1.0
    assert by_ids.contexts is None


class Answer(BaseModel):
    """A structured answer that has a field of its own named like the response's."""

    city: str
    source_nodes: tuple[str, ...] = ()


async def tokens() -> Any:
    """Stream an answer."""
    yield "Paris"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda nodes: Response("Paris", nodes), "Paris"),
        (lambda nodes: Response(None, nodes), None),
        (lambda nodes: StreamingResponse(iter(["Paris"]), nodes), None),
        (lambda nodes: StreamingResponse(iter([]), nodes, response_txt="Paris"), "Paris"),
        (lambda nodes: AsyncStreamingResponse(tokens(), nodes), None),
        (
            lambda nodes: PydanticResponse(Answer(city="Paris"), nodes),
            '{"city":"Paris","source_nodes":[]}',
        ),
        (lambda nodes: PydanticResponse(None, nodes), None),
        (lambda nodes: AgentChatResponse("Paris", source_nodes=nodes), "Paris"),
        (
            lambda nodes: AgentChatResponse(
                "Paris",
                [
                    ToolOutput(
                        tool_name="t", raw_input={}, content="", raw_output=Response("", nodes)
                    )
                ],
            ),
            "Paris",
        ),
        (lambda nodes: StreamingAgentChatResponse(source_nodes=nodes), None),
        (lambda nodes: StreamingAgentChatResponse("Paris", source_nodes=nodes), "Paris"),
        (lambda nodes: nodes, None),
        (tuple, None),
    ],
)
def test_every_kind_of_response_is_read(make: Any, text: str | None, scored: Nodes) -> None:
    """Each class that engines answer with gives its nodes, and its text where it is written."""
    answer = RecallEvaluator().evaluate_response(
        QUESTION, make(scored("place", "height")), expected_ids=["place", "rome"]
    )
    assert (answer.score, answer.response) == (0.5, text)


def test_a_stream_is_not_read(index: VectorStoreIndex, llm: MockLLM) -> None:
    """Scoring takes no token from a stream: its consumer gets them all, and it is scored again."""
    response = index.as_query_engine(llm=llm, streaming=True).query(QUESTION)
    assert isinstance(response, StreamingResponse)
    evaluator = RecallEvaluator()
    answer = evaluator.evaluate_response(QUESTION, response, expected_ids=["place"])
    assert (answer.score, answer.response) == (1.0, None)
    assert len(list(response.response_gen)) == 5
    assert response.response_txt is None


@in_a_loop
async def test_an_async_stream_is_not_read(index: VectorStoreIndex, llm: MockLLM) -> None:
    """The same for the stream of `aquery`, whose text appears once its consumer has read it."""
    response = await index.as_query_engine(llm=llm, streaming=True).aquery(QUESTION)
    assert isinstance(response, AsyncStreamingResponse)
    evaluator = RecallEvaluator()
    answer = await evaluator.aevaluate_response(QUESTION, response, expected_ids=["place"])
    assert (answer.score, answer.response) == (1.0, None)
    assert len([token async for token in response.async_response_gen()]) == 5
    again = await evaluator.aevaluate_response(QUESTION, response, expected_ids=["place"])
    assert again.response is not None
    assert again.response.split() == ["text"] * 5


def test_a_chat_engine_is_scored(index: VectorStoreIndex, llm: MockLLM) -> None:
    """Chat engines return responses of another class, with source nodes all the same."""
    engine = index.as_chat_engine(
        chat_mode="context",
        llm=llm,
        similarity_top_k=3,
        memory=ChatMemoryBuffer.from_defaults(llm=llm),  # the default leaves a database open
    )
    answer = RecallEvaluator().evaluate_response(
        QUESTION, engine.chat(QUESTION), expected_ids=["place", "rome"]
    )
    assert answer.score == 0.5


def test_what_no_engine_returns_is_refused_by_name() -> None:
    """An agent's output has no source nodes: unscored, with what is taken instead."""
    answer = RecallEvaluator().evaluate_response(QUESTION, {"a": 1}, expected_ids=["place"])
    assert answer.invalid_result
    assert answer.invalid_reason is not None
    assert "got dict" in answer.invalid_reason
    assert "AgentChatResponse" in answer.invalid_reason


@pytest.mark.parametrize(
    "given",
    [
        lambda nodes: {"response": nodes},
        lambda nodes: {"contexts": nodes},
        lambda nodes: {"retrieved_nodes": nodes},
        lambda nodes: {"retrieved_nodes": [nodes[0].node]},
        lambda nodes: {"retrieved_ids": ["place"]},
        lambda nodes: {"retrieved_context_ids": ["place"]},
        lambda nodes: {"contexts": ["a text"], "retrieved_ids": ["place"]},
        lambda nodes: {"contexts": [Context("a text", id="place")]},
        lambda nodes: {"retrieved_contexts": [{"id": "place"}]},
        lambda nodes: {"response": Response("x", [*nodes, *nodes]), "contexts": nodes},
    ],
)
@pytest.mark.parametrize("references", ["expected_ids", "reference_context_ids"])
def test_what_was_retrieved_may_be_given_in_every_form(
    given: Any, references: str, scored: Nodes
) -> None:
    """Node lists, texts, contexts and IDs are taken, and what is given as such comes first."""
    answer = RecallEvaluator().evaluate(
        QUESTION, **given(scored("place")), **{references: ["place"]}
    )
    assert (answer.score, answer.result.retrieved) == (1.0, 1)


def test_texts_are_scored_in_the_mode_that_was_chosen(scored: Nodes) -> None:
    """`metadata_mode` decides whether the title is part of the text, for scorer and result."""
    nodes = scored("place")
    wanted = "title: Place\n\nThe Eiffel Tower stands in Paris."
    strict = TextRecall(threshold=1.0)
    plain = RecallEvaluator(strict).evaluate(contexts=nodes, reference_contexts=[wanted])
    for_llm = RecallEvaluator(strict, metadata_mode=MetadataMode.LLM).evaluate(
        contexts=nodes, reference_contexts=[wanted]
    )
    assert (plain.score, for_llm.score) == (0.0, 1.0)
    assert for_llm.contexts == [wanted]


def test_offsets_are_read_on_demand() -> None:
    """With `offsets=True` spans are compared by place: the same words elsewhere do not count."""
    text = "A sentence that stands twice."
    node = TextNode(
        text=text,
        start_char_idx=500,
        end_char_idx=500 + len(text),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc")},
    )
    wanted = Context(text, source="doc", start=0, end=len(text))
    scores = [
        RecallEvaluator(SpanRecall(), offsets=offsets)
        .evaluate(contexts=[node], reference_contexts=[wanted])
        .score
        for offsets in (False, True)
    ]
    assert scores == [1.0, 0.0]


def test_arguments_that_are_none_are_not_given(scored: Nodes) -> None:
    """A batch passes None where a column has a gap: it is no retrieval and no reference."""
    answer = RecallEvaluator().evaluate(
        QUESTION,
        Response("x", scored("place")),
        retrieved_ids=None,
        retrieved_nodes=None,
        user_input=None,
        reference=None,
        expected_ids=["place"],
    )
    assert (answer.score, answer.query) == (1.0, QUESTION)


def test_other_arguments_do_no_harm() -> None:
    """A scored result does not speak of the arguments that LlamaIndex or the user passed on."""
    answer = RecallEvaluator().evaluate(retrieved_ids=["a"], expected_ids=["a"], own=1)
    assert answer.feedback == "1 of 1 found in 1 retrieved"


def test_the_query_may_be_a_bundle_and_the_response_a_text() -> None:
    """`evaluate` takes what LlamaIndex passes to evaluators: strings, or its query class."""
    answer = RecallEvaluator().evaluate(
        QueryBundle("Q"), "the answer", retrieved_ids=["a"], expected_ids=["a"]
    )
    assert (answer.query, answer.response, answer.score) == ("Q", "the answer", 1.0)


@pytest.mark.parametrize(
    ("threshold", "expected_ids", "passing"),
    [
        (0.5, ["a", "b"], True),
        (0.6, ["a", "b"], False),
        (0.1, ["b"], False),
        (None, ["a"], None),
        (0.5, [], None),
    ],
)
def test_passing_is_a_score_at_the_threshold(
    threshold: float | None, expected_ids: list[str], passing: object
) -> None:
    """`passing` is None without a threshold and without a score: never a silent False."""
    evaluator = RecallEvaluator(threshold=threshold)
    answer = evaluator.evaluate(retrieved_ids=["a"], expected_ids=expected_ids)
    assert answer.passing is passing


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1"),
        ({"id_key": 7}, "id_key must be 'node_id'"),
        ({"metadata_mode": "x"}, "metadata_mode must be"),
        ({"failed_calls": "skip"}, "failed_calls must be 'unscored' or 'score', got 'skip'"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_at_once(
    parameters: dict[str, Any], named: str
) -> None:
    """A mistake of the caller's own shows before the first model is paid."""
    with pytest.raises(ParameterError, match=named):
        RecallEvaluator(**parameters)


@pytest.mark.parametrize("scorer", [IdRecall, "id_recall"])
def test_what_is_not_a_scorer_or_a_measure_is_refused(scorer: Any) -> None:
    """A class, or a name, is no scorer, and a number is no measure."""
    with pytest.raises(ParameterError, match="scorer must be a scorer such as IdRecall"):
        RecallEvaluator(scorer)
    with pytest.raises(ParameterError, match="expected a measure such as Recall @ 5, got 5"):
        RecallEvaluator(IdRecall(), 5)  # type: ignore[arg-type]


def test_an_undefined_measure_is_invalid() -> None:
    """The score is that of the first measure; where it cannot be counted, there is none."""
    answer = RecallEvaluator(IdRecall(), Recall(min_grade=2) @ 1).evaluate(
        retrieved_ids=["a"], expected_ids={"a": 1}
    )
    assert (answer.score, answer.invalid_result) == (None, True)


def test_an_empty_retrieval_scores_zero_and_a_missing_one_is_unscored() -> None:
    """An empty list is an answer of the retriever; no response is none."""
    evaluator = RecallEvaluator()
    missing = evaluator.evaluate_response(QUESTION, None, expected_ids=["a"])
    assert (missing.score, missing.invalid_result, missing.contexts) == (None, True, None)
    assert missing.result.status is Status.UNSCORED
    nothing = evaluator.evaluate(QUESTION, [], expected_ids=["a"])
    assert (nothing.score, nothing.contexts) == (0.0, [])
    given = evaluator.evaluate(QUESTION, Response("x"), retrieved_nodes=[], expected_ids=["a"])
    assert (given.score, given.contexts) == (0.0, [])


@pytest.mark.parametrize("awaited", [False, True], ids=["query", "aquery"])
@pytest.mark.parametrize("streaming", [False, True], ids=["text", "stream"])
def test_an_engine_that_found_nothing_scores_zero(
    llm: MockLLM, *, streaming: bool, awaited: bool
) -> None:
    """LlamaIndex's synthesizers say that they were given no nodes: nothing was retrieved."""
    engine = SummaryIndex([]).as_query_engine(llm=llm, streaming=streaming)
    response: Any = asyncio.run(engine.aquery("q")) if awaited else engine.query("q")
    answer = RecallEvaluator().evaluate_response("q", response, expected_ids=["a"])
    assert (answer.score, answer.invalid_result, answer.contexts) == (0.0, False, [])


@pytest.mark.parametrize("way", ["chat", "stream_chat", "achat", "astream_chat"])
@pytest.mark.parametrize("mode", ["context", "condense_plus_context", "condense_question"])
def test_a_chat_engine_that_found_nothing_scores_zero(llm: MockLLM, mode: Any, way: str) -> None:
    """Chat engines name their retriever, or the response of their query engine, as a source."""
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
    """An engine of the user's own that names no sources, whatever it has retrieved."""

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
    """That an engine names no sources is not that it found none: unscored, with the way out."""
    response = AnswersWith(answer=answer).query(QUESTION)
    told = RecallEvaluator().evaluate_response(QUESTION, response, expected_ids=["place"])
    assert (told.score, told.result.status, told.contexts) == (None, Status.UNSCORED, None)
    assert told.invalid_reason == (
        "no retrieval: the response names no source nodes, so what was retrieved is unknown: "
        "attach(engine), or pass retrieved_nodes=[…]"
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
    "a bare string": ({"expected_ids": "place"}, Status.UNSCORED, "invalid input: reference"),
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
async def test_what_cannot_be_measured_is_a_result(case: str, scored: Nodes) -> None:
    """All four methods return an invalid result with the reason, and raise for nothing."""
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


def test_a_query_that_is_no_text_is_a_result() -> None:
    """A wrong type in a column of queries costs that one sample, and its answer is kept."""
    answer = RecallEvaluator().evaluate(5, "said", expected_ids=["a"])  # type: ignore[arg-type]
    assert (answer.invalid_result, answer.query, answer.response) == (True, None, "said")


def test_a_node_that_cannot_be_read_is_a_result(scored: Nodes) -> None:
    """An ID function that fails, and a node class of the user's own, cost one sample."""

    class Broken(TextNode):
        def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
            raise RuntimeError("the blob store is closed")

    by_page = RecallEvaluator(id_key=lambda node: node.metadata["page"])
    answer = by_page.evaluate(contexts=scored("place"), expected_ids=["a"])
    assert "KeyError: 'page'" in (answer.invalid_reason or "")
    answer = RecallEvaluator().evaluate(contexts=[Broken()], expected_ids=["a"])
    reason = "invalid input: RuntimeError: the blob store is closed"
    assert answer.invalid_reason == reason


@pytest.mark.parametrize("error", [RuntimeError("the pool is closed"), ValueError("boom")])
@in_a_loop
async def test_a_scorer_that_raises_is_a_result_with_its_own_words(error: Exception) -> None:
    """Sync or async, in a running loop, a RuntimeError never turns into advice on nested loops."""
    reason = f"own raised {type(error).__name__}: {error}"
    evaluator = RecallEvaluator(OnlyScore(error))
    assert evaluator.evaluate(QUESTION).invalid_reason == reason
    assert evaluator.evaluate_response(QUESTION).invalid_reason == reason
    assert (await evaluator.aevaluate(QUESTION)).invalid_reason == reason
    assert (await evaluator.aevaluate_response(QUESTION)).invalid_reason == reason


@in_a_loop
async def test_sync_methods_need_no_loop_and_no_thread() -> None:
    """In a notebook, where a loop is running, they score right here, without nest_asyncio."""
    scorer = OnlyScore()
    evaluator = RecallEvaluator(scorer)
    assert evaluator.evaluate(QUESTION).feedback == "scored by the user's own"
    assert evaluator.evaluate_response(QUESTION).feedback == "scored by the user's own"
    assert scorer.threads == {threading.get_ident()}


@in_a_loop
async def test_async_methods_await_the_scorer_and_never_block() -> None:
    """`ascore` is awaited; a scorer without one may wait for a model, and runs in a thread."""
    also_async, only_score = AlsoAsync(), OnlyScore()
    assert (await RecallEvaluator(also_async).aevaluate(QUESTION)).feedback == "awaited"
    assert also_async.calls == 0
    answer = await RecallEvaluator(only_score).aevaluate(QUESTION)
    assert answer.feedback == "scored by the user's own"
    assert threading.get_ident() not in only_score.threads


def test_feedback_lists_what_was_missed_in_readable_length() -> None:
    """Long texts and long lists are cut in the feedback; the result holds them whole."""
    long = "word " * 100
    answer = RecallEvaluator(TextRecall()).evaluate(
        contexts=["x"], reference_contexts=[long, *(f"text number {n}" for n in range(14))]
    )
    assert answer.feedback is not None
    assert answer.feedback.startswith("0 of 15 found in 1 retrieved; missed: word word")
    assert answer.feedback.endswith(
        "…, " + ", ".join(f"text number {n}" for n in range(9)) + " and 5 more"
    )
    assert len(answer.result.missed) == 15
    assert answer.result.missed[0] == long


@pytest.mark.parametrize(
    ("id_key", "expected", "hint"),
    [
        (
            "node_id",
            "doc-tower",
            "expected IDs match ref_doc_id, not node_id: use id_key='ref_doc_id'",
        ),
        ("ref_doc_id", "place", "expected IDs match node_id, not ref_doc_id: use id_key='node_id'"),
        (
            "none",
            "place",
            "expected IDs match node_id, not none: use id_key='node_id'",
        ),
        (
            lambda node: "x",
            "place",
            "expected IDs match node_id, not what id_key returns: use id_key='node_id'",
        ),
    ],
)
def test_ids_of_another_kind_are_told(id_key: Any, expected: str, hint: str, scored: Nodes) -> None:
    """Document IDs never match node IDs: a working retriever scores 0, and the result says why."""
    evaluator = RecallEvaluator(id_key=id_key)
    answer = evaluator.evaluate(contexts=scored("place", "rome"), expected_ids=[expected])
    assert not answer.score
    assert answer.feedback is not None
    assert hint in answer.feedback
    assert hint in answer.result.reason


@pytest.mark.parametrize(
    "expected", [["unknown"], ["place", "doc-tower"], ["place"]], ids=["neither", "both", "own"]
)
def test_ids_of_the_right_kind_are_not_doubted(expected: list[str], scored: Nodes) -> None:
    """No hint where an expected ID was retrieved, nor where it is none of the nodes' at all."""
    answer = RecallEvaluator().evaluate(contexts=scored("place"), expected_ids=expected)
    assert answer.feedback is not None
    assert "id_key" not in answer.feedback


def test_ids_beside_a_score_by_text_are_not_doubted(scored: Nodes) -> None:
    """Where texts were found, expected IDs of another kind are beside the point."""
    answer = RecallEvaluator(TextRecall()).evaluate(
        contexts=scored("place"), reference_contexts=[PLACE], expected_ids=["doc-tower"]
    )
    assert answer.feedback == "1 of 1 found in 1 retrieved"


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


@pytest.fixture
def runner() -> Any:
    """A function that makes a batch runner, whose constructor warns of LlamaIndex's own code."""

    def make(**evaluators: BaseEvaluator) -> BatchEvalRunner:
        with pytest.warns(DeprecationWarning, match="asyncio_module"):
            return BatchEvalRunner(evaluators, workers=4)

    return make


def test_a_batch_takes_arguments_for_each_evaluator(runner: Any, scored: Nodes) -> None:
    """Each evaluator of a batch gets its own references, and the results come in order."""
    batch = runner(
        node=RecallEvaluator(),
        document=RecallEvaluator(id_key="ref_doc_id"),
        text=RecallEvaluator(TextRecall()),
    )
    answers = batch.evaluate_responses(
        ["one", "two"],
        [Response("x", scored("place", "rome")), Response("y", scored("banana"))],
        node={"expected_ids": [["place"], ["place"]]},
        document={"expected_ids": [["doc-tower", "doc-france"], ["doc-fruit"]]},
        text={"reference_contexts": [[ROME], [BANANA]]},
    )
    assert {name: [answer.score for answer in rows] for name, rows in answers.items()} == {
        "node": [1.0, 0.0],
        "document": [0.5, 1.0],
        "text": [1.0, 1.0],
    }
    assert all(isinstance(row, RecallEvaluationResult) for rows in answers.values() for row in rows)
    assert [row.query for row in answers["node"]] == ["one", "two"]


def test_a_batch_loses_nothing_to_a_sample_that_fails(runner: Any, scored: Nodes) -> None:
    """One bad row is one invalid result: no retries of four seconds, and no lost batch."""
    raising = OnlyScore(RuntimeError("no connection"))
    batch = runner(ids=RecallEvaluator(), raising=RecallEvaluator(raising))
    nodes = scored("place")
    answers = batch.evaluate_responses(
        ["a", "b", "c", "d", "e"],
        [Response("x", nodes), None, nodes, Response("x", nodes), {"not": "a response"}],
        expected_ids=[["place"], ["place"], "place", [], ["place"]],
    )
    assert [answer.score for answer in answers["ids"]] == [1.0, None, None, None, None]
    assert [str(answer.result.status) for answer in answers["ids"]] == [
        "scored",
        "unscored",
        "unscored",
        "undefined",
        "unscored",
    ]
    assert {answer.score for answer in answers["raising"]} == {None}
    assert "own raised RuntimeError: no connection" in answers["raising"][0].invalid_reason
    assert raising.calls == 3, "scored once for each row that could be read, never again"


@in_a_loop
async def test_a_batch_runs_the_engine_itself_in_a_running_loop(
    runner: Any, index: VectorStoreIndex, llm: MockLLM
) -> None:
    """`aevaluate_queries` asks the engine and scores what it answers."""
    engine = index.as_query_engine(llm=llm, similarity_top_k=3)
    answers = await runner(ids=RecallEvaluator()).aevaluate_queries(
        engine, [QUESTION, "What do bananas hold?"], expected_ids=[["place"], ["banana", "none"]]
    )
    assert [answer.score for answer in answers["ids"]] == [1.0, 0.5]


def test_nodes_without_scores_are_scored(llm: MockLLM, scored: Nodes) -> None:
    """An index that gives no scores, as a summary index, is ranked by its order."""
    engine = SummaryIndex([item.node for item in scored("rome", "place")]).as_query_engine(llm=llm)
    answer = RecallEvaluator().evaluate(QUESTION, engine.query(QUESTION), expected_ids=["place"])
    assert (answer.score, answer.result[RR]) == (1.0, 0.5)
