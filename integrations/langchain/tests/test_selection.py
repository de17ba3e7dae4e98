"""Of several and nested retriever calls, the selected ones count."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, Retrieval
from fullrecall.errors import ParameterError
from fullrecall.observe import DocumentCopy, DocumentList, Step
from langchain_fullrecall.documents import Original
from langchain_fullrecall.record import LangChainReading


class Called:
    """A retriever run that returned one document for each letter, and the runs that it called."""

    def __init__(self, name: str, ids: str = "", *children: Called, **fields: Any) -> None:
        self.children = children
        found = [Context(f"text {letter}", id=letter) for letter in ids]
        self.contexts = fields.pop("contexts", found)
        self.step = Step(object(), None, "retriever", name, query=name, **fields)


def call(name: str, ids: str = "", *children: Called, **fields: Any) -> Called:
    """Return a call of a retriever."""
    return Called(name, ids, *children, **fields)


def steps_of(calls: Any) -> list[Step]:
    """Return calls and all below them as steps, in their order."""
    steps: list[Step] = []
    moment = 0

    def follow(each: Called, parent: Any) -> None:
        nonlocal moment
        moment += 1
        step = each.step
        step.parent, step.began = parent, moment
        steps.append(step)
        for child in each.children:
            follow(child, step.id)
        moment += 1
        step.ended = moment
        copies = (
            DocumentCopy(0, c.id, c.text or "", Original(c.id, None, dict(c.metadata), {}))
            for c in each.contexts or ()
        )
        if step.error is None:
            step.returned = (DocumentList((), tuple(copies)),)

    for each in calls:
        follow(each, None)
    return steps


CALLS = (
    call("ensemble", "abc", call("bm25", "ab"), call("dense", "bc")),
    call("web", "cd"),
)


def seen(calls: Any = CALLS, **options: Any) -> Retrieval:
    """Return the record of the selected calls."""
    return LangChainReading(**options).retrieval(steps_of(calls), unseen="unseen")


def ids(calls: Any = CALLS, **options: Any) -> str:
    """Return the letters of the documents that the selected calls returned, by rank."""
    found = seen(calls, **options)
    return "".join(context.id or "?" for context in found.contexts or ())


@pytest.mark.parametrize(
    ("options", "brought"),
    [
        ({}, "acbd"),
        ({"which": "innermost"}, "abcd"),
        ({"name": "dense"}, "bc"),
        ({"name": ["dense", "web"]}, "bcd"),
        ({"name": ("ensemble", "bm25")}, "abc"),
        ({"name": ("ensemble", "bm25"), "which": "innermost"}, "ab"),
    ],
)
def test_calls_are_selected_by_level_and_name(options: dict[str, Any], brought: str) -> None:
    """Calls are selected by level and name, and a context of two calls counts once."""
    assert ids(**options) == brought


def test_calls_below_an_unselected_call_count() -> None:
    """A call that is not selected does not hide the calls below it."""
    deep = [call("router", "z", call("ensemble", "y", call("bm25", "x")))]
    assert ids(deep, name="bm25") == "x"
    assert ids(deep, name=["router", "bm25"]) == "z"


def test_no_call_failed_calls_and_nothing_retrieved_differ() -> None:
    """No call and a failed call are unscored, and an empty retrieval is scored."""
    failed = [call("R", error="TimeoutError: 30 s") for _ in range(2)]
    assert seen([]).error == "unseen"
    assert seen(failed).error == "TimeoutError: 30 s"
    assert seen([call("R")]).contexts == ()


def test_a_retry_that_worked_counts() -> None:
    """A retry that worked counts, at any position among the failed attempts."""
    tried = call("tried", "ab", call("R", error="TimeoutError"), call("R", "ab"), tries=True)
    found = seen([tried], name="R")
    assert found.error is None
    assert [context.id for context in found.contexts or ()] == ["a", "b"]


def test_a_name_that_no_call_has_is_no_retrieval() -> None:
    """A name that no call has is no retrieval, so a typing error scores nothing else."""
    found = seen(name="bm52")
    assert found.contexts is None
    assert found.error == (
        "no retriever is named 'bm52': choose one of 'ensemble', 'bm25', 'dense', 'web'"
    )


def chunk(own: str | None, source: str, text: str) -> Context:
    """Return a chunk of a source."""
    return Context(text, id=own, metadata={"source": source})


def test_equal_documents_are_one() -> None:
    """Two documents are one if ID and text are equal; with `collapse`, if the ID is equal."""
    first = call("A", contexts=(chunk("1", "s", "one"), chunk("2", "s", "two")))
    second = call("B", contexts=(chunk("2", "s", "two"), chunk("3", "s", "three")))
    both = [first, second]
    assert ids(both) == "123"
    assert ids(both, id_key="source") == "sss"
    assert ids(both, id_key="source", collapse=True) == "s"


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({}, ""),
        ({"which": "innermost"}, "innermost"),
        ({"name": "bm25", "which": "innermost"}, "bm25,innermost"),
    ],
)
def test_a_view_has_a_name_of_its_own(options: dict[str, Any], label: str) -> None:
    """A view is part of the evaluator's key, so two views of one scorer are two columns."""
    assert LangChainReading(**options).label == label


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"which": "all"}, "which must be 'outermost' or 'innermost', got 'all'"),
        ({"name": ""}, "name must be a str or several, got ''"),
        ({"name": [1]}, "name must be a str"),
    ],
)
def test_values_out_of_range_are_named(options: dict[str, Any], message: str) -> None:
    """A value out of range is refused at once, with the parameter's name."""
    with pytest.raises(ParameterError, match=message):
        LangChainReading(**options)
