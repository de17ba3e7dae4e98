"""LangChain's documents become contexts, from every form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumpd

from fullrecall import Context, IdRecall
from fullrecall.errors import InputError, ParameterError
from fullrecall.measures import Recall
from langchain_fullrecall import contexts

DOCUMENT = Document("some text", id="d1", metadata={"source": "a.md", "start_index": 120})


def test_a_context_is_a_snapshot() -> None:
    """Later changes of a document do not change its context."""
    document = Document("before", id="d1", metadata={"source": "a.md"})
    (context,) = contexts([document])
    document.id, document.page_content = "d2", "after"
    document.metadata["source"] = "b.md"
    assert context == Context("before", id="d1", metadata={"source": "a.md"})


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(DOCUMENT, id="Document"),
        pytest.param(DOCUMENT.model_dump(), id="model_dump"),
        pytest.param(json.loads(json.dumps(dumpd(DOCUMENT))), id="dumpd"),
        pytest.param(
            {
                "page_content": "some text",
                "id": "d1",
                "type": "Document",
                "metadata": {"source": "a.md", "start_index": 120},
            },
            id="LangSmith",
        ),
        pytest.param(
            {"text": "some text", "id": "d1", "source": "a.md", "start_index": 120}, id="plain"
        ),
        pytest.param(
            Context("some text", id="d1", metadata={"source": "a.md", "start_index": 120}),
            id="Context",
        ),
    ],
)
@pytest.mark.parametrize(
    ("id_key", "expected"),
    [(None, "d1"), ("source", "a.md"), (["source", "start_index"], "a.md:120")],
)
def test_every_form_of_a_document_is_read_alike(form: Any, id_key: Any, expected: str) -> None:
    """A document gives the same context if live, dumped, loaded from LangSmith or hand-written."""
    (context,) = contexts([form], id_key=id_key)
    assert (context.id, context.text) == (expected, "some text")
    assert dict(context.metadata) == {"source": "a.md", "start_index": 120}
    assert context.score is None


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_dropped(score: float) -> None:
    """A NaN score is dropped, and costs the sample nothing, because the order is the rank."""
    assert contexts([(DOCUMENT, score)])[0].score is None


@pytest.mark.parametrize(
    ("id_key", "metadata", "expected"),
    [
        ("source", {"source": 7}, "7"),
        ("source", {}, None),
        ("source", {"source": None}, None),
        (("source", "page"), {"source": "a", "page": 0}, "a:0"),
        (("source", "page"), {"source": "a"}, None),
        (("source", "page"), {"source": "", "page": 1}, None),
        (lambda document: document.metadata["n"] + 1, {"n": 1}, "2"),
        (lambda document: document.id, {}, "own"),
        (lambda _document: None, {}, None),
    ],
)
def test_id_key_says_where_the_id_stands(id_key: Any, metadata: Any, expected: str | None) -> None:
    """`id_key` is a key, several keys or a callable; without the key a document has no ID."""
    document = Document("text", id="own", metadata=metadata)
    assert contexts([document], id_key=id_key)[0].id == expected
    assert contexts([dumpd(document)], id_key=id_key)[0].id == expected


def test_a_place_that_a_context_has_is_kept() -> None:
    """A `Context` written as a mapping by `to_dict` keeps its place."""
    context = Context("text", id="a", source="doc", start=3, end=7)
    assert contexts([context, context.to_dict()]) == [context, context]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([DOCUMENT, 7], "document 1: .*got 7"),
        ([DOCUMENT, None], "document 1"),
        ([{}], "document 0: a context needs an id or a text"),
        ([{"metadata": "m", "text": "t"}], "document 0: metadata must be a mapping"),
        ([{"text": "t", "id": 1.5}], "document 0: 1.5 is not an ID"),
        ("text", "expected a list, got the str"),
        (None, "expected a list, got NoneType"),
        ({"text": "t"}, "expected a list, got dict"),
        ({"a", "b"}, "the order is the rank"),
        (DOCUMENT, r"got one Document: wrap it in \[\]"),
    ],
)
def test_an_item_that_is_no_document_is_named(documents: Any, message: str) -> None:
    """An item that is not a document is an error that names its position and value."""
    with pytest.raises(InputError, match=message):
        contexts(documents)


@pytest.mark.parametrize("id_key", ["", (), [], 7, ("a", ""), ("a", 1), b"source"])
def test_an_id_key_of_another_kind_is_refused(id_key: Any) -> None:
    """The error names the parameter and the value."""
    with pytest.raises(ParameterError, match="id_key"):
        contexts([], id_key=id_key)


def test_the_chunks_of_one_source_become_one() -> None:
    """Chunks of one source become one context, at the first rank, with their texts joined."""
    chunks = [
        (Document("one", metadata={"source": "a", "page": 1}), 0.9),
        Document("two", metadata={"source": "b"}),
        Document("three", metadata={"source": "a", "page": 2}),
        Document("one", metadata={"source": "a", "page": 3}),
        Document("four"),
        Document("five"),
    ]
    assert contexts(chunks, id_key="source", collapse=True) == [
        Context("one\n\nthree", id="a", score=0.9, metadata={"source": "a", "page": 1}),
        Context("two", id="b", metadata={"source": "b"}),
        Context("four"),
        Context("five"),
    ]
    ids = contexts([Context(id="a"), Context(id="b"), Context(id="a")], collapse=True)
    assert ids == [Context(id="a"), Context(id="b")]


def test_k_counts_sources_where_chunks_are_collapsed() -> None:
    """With `collapse` k counts sources; without it, chunks, and a repeated ID earns nothing."""
    chunks = [Document("x", metadata={"source": source}) for source in "aab"]
    scorer = IdRecall()

    def score(*, collapse: bool) -> float | None:
        found = contexts(chunks, id_key="source", collapse=collapse)
        result = scorer.score(retrieved_contexts=found, reference_context_ids=["a", "b"])
        return result[Recall @ 2]

    assert (score(collapse=False), score(collapse=True)) == (0.5, 1.0)


def test_an_id_key_that_raises_is_named() -> None:
    """An exception of `id_key` is an error that names the document, not a failed retrieval."""

    def numbered(document: Document) -> int:
        return int(document.metadata["row"])

    given = [Document("", metadata={"row": 1}), Document("")]
    with pytest.raises(InputError, match="document 1: id_key raised KeyError: 'row'") as caught:
        contexts(given, id_key=numbered)
    assert isinstance(caught.value.__cause__, KeyError)
