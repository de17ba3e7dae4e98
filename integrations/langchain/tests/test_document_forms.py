"""Each form of a document becomes a context with its text, ID, score, metadata and place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumpd

from fullrecall import Context
from fullrecall.errors import InputError
from langchain_fullrecall import contexts
from langchain_fullrecall.documents import DocumentReader, Original, is_document, parts_of

DOCUMENT = Document("text", id="a", metadata={"page": 1})
PLACED = {"source": "s", "start": 0, "end": 4}


@pytest.mark.parametrize(
    ("item", "text", "original"),
    [
        (DOCUMENT, "text", Original("a", None, {"page": 1})),
        ((DOCUMENT, 0.5), "text", Original("a", 0.5, {"page": 1})),
        ([DOCUMENT, 1], "text", Original("a", 1.0, {"page": 1})),
        ((DOCUMENT, float("nan")), "text", Original("a", None, {"page": 1})),
        ("text", "text", Original(None)),
        (("text", 0.5), "text", Original(None, 0.5)),
        (DOCUMENT.model_dump(), "text", Original("a", None, {"page": 1})),
        (dumpd(DOCUMENT), "text", Original("a", None, {"page": 1})),
        ({"page_content": "p", "text": "t", "content": "c"}, "p",
         Original(None, None, {"text": "t", "content": "c"})),
        ({"text": "t", "score": 0.5, "year": 2}, "t", Original(None, 0.5, {"year": 2})),
        (({"content": "c", "score": 0.5}, 0.7), "c", Original(None, 0.5)),
        (({"content": "c", "score": None}, 0.7), "c", Original(None, 0.7)),
        (({"content": "c", "score": 0.0}, 0.7), "c", Original(None, 0.0)),
        ({"id": 7}, None, Original(7)),
        ({"text": "t", "metadata": None}, "t", Original(None)),
        ({"text": "t", "page": 1, "metadata": {"page": 2}}, "t", Original(None, None, {"page": 2})),
        ({"text": "t", "type": "Document"}, "t", Original(None)),
        ({"text": "t", "type": "pdf"}, "t", Original(None, None, {"type": "pdf"})),
        ({"text": "text", **PLACED}, "text", Original(None, None, {}, PLACED)),
        ({"text": "t", "source": "s", "start": 0}, "t",
         Original(None, None, {"source": "s", "start": 0})),
        ({"text": "t", "source": "s", "end": 4}, "t",
         Original(None, None, {"source": "s", "end": 4})),
        ({"lc": 1, "kwargs": None}, None, Original(None)),
    ],
)  # fmt: skip
def test_the_parts_of_a_document(item: Any, text: str | None, original: Original) -> None:
    """A field's own score is kept, an infinite one is dropped, and other fields are metadata."""
    assert parts_of(item) == (text, original)


@pytest.mark.parametrize("item", [7, None, (DOCUMENT, "0.5"), {"text": "t", "metadata": 7}])
def test_another_value_is_no_document(item: Any) -> None:
    """The error names the position."""
    with pytest.raises(InputError, match="document 1: "):
        contexts([DOCUMENT, item])


@pytest.mark.parametrize(
    ("item", "certain"),
    [
        (DOCUMENT, True),
        ((DOCUMENT, 0.5), True),
        ((DOCUMENT, "a"), False),
        (Context("text"), True),
        ("text", False),
        ({"page_content": "t"}, True),
        ({"text": "t"}, False),
        (dumpd(DOCUMENT), True),
        ({"lc": 1, "kwargs": {"text": "t"}}, False),
        ({"kwargs": {"page_content": "t"}}, False),
        ({"lc": 1}, False),
    ],
)
def test_a_certain_document(item: Any, certain: bool) -> None:  # noqa: FBT001
    """A text or another mapping may be a document, and is not certainly one."""
    assert is_document(item) is certain


def last(document: Document) -> str:
    """Return an ID from a whole document."""
    return f"{document.id}/{document.page_content}/{document.metadata['page']}"


@pytest.mark.parametrize(
    ("id_key", "own_id"),
    [
        (None, "a"),
        ("page", "1"),
        ("absent", None),
        (("page", "page"), "1:1"),
        (last, "a/text/1"),
        (lambda _: "", None),
        (lambda _: None, None),
    ],
)
def test_an_id_key_names_the_id(id_key: Any, own_id: str | None) -> None:
    """Without the key a document has no ID."""
    (context,) = contexts([DOCUMENT], id_key=id_key)
    assert context.id == own_id
    text, own = parts_of(DOCUMENT)
    assert DocumentReader(id_key).id_of(text or "", own) == own_id


def test_documents_of_one_id_are_joined() -> None:
    """With `collapse`, k counts sources; documents without an ID stay separate."""
    chunks: list[Any] = [
        (Document("one", id="a"), 0.9), (Document("two"), 0.8), (Document("three", id="a"), 0.7),
        (Document("four"), 0.6)]  # fmt: skip
    assert [each.text for each in contexts(chunks)] == ["one", "two", "three", "four"]
    joined = contexts(chunks, collapse=True)
    assert [(each.id, each.text, each.score) for each in joined] == [
        ("a", "one\n\nthree", 0.9), (None, "two", 0.8), (None, "four", 0.6)]  # fmt: skip


@pytest.mark.parametrize("documents", [DOCUMENT, 7, "text", {"page_content": "t"}])
def test_a_single_document_is_no_list(documents: Any) -> None:
    """One document in place of a list is an error, also as a model that iterates its fields."""
    read: Callable[..., Any] = contexts
    with pytest.raises(InputError):
        read(documents)
