"""LangChain's own runs are recorded as steps: caller, query, order, attempts, and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, TypedDict

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableGenerator, RunnableLambda, RunnableParallel
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import MemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from fullrecall.observe import Step
from langchain_fullrecall.outputs import tool_query
from langchain_fullrecall.recorder import LangChainRecorder


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        ("{'query': 'q'}", "q"),
        ({"query": "{'question': 'q'}"}, "q"),
        ({"query": "{'question': 'q'}", "k": 3}, "{'question': 'q'}"),
    ],
)
def test_a_query_that_is_a_printed_mapping_is_read(arguments: Any, query: str) -> None:
    """A mapping in a text is read, unless other arguments are beside the text."""
    assert tool_query(arguments) == query


class Echo(BaseRetriever):
    """A retriever of one document, whose ID and text are the question."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(query, id=query)]


class Calls(Echo):
    """A retriever that calls another one as its child."""

    inner: Any

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found: list[Document] = self.inner.invoke(query, {"callbacks": run_manager.get_child()})
        return found


@tool
def search(query: str) -> str:
    """Return the query."""
    return query


def dated(text: str, day: date) -> str:
    """Return the text."""
    return f"{text} {day}"


def boom(_: object) -> Any:
    """Raise."""
    raise ValueError("boom")


def failing_once() -> Callable[[str], str]:
    """Return a function that fails at its first call."""
    left = [ValueError("boom")]

    def once(text: str) -> str:
        if left:
            raise left.pop()
        return text

    return once


class State(TypedDict):
    """The state of a graph."""

    q: str


class Chat(TypedDict):
    """The state of a graph of messages."""

    messages: list[Any]


def graph(schema: Any = State, saver: MemorySaver | None = None, /, **nodes: Any) -> Any:
    """Return a graph whose nodes run beside each other."""
    built = StateGraph(schema)
    for name, node in nodes.items():
        built.add_node(name, node)
        built.add_edge(START, name)
    return built.compile(checkpointer=saver)


def steps(program: Any, given: Any = "q", **config: Any) -> list[str]:
    """Return the recorded steps of a call: each below its caller, with its fields."""
    recorder = LangChainRecorder()
    try:
        program.invoke(given, {"callbacks": [recorder], **config})
    except ValueError as error:
        assert str(error) == "boom"  # noqa: PT017 - not every program fails
    return [*lines(recorder.log.steps, None)]


def lines(recorded: list[Step], parent: object, indent: str = "") -> Iterator[str]:
    """Yield the steps below a caller, each with its fields and the steps below it."""
    for step in in_order([step for step in recorded if step.parent == parent]):
        fields = {
            "query": step.query,
            "callee": step.callee,
            "group": step.group,
            "branch": step.branch,
            "prompt": step.prompt,
            "error": step.error,
        }
        shown = [f"{name}={value}" for name, value in fields.items() if value]
        shown += [name for name in ("closed", "tries") if getattr(step, name)]
        shown += ["task"] if step.task is not None else []
        yield indent + " ".join([step.kind, step.name, *shown])
        assert step.ended is not None
        yield from lines(recorded, step.id, f"{indent}  ")


def in_order(steps: list[Step]) -> list[Step]:
    """Return steps in their order; those that ran at the same time by branch, name and query."""
    groups = [step.group or step.id for step in steps]

    def place(step: Step) -> tuple[int, str, str, str]:
        return groups.index(step.group or step.id), step.branch or "", step.name, step.query or ""

    return sorted(steps, key=place)


@task
def searching(question: str) -> list[Document]:
    """Search."""
    return Echo().invoke(question)


@entrypoint()  # type: ignore[untyped-decorator, unused-ignore]
def searches(question: str) -> list[list[Document]]:
    """Search twice beside each other."""
    return [future.result() for future in [searching(question), searching("p")]]


CALLS = AIMessage(
    "",
    tool_calls=[{"name": "search", "args": {"query": name}, "id": name} for name in ("a", "b")],
)
LEAVING: Command[Any] = Command(graph=Command.PARENT, update={"q": "left"})


