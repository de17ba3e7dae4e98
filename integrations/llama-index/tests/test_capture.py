"""Captures keep concurrent calls apart, and hold failures and all contents."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from known_engines import Echo, Pipeline, asked, finals
from known_engines import retrieved as retrieved_by
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import PydanticResponse, Response, StreamingResponse
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.evaluation import BatchEvalRunner
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import (
    Document,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from fullrecall import Context, IdRecall, Sample
from fullrecall.scorers import Status
from llama_index.evaluation.fullrecall import (
    RecallEvaluator,
    capture_retrievals,
    listening,
    observed,
    reader,
)
from llama_index.evaluation.fullrecall.capture import LlamaIndexCapture, capture_in
from llama_index.evaluation.fullrecall.listening import recorders

pytestmark = pytest.mark.usefixtures("nothing_is_left_open")

FRUIT = "What do bananas hold?"


def test_200_calls_in_tasks_keep_apart(echo: BaseQueryEngine) -> None:
    """Each of 200 gathered calls gets its own retrieval, in a response that carries it."""
    questions = [f"q{n}" for n in range(200)]

    async def ask_all() -> list[Any]:
        return await asyncio.gather(*map(echo.aquery, questions))

    with capture_retrievals() as block:
        responses = asyncio.run(ask_all())
    assert [finals(capture_in(response)) for response in responses] == [
        [f"for {question}"] for question in questions
    ]
    assert all(len(retrieved_by(capture)) == 2 for capture in block.calls)
    assert sorted(str(capture.question) for capture in block.calls) == sorted(questions)


def test_a_call_that_blocks_a_running_loop_is_captured(
    index: VectorStoreIndex, llm: MockLLM
) -> None:
    """A call that blocks a running loop, as in notebooks, is captured from another thread."""
    fused = QueryFusionRetriever(
        [Echo(), index.as_retriever(similarity_top_k=1)], llm=llm, num_queries=1, use_async=True
    )
    engine = RetrieverQueryEngine.from_args(fused, llm=llm)

    async def in_a_loop() -> Any:
        return engine.query(FRUIT)

    with capture_retrievals():
        capture = capture_in(asyncio.run(in_a_loop()))
    assert capture is not None
    assert [(each.retriever, each.is_part) for each in asked(capture)] == [
        ("QueryFusionRetriever", False),
        ("Echo", True),
        ("VectorIndexRetriever", True),
    ]


def test_the_batch_runner_scores_what_was_retrieved(echo: BaseQueryEngine) -> None:
    """`BatchEvalRunner` asks all questions first, and each response keeps its own capture."""
    evaluator = RecallEvaluator(IdRecall())
    questions = [f"q{n}" for n in range(10)]
    with pytest.warns(DeprecationWarning, match="asyncio_module"):
        runner = BatchEvalRunner({"recall": evaluator}, workers=4)
    with capture_retrievals() as block:
        results = asyncio.run(
            runner.aevaluate_queries(
                echo,
                queries=questions,
                recall={"expected_ids": [[f"for {question}"] for question in questions]},
            )
        )
    assert len(block.calls) == 10
    assert [result.score for result in results["recall"]] == [1.0] * 10


def test_each_outermost_call_of_a_block_has_a_record_of_its_own(echo: BaseQueryEngine) -> None:
    """Each outermost call has a record; outer blocks have it too, and later blocks do not."""

    def asks_others(question: str) -> str:
        with capture_retrievals() as own:
            echo.query(f"own {question}")
        inner.append(own)
        return Echo().retrieve(question)[0].text

    inner: list[LlamaIndexCapture] = []
    engine = Pipeline(work=asks_others)
    with capture_retrievals() as outer:
        with capture_retrievals() as block:
            assert capture_in(engine.query("a")) is block.calls[0]
        Echo().retrieve("b")
        observed(echo).retrieve(Sample(user_input="observed"))
    assert capture_in(echo.query("c")) is None
    assert [call.question for call in outer.calls] == ["a", "b"]
    assert [call.question for call in block.calls] == ["a"]
    assert [call.question for call in inner[0].calls] == ["own a"]
    assert block.calls[0].calls == ()
    assert finals(inner[0].calls[0]) == ["for own a"]
    assert listening._open == set()


def test_what_ends_after_the_block_is_not_captured() -> None:
    """A task that a block started and did not wait for adds nothing to it later."""
    go = asyncio.Event()

    async def later() -> None:
        await go.wait()
        await Echo().aretrieve("late")

    async def run() -> LlamaIndexCapture:
        with capture_retrievals() as capture:
            task = asyncio.create_task(later())
            await Echo().aretrieve("in time")
        go.set()
        await task
        return capture

    assert [each.question for each in asked(asyncio.run(run()))] == ["in time"]


def test_a_call_may_end_in_another_context_than_it_began_in() -> None:
    """A call that returns a task ends with the task, and its capture is delivered then."""

    class Starts(Pipeline):
        def aquery(self, str_or_query_bundle: Any) -> Any:
            return asyncio.ensure_future(super().aquery(str_or_query_bundle))

    engine = Starts(work=lambda question: Echo().retrieve(question)[0].text)

    async def run() -> list[str]:
        answers = []
        for question in "ab":
            answers.append(str(await engine.aquery(question)))
            await asyncio.sleep(0)  # The task's callbacks come after its result.
            assert len(recorders.get()) == 2, "what has ended is let go by the next call"
        return answers

    with capture_retrievals() as block:
        assert asyncio.run(run()) == ["a", "b"]
    assert [(each.answer, finals(each)[0]) for each in block.calls] == [
        ("a", "for a"),
        ("b", "for b"),
    ]


def test_a_call_that_fails_is_kept_with_its_error(llm: MockLLM) -> None:
    """A failed call raises as usual, and its capture is unscored with the reason."""
    engine = RetrieverQueryEngine.from_args(Echo(TimeoutError("no answer")), llm=llm)
    with capture_retrievals() as block:
        with pytest.raises(TimeoutError):
            engine.query("a")
        with pytest.raises(TimeoutError):
            asyncio.run(engine.aquery("b"))
    assert [capture.question for capture in block.calls] == ["a", "b"]
    for capture in block.calls:
        assert capture.error == "TimeoutError: no answer"
        assert capture.contexts() is None
        result = IdRecall().score(capture.sample({"expected_ids": ["x"]}))
        assert (result.status, result.reason) == (
            Status.UNSCORED,
            "no retrieval: TimeoutError: no answer",
        )


def test_a_cancelled_call_leaves_nothing_open(llm: MockLLM) -> None:
    """A task that is canceled during its retrieval has a capture that says so."""

    class Waits(Echo):
        async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            await asyncio.Event().wait()
            return []

    engine = RetrieverQueryEngine.from_args(Waits(), llm=llm)

    async def cancel() -> None:
        task = asyncio.create_task(engine.aquery("a"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with capture_retrievals() as block:
        asyncio.run(cancel())
    assert [capture.error for capture in block.calls] == ["CancelledError"]


def test_what_a_call_started_and_left_running_is_not_its_own() -> None:
    """A background task that outlives its call adds nothing to it, and is captured apart."""
    tasks: list[asyncio.Task[Any]] = []
    go = asyncio.Event()

    class Starts(CustomQueryEngine):
        def custom_query(self, query_str: str) -> str:
            raise AssertionError("asked asynchronously only")

        async def acustom_query(self, query_str: str) -> str:
            if query_str == "first":
                tasks.append(asyncio.create_task(later()))
            await Echo().aretrieve(query_str)
            return "done"

    engine = Starts()

    async def later() -> None:
        await go.wait()
        await engine.aquery("second")

    async def run() -> None:
        await engine.aquery("first")
        go.set()
        await tasks[0]

    with capture_retrievals() as block:
        asyncio.run(run())
    first, second = block.calls
    assert finals(first)[0] == "for first"
    assert finals(second)[0] == "for second"
    assert len(asked(first)) == len(asked(second)) == 1


def test_events_of_others_count_as_retrievals() -> None:
    """Retrievals reported by events count, even if no retriever of LlamaIndex made them."""
    nodes = Echo().retrieve("a")
    with capture_retrievals() as capture:
        get_dispatcher().event(RetrievalEndEvent(str_or_query_bundle="a", nodes=nodes))
    assert finals(capture)[0] == "for a"
    assert asked(capture)[0].question == "a"


def test_a_handler_that_fails_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A handler's exception, which LlamaIndex swallows, is logged, and the capture is unscored."""

    def fails(nodes: Any) -> Any:
        raise RuntimeError("cannot copy")

    monkeypatch.setattr(reader, "_is_numbered", fails)
    with capture_retrievals() as capture:
        assert len(Echo().retrieve("a")) == 2
    problem = "the call was not recorded completely: RuntimeError: cannot copy"
    assert capture.sample().retrieval_error == problem
    assert "a step of a retrieval was not recorded" in caplog.text


