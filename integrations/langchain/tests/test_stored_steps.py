"""A stored trace has the steps that a recorder would have recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import uuid4

import pytest
from integrations.langchain.tests.test_recorder import (
    CALLS,
    LEAVING,
    Calls,
    Chat,
    Echo,
    State,
    boom,
    failing_once,
    graph,
    lines,
    search,
    searches,
)
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langgraph.checkpoint.memory import MemorySaver
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from langsmith.schemas import Run

from fullrecall.observe.step import ROWS
from langchain_fullrecall.stored import StoredRun

WAITING = graph(State, MemorySaver(), a=lambda _: {"q": interrupt("?")})


def stored(program: Any, given: Any) -> StoredRun:
    """Return the steps of a call's trace."""
    collector = RunCollectorCallbackHandler()
    config = {"callbacks": [collector], "configurable": {"thread_id": "1"}}
    try:
        program.invoke(given, config if program is WAITING else {"callbacks": [collector]})
    except ValueError as error:
        assert str(error) == "boom"  # noqa: PT017 - not every program fails
    return StoredRun(cast("Run", collector.traced_runs[0]))


@pytest.mark.parametrize(
    ("program", "given", "expected"),
    [
        (Echo(), "q", ["retriever Echo query=q"]),
        (search, {"query": "x"}, ["tool search query=x callee=search"]),
        (
            FakeListChatModel(responses=["a"]),
            [HumanMessage("h")],
            ["llm FakeListChatModel query=Human: h prompt=('Human: h',)"],
        ),
        (
            RunnableLambda(str) | Echo(),
            "q",
            [
                "chain RunnableSequence query=q",
                "  chain str query=q",
                "  retriever Echo query=q",
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
            Calls(inner=Echo()),
            "q",
            ["retriever Calls query=q", "  retriever Echo query=q"],
        ),
        (
            RunnableLambda(str)
            | RunnableLambda(boom).with_fallbacks([Echo()]).with_config(tags=["own"]),
            "q",
            [
                "chain RunnableSequence query=q",
                "  chain str query=q",
                "  chain RunnableWithFallbacks query=q tries",
                "    chain boom query=q error=ValueError: boom",
                "    retriever Echo query=q",
            ],
        ),
        (
            RunnableLambda(failing_once(), name="once").with_retry(
                stop_after_attempt=2, wait_exponential_jitter=False
            ),
            "q",
            [
                "chain once query=q tries",
                "  chain once query=q error=ValueError: boom",
                "  chain once query=q",
            ],
        ),
        (
            graph(a=graph(c=lambda _: LEAVING)),
            {"q": "q"},
            [
                "chain LangGraph query=q",
                "  chain a query=q group=graph:step:1 closed task",
                "    chain LangGraph query=q",
                "      chain c query=q group=graph:step:1 closed task",
            ],
        ),
        (
            WAITING,
            {"q": "q"},
            ["chain LangGraph query=q", "  chain a query=q group=graph:step:1 task"],
        ),
        (
            graph(Chat, tools=ToolNode([search])),
            {"messages": [HumanMessage("h"), CALLS]},
            [
                "chain LangGraph query=h",
                "  chain tools query=h group=graph:step:1 closed task",
                "    tool search query=a callee=search",
                "    tool search query=b callee=search",
            ],
        ),
        (
            searches,
            "q",
            [
                "chain LangGraph query=q",
                "  chain searches query=q group=graph:step:0 closed task",
                "    chain searching query=q group=tasks branch=000000000",
                "      retriever Echo query=q",
                "    chain searching query=p group=tasks branch=000000001",
                "      retriever Echo query=p",
            ],
        ),
    ],
)
def test_the_steps_of_a_trace(program: Any, given: Any, expected: list[str]) -> None:
    """Each run is one step below its caller, in the order of the calls."""
    run = stored(program, given)
    assert [*lines(run.steps, None)] == expected
    assert run.partial is None


MORNING = datetime(2025, 1, 1, tzinfo=UTC)


def made(name: str, began: int, ended: int, text: str, *tags: str) -> Run:
    """Return a retriever's run between two seconds."""
    return Run(
        id=uuid4(),
        name=name,
        run_type="retriever",
        inputs={"query": "q"},
        outputs={"documents": [Document(text, id=text)]},
        start_time=MORNING + timedelta(seconds=began),
        end_time=MORNING + timedelta(seconds=ended),
        dotted_order=f"20250101T0000{began:02}000000Z{name}",
        tags=list(tags),
    )


UNKNOWN = (
    "the trace does not tell whether 'a' called 'b' or ran beside it: evaluate in the process "
    "that runs the application"
)


@pytest.mark.parametrize(
    ("first", "second", "caller", "partial"),
    [
        ((1, 9, "x", "t"), (2, 8, "x", "t", "u"), "a", None),
        ((1, 9, "x", "t"), (2, 8, "x", "u"), "root", None),
        ((1, 9, "x", "t"), (2, 8, "y", "t"), "root", None),
        ((1, 9, "x"), (2, 8, "x", "t"), "root", None),
        ((1, 9, "x"), (2, 8, "x"), "root", UNKNOWN),
        ((1, 9, "x"), (2, 8, "y"), "root", None),
        ((1, 9, "x", "t"), (2, 10, "x", "t"), "root", None),
        ((1, 5, "x", "t"), (6, 8, "x", "t"), "root", None),
        ((1, 5, "x"), (6, 8, "x"), "root", None),
    ],
)
def test_whose_call_a_run_was_that_is_stored_beside_another(
    first: Any, second: Any, caller: str, partial: str | None
) -> None:
    """A retriever called one that ran within its time, has its tags, and found the same text."""
    runs = [made("a", *first), made("b", *second)]
    root = Run(
        id=uuid4(),
        name="root",
        run_type="chain",
        inputs={"question": "q"},
        outputs={"output": "done"},
        start_time=MORNING,
        end_time=MORNING + timedelta(seconds=20),
        dotted_order="20250101T000000000000Zroot",
        child_runs=runs,
    )
    read = StoredRun(root)
    names = {step.id: step.name for step in read.steps}
    assert [names.get(step.parent) for step in read.steps] == [None, "root", caller]
    assert read.partial == partial
    assert (read.steps[0].began, read.steps[0].ended) == (1, 6)


@pytest.mark.parametrize(
    ("name", "queries", "partial"),
    [
        ("RunnableEach<a>", ["q", "q"], None),
        ("RunnableEach<a>", ["q"], "the trace does not tell whether 'a' called 'a'"),
        ("RunnableEach<b>", ["q", "q"], "the trace does not tell whether 'a' called 'a'"),
        ("RunnableLambda", ["q", "q"], "the trace does not tell whether 'a' called 'a'"),
    ],
)
def test_mapped_retrievers_did_not_call_each_other(
    name: str, queries: list[str], partial: str | None
) -> None:
    """`map()` calls a retriever once for each input, at the same time."""
    mapped = Run(
        id=uuid4(),
        name=name,
        run_type="chain",
        inputs={"input": queries},
        outputs={"output": "done"},
        start_time=MORNING,
        end_time=MORNING + timedelta(seconds=20),
        dotted_order="20250101T000000000000Zmapped",
        child_runs=[made("a", 1, 9, "x"), made("a", 2, 8, "x")],
    )
    assert (StoredRun(mapped).partial or "").startswith(partial or "")
    assert (StoredRun(mapped).partial is None) == (partial is None)


def test_only_the_outermost_output_may_be_rows() -> None:
    """Bare texts count as rows where they are the output of the whole call."""

    def chain(name: str, output: object, *children: Run) -> Run:
        return Run(
            id=uuid4(),
            name=name,
            run_type="chain",
            inputs={"question": "q"},
            outputs={"output": output},
            start_time=MORNING,
            end_time=MORNING,
            dotted_order=f"20250101T000000000000Z{name}",
            child_runs=list(children),
        )

    texts = ["one text", "two text"]
    (alone,) = StoredRun(chain("root", texts)).steps
    assert [listed.path for listed in alone.returned] == [ROWS, ()]
    root, child = StoredRun(chain("root", "answer", chain("child", texts))).steps
    assert [listed.path for listed in child.returned] == [()]
    assert root.returned == ()
