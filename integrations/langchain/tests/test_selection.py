"""Which of several and of nested retriever calls count, wherever they were seen."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, InputError, ParameterError
from langchain_fullrecall import RetrieverCall, Selection
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.retrieval import Retrieval


def call(name: str, ids: str = "", *children: RetrieverCall, **fields: Any) -> RetrieverCall:
    """Return a call that brought one document for each letter."""
    found = tuple(Context(f"text {letter}", id=letter) for letter in ids)
    return RetrieverCall(name, "q", **{"contexts": found, "children": children, **fields})


CALLS = (
    call("ensemble", "abc", call("bm25", "ab", tags=("sparse",)), call("dense", "bc"), tags=("t",)),
    call("web", "cd", tags=("t",)),
)


def ids(selection: Selection, calls: Any = CALLS, **reading: Any) -> str:
    """Return the letters of what the selected calls brought."""
    found = selection.retrieval(calls, DocumentReader(**reading)).contexts
    assert found is not None
    return "".join(context.id or "?" for context in found)


@pytest.mark.parametrize(
    ("selection", "brought"),
    [
        (Selection(), "abcd"),
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
        (Selection(where=lambda seen: not seen.children), "abcd"),
        (Selection(where=lambda seen: "d" in [c.id for c in seen.contexts or ()]), "cd"),
    ],
)
def test_what_is_selected(selection: Selection, brought: str) -> None:
    """By level, order, name, tag and condition; a document of two calls comes once."""
    assert ids(selection) == brought


def test_what_stands_in_between_is_looked_past() -> None:
    """A call that is not meant hides nothing that stands below it."""
    deep = [call("router", "z", call("ensemble", "y", call("bm25", "x")))]
    assert ids(Selection(name="bm25"), deep) == "x"
    assert ids(Selection(name=["router", "bm25"]), deep) == "z"


def test_no_call_failed_calls_and_nothing_retrieved_differ() -> None:
    """Three answers, of which only the last can be scored."""
    reader = DocumentReader()
    failed = call("R", contexts=None, error="TimeoutError: 30 s")
    twice = [failed, call("R", contexts=None, error="TimeoutError: 30 s")]
    assert Selection().retrieval([], reader) == Retrieval(unseen="no retriever was called")
    assert Selection().retrieval(twice, reader) == Retrieval(error="TimeoutError: 30 s")
    assert Selection().retrieval([call("R")], reader) == Retrieval([])
    unfinished = Selection().retrieval([call("R", contexts=None)], reader)
    assert unfinished == Retrieval(unseen="the retriever run 'R' has no documents")


@pytest.mark.parametrize("take", ["first", "last", "union"])
def test_failed_calls_are_no_calls(take: Any) -> None:
    """A retry that worked counts, wherever it stands among those that did not."""
    failed = call("R", contexts=None, error="TimeoutError")
    assert ids(Selection(take=take), [failed, call("R", "ab"), failed]) == "ab"


def test_a_name_that_no_call_has_is_no_retrieval() -> None:
    """A typing error must not pass for a measurement of something else."""
    found = Selection(name="bm52", tag="t").retrieval(CALLS, DocumentReader())
    assert found.contexts is None
    assert found.unseen == (
        "no retriever call fits name=('bm52',), tag=('t',): "
        "there were 'ensemble', 'web', 'bm25', 'dense'"
    )


def test_what_no_reader_can_read_names_the_retriever() -> None:
    """But only where that call counts."""
    broken = call("Bad", contexts=None, problem="document 0: a text is meant")
    with pytest.raises(InputError, match="retriever run 'Bad': document 0"):
        Selection().retrieval([broken], DocumentReader())
    assert ids(Selection(name="web"), [broken, *CALLS]) == "cd"


def chunk(own: str | None, source: str, text: str) -> Context:
    """Return a chunk of a source."""
    return Context(text, id=own, metadata={"source": source})


def test_what_makes_two_documents_one() -> None:
    """Their ID; and where `id_key` names what chunks share, their text as well."""
    first = call("A", contexts=(chunk("1", "s", "one"), chunk("2", "s", "two")))
    second = call("B", contexts=(chunk("2", "s", "shortened"), chunk("3", "s", "two")))
    both = [first, second]
    assert ids(Selection(), both) == "123"
    assert ids(Selection(), both, id_key="source") == "sss"  # one, two, shortened
    assert ids(Selection(), both, id_key="source", collapse=True) == "s"


def test_documents_without_an_id_are_told_apart_by_their_text() -> None:
    """Two calls that bring the same text bring one document."""
    calls = [
        call("A", contexts=(Context("one"), Context("two"))),
        call("B", contexts=(Context("two"), Context("three"))),
    ]
    found = Selection().retrieval(calls, DocumentReader()).contexts or ()
    assert [context.text for context in found] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"level": "all"}, "level is one of 'outermost', 'innermost', got 'all'"),
        ({"take": "best"}, "take is one of 'union', 'first', 'last', got 'best'"),
        ({"name": ""}, "name is a str or several, got ''"),
        ({"name": []}, "name is a str"),
        ({"tag": [1]}, "tag is a str"),
        ({"where": "x"}, "where is a callable"),
    ],
)
def test_values_out_of_range_are_named(fields: dict[str, Any], message: str) -> None:
    """At once, with the parameter."""
    with pytest.raises(ParameterError, match=message):
        Selection(**fields)