def test_the_handlers_are_installed_only_while_somebody_records(
    echo: BaseQueryEngine,
) -> None:
    """The handlers are installed once for any number of recorders, and removed afterwards."""
    root = get_dispatcher()
    ours = [listening._spans, listening._events]

    def installed() -> list[int]:
        handlers = [*root.span_handlers, *root.event_handlers]
        return [sum(handler is own for handler in handlers) for own in ours]

    before = installed()
    with capture_retrievals(), capture_retrievals():
        assert installed() == [1, 1]
    assert installed() == before == [0, 0]
    with capture_retrievals():
        assert finals(capture_in(echo.query("a"))) == ["for a"]


def test_a_stream_that_breaks_has_its_capture() -> None:
    """A stream that fails later does not change the capture, since the retrieval had ended."""

    def breaks(question: str) -> StreamingResponse:
        def words() -> Iterator[str]:
            yield "The"
            raise ConnectionError("lost")

        return StreamingResponse(words(), Echo().retrieve(question))

    engine = Pipeline(work=breaks)
    with capture_retrievals() as block:
        response: Any = engine.query("a")
        with pytest.raises(ConnectionError):
            list(response.response_gen)
    assert block.calls[0].error is None
    answer = RecallEvaluator().evaluate_response("a", response, expected_ids=["for a"])
    assert answer.score == 1.0


