"""LlamaIndex's own spans are recorded as steps: caller, question, threads, attempts, failures."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from known_engines import Brings, Echo, First
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import Document, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step

from fullrecall.observe import Step
from llama_index.evaluation.fullrecall.listening import recording
from llama_index.evaluation.fullrecall.recorder import LlamaIndexRecorder


def recorded(program: Callable[[], Any]) -> LlamaIndexRecorder:
    """Return the record of a call, closed."""
    with recording() as recorder:
        try:
            program()
        except ValueError as error:
            assert str(error) == "boom"  # noqa: PT017 - not every program fails
    return recorder


def parts(recorder: LlamaIndexRecorder) -> list[str]:
    """Return the steps that have a part in retrieving, each below the nearest one around it."""
    known = {each.id: each for each in recorder.steps}
    lines = []
    for own in recorder.steps:
        assert own.ended is not None
        if not _has_a_part(own):
            continue
        depth, over = 0, known.get(own.parent)
        while over is not None:
            depth += _has_a_part(over)
            over = known.get(over.parent)
        lines.append("  " * depth + " ".join(_fields(own)))
    return lines


def _has_a_part(own: Step) -> bool:
    return own.kind not in ("chain", "llm") or own.answers or own.stores or own.task is not None


def _fields(own: Step) -> Iterator[str]:
    yield from (own.kind, own.name)
    for name in ("query", "group", "error"):
        if getattr(own, name):
            yield f"{name}={getattr(own, name).strip()}"
    for name in ("given", "returned"):
        lists = [[str(each.id) for each in one.documents if each.id] for one in getattr(own, name)]
        if any(lists):
            yield f"{name}={' '.join(map('+'.join, lists))}"
    yield from (name for name in ("answers", "stores", "reorders") if getattr(own, name))
    yield from ["task"] * (own.task is not None)
    yield from ["named"] * (own.callee is not None)


def repeat(text: str, times: int) -> str:
    """Repeat a text."""
    return text * times


def today() -> str:
    """Return a day."""
    return "Monday"


class Found(Event):
    """The event between two steps."""

    count: int


class Flow(Workflow):
    """A workflow of two steps, whose first one searches."""

    @step
    async def search(self, event: StartEvent) -> Found:
        """Search."""
        return Found(count=len(Brings("a").retrieve(event.query)))

    @step
    async def answer(self, event: Found) -> StopEvent:
        """Answer."""
        return StopEvent(result=str(event.count))


async def _flow() -> Any:
    return await Flow().run(query="q")


def _in_a_thread() -> None:
    def retrieve() -> None:
        Brings("a").retrieve("q")

    thread = threading.Thread(target=contextvars.copy_context().run, args=[retrieve])
    thread.start()
    thread.join()


def _engine() -> RetrieverQueryEngine:
    return RetrieverQueryEngine(
        Brings("a", "b"),
        get_response_synthesizer(llm=MockLLM(max_tokens=2)),
        node_postprocessors=[First(), LongContextReorder()],
    )


ENGINE = [
    "retriever Brings query=q returned=a+b named",
    "reranker First query=q given=a+b returned=a named",
    "reranker LongContextReorder query=q given=a returned=a reorders named",
    "chain CompactAndRefine query=q given=a returned=a answers named",
]

PROGRAMS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "retriever": (
        lambda: Brings("a", "b").retrieve("q"),
        ["retriever Brings query=q returned=a+b named"],
    ),
    "bundle": (
        lambda: Brings("a").retrieve(QueryBundle("q")),
        ["retriever Brings query=q returned=a named"],
    ),
    "failure": (
        lambda: Echo(ValueError("boom")).retrieve("q"),
        ["retriever Echo query=q error=ValueError: boom named"],
    ),
    "engine": (lambda: _engine().query("q"), ENGINE),
    "parts": (
        lambda: QueryFusionRetriever(
            [Brings("a"), Brings("b")], llm=MockLLM(), num_queries=1, use_async=False
        ).retrieve("q"),
        [
            "retriever QueryFusionRetriever query=q returned=a+b named",
            "  retriever Brings query=q returned=a named",
            "  retriever Brings query=q returned=b named",
        ],
    ),
    "retriever as a tool": (
        lambda: RetrieverTool.from_defaults(Brings("a"), name="look", description="d").call("q"),
        [
            "tool look query=q returned=a named",
            "  retriever Brings query=q returned=a named",
        ],
    ),
    "engine as a tool": (
        lambda: QueryEngineTool.from_defaults(_engine(), name="ask", description="d").call("q"),
        ["tool ask query=q returned=a named", *[f"  {each}" for each in ENGINE]],
    ),
    "function": (
        lambda: FunctionTool.from_defaults(repeat).call(text="x", times=2),
        ["tool repeat query=x named"],
    ),
    "function by position": (
        lambda: FunctionTool.from_defaults(repeat).call("x", 2),
        ["tool repeat query=x named"],
    ),
    "function without a question": (
        lambda: FunctionTool.from_defaults(today).call(),
        ["tool today"],
    ),
    "splitter": (
        lambda: SentenceSplitter()([TextNode(text="A text.", id_="a")]),
        ["chain SentenceSplitter stores"],
    ),
    "splitter's own method": (
        lambda: SentenceSplitter().get_nodes_from_documents([Document(text="A text.")]),
        [],
    ),
    "thread": (
        _in_a_thread,
        ["retriever Brings query=q group=threads returned=a named"],
    ),
    "workflow": (
        lambda: asyncio.run(_flow()),
        [
            "chain Flow.search task",
            "  retriever Brings query=q returned=a named",
            "chain Flow.answer task",
        ],
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_steps_of_a_program(program: str) -> None:
    """Each object's call is one step, with its question, its lists, and its failure."""
    run, expected = PROGRAMS[program]
    assert parts(recorded(run)) == expected


def test_a_closed_record_keeps_its_steps_alone() -> None:
    """A closed record has its steps, and lets the framework's objects go."""
    with recording() as recorder:
        Brings("a").retrieve("q")
        assert (recorder.is_open, len(recorder.steps)) == (True, 1)
    steps = recorder.steps
    recorder.close()
    assert (recorder.is_open, recorder.problem, recorder.steps) == (False, None, steps)
    assert len(steps) == 1


def test_what_could_not_be_recorded_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    """A step that cannot be recorded is logged, and the record is incomplete."""
    with recording() as recorder:
        recorder.fail(ValueError("boom"))
        assert recorder.problem == "the call was not recorded completely: ValueError: boom"
    assert recorder.problem == "the call was not recorded completely: ValueError: boom"
    assert [each.getMessage() for each in caplog.records] == [
        "a step of a retrieval was not recorded"
    ]
