"""Which of several and of nested retriever calls count, wherever they were seen."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context
from fullrecall.errors import InputError, ParameterError
from langchain_fullrecall import Selection
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.outputs import Output
from langchain_fullrecall.record import Reading, Seen, retrieval_of
from langchain_fullrecall.tree import Node


def call(name: str, ids: str = "", *children: Node, **fields: Any) -> Node:
    """Return a retriever run that returned one document for each letter."""
    found = tuple(Context(f"text {letter}", id=letter) for letter in ids)
    defaults: dict[str, Any] = {"kind": "retriever", "query": name, "contexts": found}
    return Node(name, children=list(children), **{**defaults, **fields})


CALLS = (
    call("ensemble", "abc", call("bm25", "ab", tags=("sparse",)), call("dense", "bc"), tags=("t",)),
    call("web", "cd", tags=("t",)),
)


def seen(selection: Selection, calls: Any = CALLS, **reading: Any) -> Seen:
    """Return the record of the selected calls."""
    return retrieval_of(calls, Output(), Reading(DocumentReader(**reading), selection), "unseen")


def ids(selection: Selection, calls: Any = CALLS, **reading: Any) -> str:
    """Return the letters of what the selected calls returned, by rank."""
    found = seen(selection, calls, **reading).retrieval
    return "".join(context.id or "?" for context in found.contexts or ())


@pytest.mark.parametrize(
    ("selection", "brought"),
    [
        (Selection(), "acbd"),
        (Selection(level="innermost"), "abcd"),
        (Selection(take="first"), "abc"),
        (Selection(take="last"), "cd"),
        (Selection(level="innermost", take="first"), "ab"),
        (Selection(name="dense"), "bc"),
        (Selection(name=["dense", "web"]), "bcd"),
        (Selection(name=("ensemble", "bm25")), "abc"),
        (Selection(name=("ensemble", "bm25"), level="innermost"), "ab"),
        (Selection(tag="sparse"), "ab"),
        (Selection(tag="t", take="last"), "cd"),
        (Selection(tag="t", name="ensemble"), "abc"),
        (Selection(where=lambda one: "d" in [c.id for c in one.contexts or ()]), "cd"),
    ],
)
def test_what_is_selected(selection: Selection, brought: str) -> None:
    """By level, order, name, tag and condition; a context of two calls counts once."""
    assert ids(selection) == brought


def test_what_stands_in_between_is_looked_past() -> None:
    """A call that is not meant hides nothing that stands below it."""
    deep = [call("router", "z", call("ensemble", "y", call("bm25", "x")))]
    assert ids(Selection(name="bm25"), deep) == "x"
    assert ids(Selection(name=["router", "bm25"]), deep) == "z"


def test_no_call_failed_calls_and_nothing_retrieved_differ() -> None:
    """Three answers, of which only the last can be scored."""
    failed = call("R", contexts=None, error="TimeoutError: 30 s")
    assert seen(Selection(), []).unseen == "unseen"
    assert seen(Selection(), [failed, failed]).retrieval.error == "TimeoutError: 30 s"
    assert seen(Selection(), [call("R")]).retrieval.contexts == ()
    unfinished = seen(Selection(), [call("R", contexts=None)]).retrieval
    assert unfinished.error == "R returned nothing that can be read as contexts"


@pytest.mark.parametrize("take", ["first", "last", "union"])
def test_a_retry_that_worked_counts(take: Any) -> None:
    """Wherever it stands among those that did not."""
    failed = call("R", contexts=None, error="TimeoutError")
    found = seen(Selection(take=take), [failed, call("R", "ab"), failed])
    assert found.retrieval.error is None
    assert [context.id for context in found.retrieval.contexts or ()] == ["a", "b"]


def test_a_name_that_no_call_has_is_no_retrieval() -> None:
    """A typing error must not pass for a measurement of something else."""
    found = seen(Selection(name="bm52", tag="t"))
    assert found.retrieval.contexts is None
    assert found.unseen == (
        "no retriever call fits name=('bm52',), tag=('t',): "
        "there were 'ensemble', 'bm25', 'dense', 'web'"
    )


def test_what_no_reader_can_read_names_the_retriever() -> None:
    """But only where that call counts."""
    broken = call("Bad", contexts=None, problem="document 0: expected a text")
    with pytest.raises(InputError, match="retriever 'Bad': document 0"):
        seen(Selection(), [broken])
    assert ids(Selection(name="web"), [broken, *CALLS]) == "cd"


def chunk(own: str | None, source: str, text: str) -> Context:
    """Return a chunk of a source."""
    return Context(text, id=own, metadata={"source": source})


def test_what_makes_two_documents_one() -> None:
    """Their ID and text; and the ID alone where `collapse` joins what has one."""
    first = call("A", contexts=(chunk("1", "s", "one"), chunk("2", "s", "two")))
    second = call("B", contexts=(chunk("2", "s", "two"), chunk("3", "s", "three")))
    both = [first, second]
    assert ids(Selection(), both) == "123"
    assert ids(Selection(), both, id_key="source") == "sss"
    assert ids(Selection(), both, id_key="source", collapse=True) == "s"


@pytest.mark.parametrize(
    ("selection", "label"),
    [
        (Selection(), ""),
        (Selection(level="innermost"), "innermost"),
        (Selection(name="bm25", take="last"), "bm25,last"),
        (Selection(where=callable), "callable"),
    ],
)
def test_a_view_has_a_name_of_its_own(selection: Selection, label: str) -> None:
    """Two views of one scorer are two keys in a table."""
    assert selection.label == label


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"level": "all"}, "level must be one of 'outermost', 'innermost', got 'all'"),
        ({"take": "best"}, "take must be one of 'union', 'first', 'last', got 'best'"),
        ({"name": ""}, "name must be a str or several, got ''"),
        ({"name": []}, "name must be a str"),
        ({"tag": [1]}, "tag must be a str"),
        ({"where": "x"}, "where must be a function"),
    ],
)
def test_values_out_of_range_are_named(fields: dict[str, Any], message: str) -> None:
    """At once, with the parameter."""
    with pytest.raises(ParameterError, match=message):
        Selection(**fields)
