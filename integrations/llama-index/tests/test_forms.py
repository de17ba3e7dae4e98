"""Questions, answers, and nodes in each of LlamaIndex's forms."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.schema import ImageNode, NodeWithScore, QueryBundle, TextNode

from fullrecall.errors import InputError
from llama_index.evaluation.fullrecall.inputs import found_in
from llama_index.evaluation.fullrecall.reader import (
    NO_DOCUMENTS,
    NodeValueReader,
    documents_among,
    has_number_and_new_id,
    is_document,
    is_text_of_object,
    replaces_documents,
)
from llama_index.evaluation.fullrecall.record import LlamaIndexReading
from llama_index.evaluation.fullrecall.recorder import (
    query_in,
    question_in,
    question_text,
    written_by,
)

NEW_ID = "0123abcd-0123-0123-0123-0123456789ab"


@pytest.mark.parametrize(
    ("arguments", "question", "query"),
    [
        ({"str_or_query_bundle": "q"}, "q", "q"),
        ({"query_bundle": QueryBundle("q")}, "q", "q"),
        ({"message": "m", "query_bundle": "b"}, "b", "b"),
        ({"query_str": 7, "input": "i"}, None, None),
        ({"input": "i"}, "i", "i"),
        ({"args": ("a",)}, "a", "a"),
        ({"kwargs": {"x": "a", "n": 7}}, "a", "a"),
        ({"args": ("a",), "kwargs": {"x": "b"}}, None, "(('a',), {'x': 'b'})"),
        ({"args": ("a",), "input": "i"}, None, "(('a',), {})"),
        ({"kwargs": {"n": 7}}, None, "((), {'n': 7})"),
        ({"other": "o"}, None, None),
        ({}, None, None),
    ],
)
def test_the_question_among_arguments(
    arguments: dict[str, Any], question: str | None, query: str | None
) -> None:
    """A named question comes first, then a single text; a tool's query is all it was given."""
    assert question_in(arguments) == question
    assert query_in(arguments) == query


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("text", "text"),
        (CompletionResponse(text="text"), "text"),
        (ChatResponse(message=ChatMessage(content="text")), "text"),
        (iter(["text"]), None),
        (7, None),
    ],
)
def test_the_text_of_a_model(output: Any, text: str | None) -> None:
    """Chats, completions and texts were written; a stream was not read."""
    assert written_by(output) == text


def test_the_text_of_a_question() -> None:
    """A question is a text or a bundle."""
    assert question_text("q") == question_text(QueryBundle("q")) == "q"
    assert question_text(7) is None


def node(text: str, node_id: str = "a", **metadata: Any) -> TextNode:
    """Return a node."""
    return TextNode(text=text, id_=node_id, metadata=metadata)


@pytest.mark.parametrize(
    ("own", "document"),
    [
        (node("text"), True),
        (node("text", NEW_ID), True),
        (node("answer", NEW_ID), False),
        (node(" answer\n", NEW_ID), False),
        (node("answer"), True),
        (node("Query: q\nResponse: r", NEW_ID), False),
        (node("Query: q\nResponse: r"), True),
        (node("Sub question: q\nResponse: r", NEW_ID), False),
        (node("Question: q\nAnswer: r", NEW_ID), False),
        (node("Question: q", NEW_ID), True),
        (node("row", sql_query="s", result="r"), False),
        (node("row", sql_query="s"), True),
        (node("Tool name: t\nTool description: d", name="t"), False),
        (node("Tool name: t\nTool description: d", name="u"), True),
        (node("Tool name: None\nTool description: d"), True),
        (node("<message role='user'>hi", session_id="s"), False),
        (node("<message role='user'>hi"), True),
        (node("hi", session_id="s"), True),
        (node("hi", sub_dicts=[{"role": "user"}]), False),
        (node("hi", sub_dicts=[{"role": "user"}, {}]), True),
        (node("hi", sub_dicts="role"), True),
        (node("object", str(hash("object"))), False),
    ],
)
def test_a_node_is_a_document(own: TextNode, document: bool) -> None:  # noqa: FBT001
    """Tools, messages, answers, and rows of a database are no documents."""
    assert is_document(own, own.text, {"answer"}) is document


