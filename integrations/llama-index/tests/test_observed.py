"""`observed` records the same each time, for every kind of engine, agent and workflow.

`FULLRECALL_RUNS=200` asks each thing 200 times.
"""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest
from known_steps import Answering, Asks, LastTwoFirst
from llama_index.core import Settings
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    CustomQueryEngine,
    RetrieverQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.errors import ParameterError
from fullrecall.measures import Recall
from fullrecall.samples import Call, Retrieval, Retriever
from llama_index.evaluation.fullrecall import observed

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called:DeprecationWarning"),
]


class Brings(BaseRetriever):
    """A retriever of nodes with these IDs, all new, after a random time and collection."""

    def __init__(self, *names: str) -> None:
        self.names = names
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if random.random() < 0.02:
            gc.collect()
        if random.random() < 0.2:
            time.sleep(random.random() / 2000)
        return [
            NodeWithScore(node=TextNode(id_=name, text=f"All about {name}."), score=1 / (n + 1))
            for n, name in enumerate(self.names)
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(random.random() / 2000)
        return self._retrieve(query_bundle)


class KeepsAll(BaseNodePostprocessor):
    """A filter that keeps all nodes, in a new list."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return list(nodes)


class Hybrid(CustomQueryEngine):
    """An engine that joins one list with a filtered one, without a synthesizer."""

    def custom_query(self, query_str: str) -> str:
        """Answer without keeping any list."""
        first = [item.node.node_id for item in Brings("a", "b").retrieve(query_str)]
        second = KeepsAll().postprocess_nodes(Brings("c", "d").retrieve(query_str))
        return f"{first} {[item.node.node_id for item in second]}"


class Threaded(CustomQueryEngine):
    """An engine that asks three retrievers in threads with the context."""

    def custom_query(self, query_str: str) -> str:
        """Ask the three retrievers at once."""
        with ThreadPoolExecutor(3) as pool:
            asked = [
                pool.submit(copy_context().run, Brings(name, f"{name}2").retrieve, query_str)
                for name in "abc"
            ]
            return str(sum(len(each.result()) for each in asked))


class FoundEvent(Event):
    """An event with the result of the first step."""

    nodes: list[NodeWithScore]


class OwnWorkflow(Workflow):
    """A workflow that retrieves in one step and reranks in the next."""

    @step
    async def first(self, ctx: Context, ev: StartEvent) -> FoundEvent:
        """Retrieve."""
        return FoundEvent(nodes=await Brings("a", "b", "c").aretrieve(ev.query))

    @step
    async def second(self, ctx: Context, ev: FoundEvent) -> StopEvent:
        """Rerank."""
        return StopEvent(result=str(len(LastTwoFirst().postprocess_nodes(ev.nodes))))


def llm() -> MockLLM:
    """Return a model of five words."""
    return MockLLM(max_tokens=5)


def engine_over(retriever: BaseRetriever, *postprocessors: Any) -> RetrieverQueryEngine:
    """Return an engine over a retriever, with postprocessors."""
    return RetrieverQueryEngine.from_args(
        retriever, llm=llm(), node_postprocessors=list(postprocessors)
    )


def engine_tools() -> list[QueryEngineTool]:
    """Return two engines as tools."""
    return [
        QueryEngineTool.from_defaults(engine_over(retriever), name=name, description=name)
        for name, retriever in (("one", Brings("a", "b")), ("two", Brings("c", "d")))
    ]


def synthesizer() -> Any:
    """Return the usual synthesizer."""
    return get_response_synthesizer(llm=llm())


def calls_all(messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
    """Call both tools at once, and answer when their outputs are there."""
    if any(message.role == MessageRole.TOOL for message in messages):
        return ChatMessage(role="assistant", content="an answer")
    blocks = [
        ToolCallBlock(tool_call_id=name, tool_name=name, tool_kwargs={"input": f"to {name}"})
        for name in ("one", "two")
    ]
    return ChatMessage(role="assistant", blocks=[TextBlock(text=""), *blocks])


def agent(*tools: Any) -> FunctionAgent:
    """Return an agent that calls the tools "one" and "two" at once."""
    model = MockFunctionCallingLLM(response_generator=calls_all, is_chat_model=True)
    return FunctionAgent(
        name="agent", description="d", tools=list(tools), llm=model, streaming=False
    )


async def own_function(question: str) -> str:
    """Retrieve from two sources at once."""
    await asyncio.gather(Brings("a", "b").aretrieve(question), Brings("c").aretrieve(question))
    return "an answer"


def chat() -> ContextChatEngine:
    """Return a chat engine."""
    memory = ChatMemoryBuffer.from_defaults(token_limit=999)
    return ContextChatEngine.from_defaults(
        Brings("a", "b", "c"), llm=llm(), memory=memory, node_postprocessors=[LastTwoFirst()]
    )


THINGS: dict[str, tuple[Callable[[], Any], str]] = {
    "retriever": (lambda: Brings("a", "b", "c"), "a b c"),
    "hybrid engine": (Hybrid, "a/1 c/1 b/2 d/2"),
    "threaded engine": (Threaded, "a/1 b/1 c/1 a2/2 b2/2 c2/2"),
    "sub-question engine": (
        lambda: SubQuestionQueryEngine.from_defaults(
            engine_tools(),
            question_gen=Asks(),
            llm=llm(),
            use_async=True,
            verbose=False,
            response_synthesizer=synthesizer(),
        ),
        "a b c d",
    ),
    "context chat": (chat, "c b"),
    "function agent": (lambda: agent(*engine_tools()), "a/1 c/1 b/2 d/2"),
    "agent workflow": (
        lambda: AgentWorkflow(
            agents=[
                agent(
                    RetrieverTool.from_defaults(Brings("a", "b"), name="one", description="d"),
                    RetrieverTool.from_defaults(Brings("c"), name="two", description="d"),
                )
            ]
        ),
        "a/1 c/1 b/2",
    ),
    "own workflow": (OwnWorkflow, "c b"),
    "async function": (lambda: own_function, "a/1 c/1 b/2"),
}
"""Each thing, and its known list: with ranks where no step merged the calls."""


@pytest.fixture(autouse=True)
def _model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "_llm", llm())  # Some engines accept only this.


@pytest.fixture(autouse=True, scope="module")
def _imported() -> Iterator[None]:
    """Exclude imported objects from garbage collections, which then are cheap enough for 200."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def listed(retrieval: Retrieval) -> str:
    """Return the final list, with ranks if it is a union."""
    ids = [str(context.id) for context in retrieval.contexts or ()]
    if retrieval.ranks is None:
        return " ".join(ids)
    return " ".join(f"{own}/{rank}" for own, rank in zip(ids, retrieval.ranks, strict=True))


def plain(call: Call) -> Any:
    """Return the content of a call, with contexts as IDs and texts."""
    contexts = tuple((each.id, each.text, each.score) for each in call.contexts or ())
    return call.source, call.query, contexts, call.error, tuple(map(plain, call.children))


@pytest.mark.parametrize("name", THINGS)
def test_the_record_is_the_same_each_time(name: str, runs: int) -> None:
    """Parallel runs, with objects dropped and collected, give one record and one number."""
    make, expected = THINGS[name]
    retriever = observed(make())
    assert isinstance(retriever, Retriever)
    ids = list(dict.fromkeys(own.partition("/")[0] for own in expected.split()))
    samples = [
        Sample(id=n, user_input="q", reference_context_ids=[*ids, "missing"]) for n in range(runs)
    ]
    report = evaluate(samples, IdRecall(), retriever=retriever, max_concurrency=8, progress=False)
    records = [row.sample.retrieval for row in report]
    assert [record.error for record in records if record is not None] == [None] * runs
    assert {listed(record) for record in records if record is not None} == {expected}
    assert len({repr(list(map(plain, r.calls))) for r in records if r is not None}) == 1
    assert len({record.line for record in records if record is not None}) == 1
    found = len(set(ids)) / (len(set(ids)) + 1)
    assert {row.results[0].score for row in report} == {found}
    assert {row.results[0][Recall @ 1] for row in report} == {
        sum(own.endswith("/1") for own in expected.split()) / (len(ids) + 1) or 1 / (len(ids) + 1)
    }


class Fails(BaseRetriever):
    """A retriever that raises."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise TimeoutError("no answer")


def test_a_failed_call_leaves_its_sample_unscored_unless_told_otherwise() -> None:
    """A failed call leaves its sample unscored by default, even if the engine swallows it."""
    tools = [
        QueryEngineTool.from_defaults(engine_over(retriever), name=name, description=name)
        for name, retriever in (("one", Brings("a", "b")), ("two", Fails()))
    ]
    engine = SubQuestionQueryEngine.from_defaults(
        tools,
        question_gen=Asks(),
        llm=llm(),
        use_async=False,
        verbose=False,
        response_synthesizer=synthesizer(),
    )
    sample = Sample(user_input="q", reference_context_ids=["a"])
    found = observed(engine).retrieve(sample)
    assert found.error is not None
    assert "1 of 2 calls failed (RetrieverQueryEngine: TimeoutError: no answer)" in found.error
    scored = observed(engine, failed_calls="score").retrieve(sample)
    assert scored.error is None
    assert scored.line.startswith("1 of 2 calls failed")
    assert IdRecall().score(sample.with_retrieval(scored)).score == 1.0


def test_a_retriever_that_raises_is_unscored_with_its_reason() -> None:
    """A retriever that fails loses only its own sample."""
    report = evaluate(
        [{"query": "q", "expected_ids": ["a"]}],
        IdRecall(),
        retriever=observed(Fails()),
        progress=False,
    )
    assert report.rows[0].results[0].reason == "no retrieval: TimeoutError: no answer"


def test_a_functions_result_counts_without_a_record() -> None:
    """Nodes, texts and mappings that a function returns are read if no retrieval was recorded."""
    sample = Sample(user_input="q")
    node = NodeWithScore(node=TextNode(id_="a", text="x"))
    assert listed(observed(lambda _: [node]).retrieve(sample)) == "a"
    assert listed(observed(lambda _: [{"id": "b", "text": "x"}]).retrieve(sample)) == "b"
    unseen = observed(lambda _: "an answer").retrieve(sample)
    assert (unseen.error or "").startswith("no retrieval was seen")


def test_each_question_has_a_conversation_of_its_own() -> None:
    """A chat engine's history and memory do not contain the question before."""
    engine = chat()
    engine.chat("before")
    history = list(engine.chat_history)
    seen: list[str] = []
    engine._llm = Answering(reply=lambda prompt: seen.append(prompt) or "x")
    for question in ("one", "two"):
        observed(engine).retrieve(Sample(user_input=question))
    assert engine.chat_history == history
    assert ["one" in seen[0], "one" in seen[1], "before" in seen[1]] == [True, False, False]


class Asked(StartEvent):
    """A start event with a question."""

    question: str


def test_a_workflow_takes_the_question_by_the_name_of_its_argument() -> None:
    """The question's argument is known from the workflow's start event, or from the caller."""

    class Flow(Workflow):
        @step
        async def only(self, ctx: Context, ev: Asked) -> StopEvent:
            """Retrieve."""
            return StopEvent(result=await Brings(ev.question).aretrieve("q"))

    class Plain(Workflow):
        @step
        async def only(self, ctx: Context, ev: StartEvent) -> StopEvent:
            """Retrieve."""
            return StopEvent(result=await Brings(ev.input).aretrieve("q"))

    sample = Sample(user_input="z")
    assert listed(observed(Flow()).retrieve(sample)) == "z"
    assert listed(observed(Plain(), argument="input").retrieve(sample)) == "z"
    with pytest.raises(ParameterError, match="argument is for workflows, got Brings"):
        observed(Brings("a"), argument="query")


@pytest.mark.parametrize("thing", [None, 7, [], Brings], ids=repr)
def test_what_cannot_be_asked_is_refused(thing: Any) -> None:
    """A class, or an object that cannot be asked, is refused before the first question."""
    with pytest.raises(ParameterError, match="expected a retriever, an engine"):
        observed(thing)


def test_misspelt_options_are_refused() -> None:
    """Misspelled options fail under mypy, and at the call."""
    with pytest.raises(ParameterError, match=r"observed has no .* did you mean id_key\?"):
        observed(Brings("a"), id_keys="source")  # type: ignore[call-arg]
