"""The evaluator scores every kind of response, with every form of references, and in batches."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from known_nodes import PLACE, QUESTION, Answer, Nodes, OnlyScore, in_a_loop, tokens
from known_steps import LastTwoFirst
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.evaluation import BaseEvaluator, BatchEvalRunner, EvaluationResult
from llama_index.core.llms import MockLLM
from llama_index.core.schema import MetadataMode
from llama_index.core.tools import ToolOutput

from fullrecall import Context, IdRecall, Sample, TextRecall
from fullrecall.errors import ParameterError
from fullrecall.measures import RR, Recall
from fullrecall.scorers import Result, Status
from llama_index.evaluation.fullrecall import RecallEvaluationResult, RecallEvaluator

TOP_3 = ["place", "height", "capital"]
HEIGHT = "The Eiffel Tower is 330 metres high."
CAPITAL = "Paris is the capital of France."
ROME = "Rome is the capital of Italy."
BANANA = "Bananas hold much potassium."


class AlsoAsync(OnlyScore):
    """A user's own scorer that awaits something."""

    async def ascore(self, sample: Sample) -> Result:
        """Answer after another task had a turn."""
        await asyncio.sleep(0)
        return Result(self.method, Status.UNDEFINED, note="awaited")


def test_it_is_a_llama_index_evaluator() -> None:
    """The evaluator works wherever LlamaIndex's evaluators do, and has no prompts."""
    evaluator = RecallEvaluator()
    assert isinstance(evaluator, BaseEvaluator)
    assert evaluator.get_prompts() == {}
    evaluator.update_prompts({})
    assert evaluator.scorer == IdRecall()


def test_a_query_engine_is_scored_by_node_id(index: VectorStoreIndex, llm: MockLLM) -> None:
    """The result has the node IDs, which LlamaIndex's own evaluators drop, answer, and texts."""
    response = index.as_query_engine(llm=llm, similarity_top_k=3).query(QUESTION)
    answer = RecallEvaluator(IdRecall(), Recall, Recall @ 1, RR).evaluate_response(
        QUESTION, response, expected_ids=["height", "rome"]
    )
    assert isinstance(answer, EvaluationResult)
    assert answer.score == 0.5
    assert answer.feedback == (
        "1 of 2 found in 3 retrieved; read from the response's nodes, not recorded; missed: rome"
    )
    assert answer.query == QUESTION
    assert answer.response == "text text text text text"
    assert answer.contexts == [PLACE, HEIGHT, CAPITAL]
    assert (answer.invalid_result, answer.invalid_reason, answer.passing) == (False, None, None)
    assert answer.result.missed == ("rome",)
    assert answer.scores == {"id_recall": 0.5, "id_recall@1": 0.0, "id_recall.rr": 0.5}