def test_a_node_stands_for_an_object_by_its_form() -> None:
    """A node with a new ID is an answer: it does not represent an object of an index."""
    assert not is_text_of_object(node("answer", NEW_ID), "answer")
    assert is_text_of_object(node("object", str(hash("object"))), "object")


def test_numbered_sources_of_a_citation_engine() -> None:
    """A source with a number has a new ID; its text is read without the number."""
    numbered, kept = node("Source 1:\ntext\n", NEW_ID), node("Source 1:\ntext", "a")
    assert has_number_and_new_id(numbered)
    assert has_number_and_new_id(NodeWithScore(node=numbered))
    assert not has_number_and_new_id(kept)
    assert not has_number_and_new_id(node("text", NEW_ID))
    reader = NodeValueReader()
    copies = [reader.document(each) for each in (numbered, kept, node("Source 1: text", "b"))]
    assert [(each.id, each.text) for each in copies if each] == [
        (None, "text"), (None, "text"), ("b", "Source 1: text")]  # fmt: skip


def test_pictures_are_compared_by_their_data() -> None:
    """A picture has no text: its data, path or address is hashed."""
    reader = NodeValueReader()
    pictures = [
        ImageNode(id_="a", image="x"), ImageNode(id_="b", image="x"), ImageNode(id_="c", image="y"),
        ImageNode(id_="d", image_path="x"), ImageNode(id_="e", image_url="z"), TextNode(id_="f"),
    ]  # fmt: skip
    texts = [copy.text for each in pictures if (copy := reader.document(each)) is not None]
    assert texts[0] == texts[1] == texts[3]
    assert len({*texts}) == 4
    assert texts[-1] == ""
    assert all(text.startswith("picture ") for text in texts[:-1])


def test_documents_among_nodes() -> None:
    """A node may have a score; answers and nodes that replace documents are left out."""
    composed = node("Query: q\nResponse: r", NEW_ID)
    scored = NodeWithScore(node=node("text"), score=0.5)
    assert documents_among([scored, composed, node("other", "b")]) == [scored, node("other", "b")]
    assert replaces_documents(NodeWithScore(node=composed))
    assert not replaces_documents(scored)
    assert not replaces_documents(NodeWithScore(node=node("Question: q\nAnswer: r", NEW_ID)))


def test_a_node_is_unchanged() -> None:
    """Its text, ID, metadata and, if it has one, score are those of the copy."""
    reader, own = NodeValueReader(), node("text", page=1)
    scored = NodeWithScore(node=own, score=0.5)
    copy = reader.document(scored)
    assert copy is not None
    assert reader.is_unchanged(scored, copy)
    assert reader.is_unchanged(own, copy)
    assert not reader.is_unchanged(NodeWithScore(node=own, score=0.6), copy)
    for change in ({"text": "other"}, {"id_": "b"}, {"metadata": {"page": 2}}):
        fields = {"text": "text", "id_": "a", "metadata": {"page": 1}, **change}
        assert not reader.is_unchanged(TextNode(**fields), copy)


@pytest.mark.parametrize(
    ("value", "found", "nodes"),
    [
        ([node("text")], "a:text", 1),
        ([NodeWithScore(node=node("text"))], "a:text", 1),
        ({"nodes": [node("text")]}, "a:text", 1),
        ([], "", 0),
        (["a", "b"], "a:None b:None", 0),
        ({"contexts": ["x"]}, "x:None", 0),
        ([{"id": "a", "text": "t"}], "a:t", 0),
    ],
)
def test_the_retrieval_in_a_value(value: Any, found: str, nodes: int) -> None:
    """Nodes are read in a list or under one key; any other form is read by its IDs."""
    read = found_in(value, LlamaIndexReading())
    assert read.retrieval is not None
    contexts = read.retrieval.contexts or ()
    assert " ".join(f"{each.id}:{each.text}" for each in contexts) == found
    assert len(read.nodes) == nodes


def test_values_without_a_retrieval() -> None:
    """A text tells nothing, answers are no documents, and two lists are not one."""
    reading = LlamaIndexReading()
    assert found_in(None, reading).retrieval is None
    assert found_in("text", reading).retrieval is None
    composed = found_in([node("Query: q\nResponse: r", NEW_ID)], reading).retrieval
    assert composed is not None
    assert composed.error == NO_DOCUMENTS
    with pytest.raises(InputError, match="expected a list"):
        found_in({"x": [node("text")], "y": [node("other", "b")]}, reading)