@pytest.mark.parametrize(
    ("program", "given", "expected"),
    [
        (Echo(), "q", ["retriever Echo query=q"]),
        (Echo().with_config(run_name="named"), "q", ["retriever named query=q"]),
        (search, "q", ["tool search query=q callee=search"]),
        (search.with_config(run_name="named"), "q", ["tool search query=q callee=search"]),
        (
            StructuredTool.from_function(dated),
            {"text": "x", "day": date(2025, 1, 1)},
            ["tool dated query=x callee=dated"],
        ),
        (
            search,
            {"name": "search", "args": {"query": "x"}, "id": "1", "type": "tool_call"},
            ["tool search query=x callee=search group=tool calls"],
        ),
        (
            FakeListChatModel(responses=["a"]),
            [HumanMessage("h")],
            ["llm FakeListChatModel prompt=('h',)"],
        ),
        (
            RunnableLambda(str) | Echo(),
            "q",
            [
                "chain RunnableSequence query=q",
                "  chain str",
                "  retriever Echo query=q",
            ],
        ),
        (
            Echo().map(),
            ["q", "p"],
            [
                "chain RunnableEach<Echo>",
                "  retriever Echo query=q group=map branch=000000000",
                "  retriever Echo query=p group=map branch=000000001",
            ],
        ),
        (
            RunnableParallel(a=Echo(), b=Echo()),
            "q",
            [
                "chain RunnableParallel<a,b> query=q",
                "  retriever Echo query=q group=map:key: branch=map:key:a",
                "  retriever Echo query=q group=map:key: branch=map:key:b",
            ],
        ),
        (
            EnsembleRetriever(retrievers=[Echo(), Echo()], weights=[0.5, 0.5]),
            "q",
            [
                "retriever EnsembleRetriever query=q",
                "  retriever Echo query=q group=retriever_ branch=retriever_1",
                "  retriever Echo query=q group=retriever_ branch=retriever_2",
            ],
        ),
        (
            Calls(inner=Calls(inner=Echo())),
            "q",
            [
                "retriever Calls query=q",
                "  retriever Calls query=q",
                "    retriever Echo query=q",
            ],
        ),
        (
            RunnableLambda(boom).with_fallbacks([Echo()]),
            "q",
            [
                "chain RunnableWithFallbacks query=q tries",
                "  chain boom query=q error=ValueError: boom",
                "  retriever Echo query=q",
            ],
        ),
        (
            RunnableLambda(boom).with_fallbacks([RunnableLambda(boom)]),
            "q",
            [
                "chain RunnableWithFallbacks query=q error=ValueError: boom tries",
                "  chain boom query=q error=ValueError: boom",
                "  chain boom query=q error=ValueError: boom",
            ],
        ),
        (
            RunnableLambda(failing_once(), name="once").with_retry(
                stop_after_attempt=2, wait_exponential_jitter=False
            ),
            "q",
            [
                "chain once query=q tries",
                "  chain once error=ValueError: boom",
                "  chain once",
            ],
        ),
        (
            graph(a=lambda state: {} if Echo().invoke(state["q"]) else None, b=lambda _: {}),
            {"q": "q"},
            [
                "chain LangGraph query=q",
                "  chain a group=graph:step:1 closed task",
                "    retriever Echo query=q",
                "  chain b group=graph:step:1 closed task",
            ],
        ),
        (
            graph(a=graph(c=lambda _: LEAVING)),
            {"q": "q"},
            [
                "chain LangGraph query=q",
                "  chain a group=graph:step:1 closed task",
                "    chain LangGraph",
                "      chain c group=graph:step:1 closed task",
            ],
        ),
        (
            graph(Chat, tools=ToolNode([search])),
            {"messages": [HumanMessage("h"), CALLS]},
            [
                "chain LangGraph query=h",
                "  chain tools group=graph:step:1 closed task",
                "    tool search query=a callee=search group=tool calls",
                "    tool search query=b callee=search group=tool calls",
            ],
        ),
        (
            searches,
            "q",
            [
                "chain LangGraph query=q",
                "  chain searches group=graph:step:0 closed task",
                "    chain searching group=tasks branch=000000000",
                "      retriever Echo query=q",
                "    chain searching group=tasks branch=000000001",
                "      retriever Echo query=p",
            ],
        ),
    ],
)
def test_the_steps_of_a_program(
    program: Runnable[Any, Any], given: Any, expected: list[str]
) -> None:
    """Each run is one step below its caller, and only what failed has an error."""
    assert steps(program, given) == expected


@pytest.mark.parametrize(
    ("node", "output"), [(lambda _: {"q": "x"}, "x"), (lambda _: {"q": interrupt("?")}, "q")]
)
def test_a_thread_keeps_the_state_of_a_graph(node: Any, output: str) -> None:
    """A task of a graph with a thread may continue an earlier run; one that waits did not fail."""
    program = graph(State, MemorySaver(), a=node)
    config = {"configurable": {"thread_id": "1"}}
    assert steps(program, {"q": "q"}, **config) == [
        "chain LangGraph query=q",
        "  chain a group=graph:step:1 task",
    ]
    assert program.get_state(config).values == {"q": output}


def test_a_stream_that_is_not_read_to_its_end_did_not_fail() -> None:
    """The step of a generator that is closed early ends without an error."""
    recorder = LangChainRecorder()

    def words(parts: Iterator[str]) -> Iterator[str]:
        for part in parts:
            yield from part

    stream = RunnableGenerator(words).stream("abc", {"callbacks": [recorder]})
    assert next(stream) == "a"
    stream.close()  # type: ignore[attr-defined]
    (step,) = recorder.log.steps
    assert (step.name, step.error, step.ended is None) == ("words", None, False)


def test_the_surrounding_recorder_gets_the_same_steps() -> None:
    """A recorder passes each step and its end to the recorder around it, and keeps the answer."""
    outer = LangChainRecorder()
    inner = LangChainRecorder(outer)
    chain = RunnableLambda(str) | Echo() | (lambda found: f"{len(found)} found")
    chain.invoke("q", {"callbacks": [inner]})
    own, around = ([*lines(each.log.steps, None)] for each in (inner, outer))
    assert own == around
    assert [*inner.answered.values()] == [*outer.answered.values()] == ["1 found"]
    Echo().invoke("q", {"callbacks": [inner]})
    assert len(inner.answered) == 1