def test_no_model_is_needed(index: VectorStoreIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """IDs and texts are scored without `Settings.llm`."""

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
    """The reranker's nodes are scored, and its input can be scored too."""
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
    """Each class of response gives its nodes, and its text if it is complete."""
    answer = RecallEvaluator().evaluate_response(
        QUESTION, make(scored("place", "height")), expected_ids=["place", "rome"]
    )
    assert (answer.score, answer.response) == (0.5, text)


def test_a_stream_is_not_read(index: VectorStoreIndex, llm: MockLLM) -> None:
    """Scoring a stream takes no token from its consumer, and can be repeated."""
    response = index.as_query_engine(llm=llm, streaming=True).query(QUESTION)
    assert isinstance(response, StreamingResponse)
    evaluator = RecallEvaluator()
    answer = evaluator.evaluate_response(QUESTION, response, expected_ids=["place"])
    assert (answer.score, answer.response) == (1.0, None)
    assert len(list(response.response_gen)) == 5
    assert response.response_txt is None


def test_an_unknown_response_is_unscored_by_name() -> None:
    """A mapping without documents is unscored, with the accepted forms in the reason."""
    answer = RecallEvaluator().evaluate_response(QUESTION, {"a": "b"}, expected_ids=["place"])
    assert answer.invalid_result
    assert answer.invalid_reason is not None
    assert "got dict" in answer.invalid_reason
    assert "expected a list of texts, mappings, Contexts" in answer.invalid_reason


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
def test_retrieved_contexts_may_have_every_form(given: Any, references: str, scored: Nodes) -> None:
    """Node lists, texts, contexts and IDs are accepted, and take precedence over the response."""
    answer = RecallEvaluator().evaluate(
        QUESTION, **given(scored("place")), **{references: ["place"]}
    )
    assert (answer.score, answer.result.retrieved) == (1.0, 1)


def test_texts_are_scored_in_the_mode_that_was_chosen(scored: Nodes) -> None:
    """`metadata_mode` decides whether the title is part of the text."""
    nodes = scored("place")
    wanted = "title: Place\n\nThe Eiffel Tower stands in Paris."
    strict = TextRecall(threshold=1.0)
    plain = RecallEvaluator(strict).evaluate(contexts=nodes, reference_contexts=[wanted])
    for_llm = RecallEvaluator(strict, metadata_mode=MetadataMode.LLM).evaluate(
        contexts=nodes, reference_contexts=[wanted]
    )
    assert (plain.score, for_llm.score) == (0.0, 1.0)
    assert for_llm.contexts == [wanted]


def test_arguments_that_are_none_are_not_given(scored: Nodes) -> None:
    """None in a batch means that an argument is not given."""
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
    """`passing` is None without a threshold or a score, never False."""
    evaluator = RecallEvaluator(threshold=threshold)
    answer = evaluator.evaluate(retrieved_ids=["a"], expected_ids=expected_ids)
    assert answer.passing is passing


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1"),
        ({"id_key": 7}, "id_key must be a field, a dotted path"),
        ({"metadata_mode": "x"}, "metadata_mode must be"),
        ({"failed_calls": "skip"}, "failed_calls must be 'unscored' or 'score', got 'skip'"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_at_once(
    parameters: dict[str, Any], named: str
) -> None:
    """A wrong configuration is an error before the first model is paid."""
    with pytest.raises(ParameterError, match=named):
        RecallEvaluator(**parameters)


@in_a_loop
async def test_async_methods_await_the_scorer_and_never_block() -> None:
    """`ascore` is awaited, and a scorer without it runs in a thread."""
    also_async, only_score = AlsoAsync(), OnlyScore()
    assert (await RecallEvaluator(also_async).aevaluate(QUESTION)).feedback == "awaited"
    assert also_async.calls == 0
    answer = await RecallEvaluator(only_score).aevaluate(QUESTION)
    assert answer.feedback == "scored by the user's own"
    assert threading.get_ident() not in only_score.threads


@pytest.fixture
def runner() -> Any:
    """Return a function that makes a batch runner without LlamaIndex's own warnings."""

    def make(**evaluators: BaseEvaluator) -> BatchEvalRunner:
        with pytest.warns(DeprecationWarning, match="asyncio_module"):
            return BatchEvalRunner(evaluators, workers=4)

    return make


def test_a_batch_takes_arguments_for_each_evaluator(runner: Any, scored: Nodes) -> None:
    """Each evaluator of a batch gets its own references, and results are in order."""
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
    """A bad row is one invalid result, without retries of four seconds or a lost batch."""
    raising = OnlyScore(RuntimeError("no connection"))
    batch = runner(ids=RecallEvaluator(), raising=RecallEvaluator(raising))
    nodes = scored("place")
    answers = batch.evaluate_responses(
        ["a", "b", "c", "d", "e"],
        [Response("x", nodes), None, nodes, Response("x", nodes), {"not": "a response"}],
        expected_ids=[["place"], ["place"], [1.5], [], ["place"]],
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
    """`aevaluate_queries` asks the engine and scores its answers in a running loop."""
    engine = index.as_query_engine(llm=llm, similarity_top_k=3)
    answers = await runner(ids=RecallEvaluator()).aevaluate_queries(
        engine, [QUESTION, "What do bananas hold?"], expected_ids=[["place"], ["banana", "none"]]
    )
    assert [answer.score for answer in answers["ids"]] == [1.0, 0.5]