@pytest.mark.parametrize(
    "value",
    [None, "text", 7, [], {}, Response("x"), object()],
    ids=lambda value: type(value).__name__,
)
def test_capture_of_another_object_is_none(value: Any) -> None:
    """`capture_of` returns None for any object without a capture, and never raises."""
    assert capture_in(value) is None


def test_a_pydantic_response_carries_its_capture() -> None:
    """A pydantic response that answers for every attribute has only a real capture."""

    class Answer(BaseModel):
        name: str

    response = PydanticResponse(Answer(name="x"), source_nodes=[])
    assert capture_in(response) is None
    engine = Pipeline(work=lambda question: Echo().retrieve(question) and response)
    with capture_retrievals():
        assert engine.query("a") is response
    assert finals(capture_in(response))[0] == "for a"


def test_a_response_can_be_copied_and_stored_with_its_capture(echo: BaseQueryEngine) -> None:
    """Pickled and copied responses keep their captures, and equal responses without."""
    with capture_retrievals():
        response: Any = echo.query("a")
    for again in (copy.deepcopy(response), pickle.loads(pickle.dumps(response))):  # noqa: S301
        assert again == response
        assert finals(capture_in(again)) == ["for a"]


class Renaming(BaseRetriever):
    """A retriever that returns the same text under a new ID at each call."""

    def __init__(self, ids: list[str]) -> None:
        self.ids = ids
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        node = TextNode(text="Bananas hold potassium, and plenty of it.", id_=self.ids.pop(0))
        return [NodeWithScore(node=node, score=1.0)]


def test_a_call_keeps_the_ids_that_its_texts_had_earlier_in_the_block() -> None:
    """If LlamaIndex gives a text a new ID, the call also has the earlier ID, for references."""
    made = "0b5ea3c4-4a5c-4d1f-9c35-0d9e5f6c7b8a"
    retriever = Renaming(["d1", made])
    with capture_retrievals() as block:
        retriever.retrieve(FRUIT)
        retriever.retrieve(FRUIT)
    first, second = (call.retrieval() for call in block.calls)
    assert ([each.id for each in second.contexts or ()], second.other_ids) == (
        [made],
        {made: ("d1",)},
    )
    assert not first.other_ids


@pytest.mark.parametrize("kind", [TextNode, Document])
def test_a_captured_node_is_as_it_was_returned(kind: type[TextNode]) -> None:
    """A node's text, metadata, relationships and score may change after the call."""
    node = kind(text="as returned", id_="d1", metadata={"page": 1})
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="book")
    scored = NodeWithScore(node=node, score=0.5)
    with capture_retrievals() as capture:
        Pipeline(work=lambda _: [scored]).query("a")
    if isinstance(node, Document) and node.text_resource is not None:
        node.text_resource.text = "changed"
    else:
        node.set_content("changed")
    node.metadata["page"] = 2
    node.relationships.clear()
    node.id_, scored.score = "d2", 0.1
    (captured,) = capture.nodes
    assert (captured.node.get_content(), captured.node.node_id, captured.score) == (
        "as returned",
        "d1",
        0.5,
    )
    assert (captured.node.metadata, captured.node.ref_doc_id) == ({"page": 1}, "book")
    (context,) = capture.retrieval().contexts or ()
    assert context == Context("as returned", id="d1", score=0.5, metadata={"page": 1})
