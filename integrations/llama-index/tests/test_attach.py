"""Attaching: to one engine or to several, detaching, copies, and what is refused."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from known_engines import Echo, First, Pipeline, finals
from llama_index.core import SummaryIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from fullrecall.errors import ParameterError
from llama_index.evaluation.fullrecall import attach, recorder
from llama_index.evaluation.fullrecall.capture import Attachment, capture_of
from llama_index.evaluation.fullrecall.recorder import recorders


@pytest.fixture
def echo(llm: MockLLM) -> BaseQueryEngine:
    """An engine whose answers are told apart by what was retrieved."""
    return RetrieverQueryEngine.from_args(Echo(), llm=llm, node_postprocessors=[First()])


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    """After every test, no recording is active here, and no step or call is kept."""
    yield
    assert not recorders.get()
    assert recorder._running == {}
    assert recorder._calls == {}


def test_detaching_ends_it(echo: BaseQueryEngine) -> None:
    """Afterwards responses carry nothing; what was captured stays; detaching twice does no harm."""
    attachment = attach(echo)
    assert capture_of(echo.query("a")) is not None
    attachment.detach()
    attachment.detach()
    assert capture_of(echo.query("b")) is None
    assert [capture.question for capture in attachment.captures] == ["a"]


def test_another_engine_is_left_alone(echo: BaseQueryEngine, llm: MockLLM) -> None:
    """One of two engines over one retriever is attached: the other's responses carry nothing."""
    other = RetrieverQueryEngine.from_args(Echo(), llm=llm)
    with attach(echo) as attachment:
        assert capture_of(other.query("a")) is None
    assert attachment.captures == ()


def test_two_attachments_to_one_engine_end_apart(echo: BaseQueryEngine) -> None:
    """What one part of a program detaches, another goes on to capture."""
    first, second = attach(echo), attach(echo)
    echo.query("a")
    first.detach()
    echo.query("b")
    second.detach()
    assert [capture.question for capture in first.captures] == ["a"]
    assert [capture.question for capture in second.captures] == ["a", "b"]
    assert recorder._attached == {}


def test_an_attached_engine_is_not_kept_alive(llm: MockLLM) -> None:
    """An engine that its owner drops is gone, attached or not, and its place is not another's."""
    engine = Pipeline(work=str)
    attachment = attach(engine)
    alive = weakref.ref(engine)
    del engine
    gc.collect()
    assert alive() is None
    assert recorder._attached == {}
    attachment.detach()


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda engine: pickle.loads(pickle.dumps(engine))],  # noqa: S301
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_of_an_attached_engine_is_another_engine(copied: Any) -> None:
    """It can be made as ever, and is not attached; the engine itself still is."""
    engine = Pipeline(work=str)
    with attach(engine) as attachment:
        assert capture_of(copied(engine).query("a")) is None
        assert capture_of(engine.query("b")) is not None
    assert len(attachment.captures) == 1


def test_attaching_and_detaching_in_the_middle_of_a_call() -> None:
    """A call is captured whole or not at all: what counts is how it began."""
    attachments: list[Attachment] = []

    def starts(question: str) -> str:
        attachments.append(attach(begins))
        return Echo().retrieve(question)[0].text

    def ends(question: str) -> str:
        attached.detach()
        return Echo().retrieve(question)[0].text

    begins, stops = Pipeline(work=starts), Pipeline(work=ends)
    assert capture_of(begins.query("a")) is None
    assert attachments[0].captures == ()
    attached = attach(stops)
    assert finals(capture_of(stops.query("b")))[0] == "for b"
    assert capture_of(stops.query("c")) is None
    for attachment in attachments:
        attachment.detach()


def test_an_attachment_says_what_it_holds(echo: BaseQueryEngine) -> None:
    """In a notebook it shows the engine's class and how many calls there were."""
    with attach(echo) as attachment:
        echo.query("a")
        assert repr(attachment) == "<Attachment to RetrieverQueryEngine: 1 captured>"
    gone = attach(Pipeline(work=str))
    gc.collect()
    assert repr(gone) == "<Attachment to nothing any more: 0 captured>"


@pytest.mark.parametrize("thing", [None, "engine", SummaryIndex([])], ids=["None", "str", "index"])
def test_what_cannot_be_attached_to_is_refused(thing: Any) -> None:
    """An index, an agent or a workflow: the error says what to do instead."""
    with pytest.raises(ParameterError, match=r"expected a query engine, .*capture_retrievals\(\)"):
        attach(thing)
