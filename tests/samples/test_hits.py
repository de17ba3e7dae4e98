"""Result objects of other libraries are read by their fields, without guessing."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from types import SimpleNamespace as Object
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pytest

from fullrecall import Context, Sample
from fullrecall.errors import InputError, ParameterError
from fullrecall.samples.hits import contexts_of
from fullrecall.samples.id_keys import check_id_key


@dataclass
class HaystackDocument:
    """The fields of Haystack's `Document`."""

    id: str
    content: str | None
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = None


class TextNode:
    """A LlamaIndex node, which returns its text by a method too."""

    node_id = "n1"
    metadata: dict[str, Any] = {"file": "a"}  # noqa: RUF012

    def get_content(self) -> str:
        """Return the text."""
        return "t"


def sqlite_rows() -> list[sqlite3.Row]:
    """Return SQLite rows with column names."""
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    rows = connection.execute("select 1 as id, 't' as text, 0.5 as score").fetchall()
    connection.close()
    return rows


UID = UUID(int=7)
FOUND = (Context("t", id="1", score=0.5),)

RESULTS: dict[str, tuple[object, tuple[Context, ...]]] = {
    "texts": (["t", "u"], (Context("t"), Context("u"))),
    "a generator": ((text for text in "tu"), (Context("t"), Context("u"))),
    "contexts": ([FOUND[0]], FOUND),
    "mappings": ([{"text": "t", "id": 1, "score": 0.5}], FOUND),
    "langchain document": (
        [Object(page_content="t", id=None, metadata={"source": "a"})],
        (Context("t", metadata={"source": "a"}),),
    ),
    "langchain with score": ([(Object(page_content="t", id="1", metadata={}), 0.5)], FOUND),
    "haystack": ({"documents": [HaystackDocument("1", "t", score=0.5)]}, FOUND),
    "qdrant": (
        Object(points=[Object(id=UID, version=3, score=0.5, payload={"text": "t", "page": 2})]),
        (Context("t", id=str(UID), score=0.5, metadata={"text": "t", "page": 2}),),
    ),
    "pinecone": (
        Object(matches=[Object(id="1", score=0.5, values=[0.1], metadata={"text": "t"})]),
        (Context("t", id="1", score=0.5, metadata={"text": "t"}),),
    ),
    "elasticsearch": (
        {"hits": {"hits": [{"_id": "1", "_score": 0.5, "_source": {"content": "t"}}]}},
        (Context("t", id="1", score=0.5, metadata={"content": "t"}),),
    ),
    "elasticsearch's response": (
        Object(body={"hits": {"hits": [{"_id": "1", "_score": 0.5, "_source": {"text": "t"}}]}}),
        (Context("t", id="1", score=0.5, metadata={"text": "t"}),),
    ),
    "weaviate": (
        Object(objects=[Object(uuid=UID, metadata=Object(score=0.5), properties={"text": "t"})]),
        (Context("t", id=str(UID), score=0.5, metadata={"text": "t"}),),
    ),
    "vespa": (
        Object(hits=[{"id": "id:n:t::1", "relevance": 0.5, "fields": {"text": "t"}}]),
        (Context("t", id="id:n:t::1", score=0.5, metadata={"text": "t"}),),
    ),
    "chroma": (
        {"ids": [["1", "2"]], "documents": [["t", "u"]], "metadatas": [[{"p": 1}, None]]},
        (Context("t", id="1", metadata={"p": 1}), Context("u", id="2")),
    ),
    "chroma without texts": ({"ids": [["1"]], "documents": None}, (Context(id="1"),)),
    "llama-index": (
        [Object(node=TextNode(), score=0.5)],
        (Context("t", id="n1", score=0.5, metadata={"file": "a"}),),
    ),
    "dspy": (Object(passages=["t"]), (Context("t"),)),
    "numbered": ([(3, 0.5)], (Context(id=3, score=0.5),)),
    "an answer within an answer": (
        {"outer": {"documents": [{"id": "1", "text": "t", "score": 0.5}]}, "meta": {"took": 3}},
        FOUND,
    ),
    "a database's rows": (sqlite_rows(), (Context("t", id="1", score=0.5),)),
    "a frame": (pl.DataFrame({"id": [1], "text": ["t"], "score": [0.5]}), FOUND),
    "nothing": ([], ()),
}


@pytest.mark.parametrize("name", RESULTS)
def test_result_objects_are_read(name: str) -> None:
    """IDs, texts, scores, and metadata are read in the order of the result."""
    result, contexts = RESULTS[name]
    assert contexts_of(result) == contexts


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "got NoneType None"),
        ("one text", "got str 'one text'"),
        ({"answer": "a"}, "got dict"),
        ({"one": {"documents": ["t"]}, "two": {"documents": ["u"]}}, "got dict"),
        ({"a", "b"}, "got set"),
        ([("The Tower", "Built in 1889.")], "cannot tell which column"),
        ([("d1", "a"), ("d2",)], "rows of one width"),
        ([(0.5, 0.25)], "cannot tell which column"),
        (
            [1.5],
            "item 0: expected a text, a Context, or a result with an id or a text, got a float: ",
        ),
        ([Object(a=1)], "got a SimpleNamespace"),
        ([{"content": "t", "chunk": "u", "_id": 1}], "several fields may be the text"),
        ({"ids": [["1"], ["2"]]}, "expected the results of one query, got 2"),
        ([{"id": 1.0, "text": "t"}], "is not an ID"),
        ([-1], "-1 means no result in FAISS"),
        ([["a"], ["b"]], "item 0: expected a text, a Context, .* got a list of 1: "),
        ((np.zeros((1, 2)), np.zeros((1, 2))), "item 0: expected a text, .* got a ndarray: "),
        (pl.DataFrame({"name": ["t"]}), "item 0: expected a text, a Context, or a result"),
    ],
)
def test_an_ambiguous_result_is_refused(result: object, why: str) -> None:
    """An ambiguous result is an error that says which form to pass."""
    with pytest.raises(InputError, match=why):
        contexts_of(result)


@pytest.mark.parametrize(
    "hits",
    [
        [{"doc_id": "a", "content": "x", "lang": "en"}],
        [{"_id": "a", "_score": 1.5, "_source": {"body": "x"}}],
        {"hits": {"hits": [{"_id": "a", "_source": {"text": "x"}}]}},
        {"ids": [["a"]], "documents": [["x"]]},
    ],
)
def test_hits_in_a_sample_are_read_as_those_of_a_retriever(hits: object) -> None:
    """A sample's contexts may have the fields of search hits, as a retriever's results may."""
    (context,) = Sample(retrieved_contexts=hits).retrieved_contexts or ()  # type: ignore[arg-type]
    assert (context,) == contexts_of(hits)
    assert (context.id, context.text) == ("a", "x")


def test_several_keys_make_one_id() -> None:
    """An ID may be made of several keys, such as source and page; a row without one is an error."""
    rows = [{"text": "t", "metadata": {"source": "a.md", "page": 12}}, {"text": "t", "page": 3}]
    assert contexts_of(rows[:1], id_key=("source", "page"))[0].id == "a.md:12"
    with pytest.raises(InputError, match=r"item 1: .*nothing at \('source', 'page'\)"):
        contexts_of(rows, id_key=("source", "page"))


def test_an_id_function_that_raises_is_named_with_the_item() -> None:
    """The error of a user's ID function names `id_key`, the exception, and the item."""
    with pytest.raises(InputError, match=r"item 0: id_key raised AttributeError: 'dict' object"):
        contexts_of([{"text": "t"}], id_key=lambda row: row.source)


def test_other_fields_of_a_row_are_metadata() -> None:
    """Other fields of a row become metadata, but the text is not repeated there."""
    row = {"id": 1, "slug": "vpn", "page": 1, "content": "t", "score": 0.5, "vector": [0.1]}
    (context,) = contexts_of([row])
    assert context.metadata == {"slug": "vpn", "page": 1}
    (context,) = contexts_of([{**row, "metadata": {"page": 2}}])
    assert context.metadata == {"slug": "vpn", "page": 2}


@pytest.mark.parametrize("text", ["a note", '["a"]', '{"source"', "7", '{"a":' * 50_000])
def test_metadata_may_be_a_text_of_json(text: str) -> None:
    """Metadata that is a JSON object as text, as of some drivers, is parsed; other text is kept."""
    row = {"id": "1", "text": "t"}
    assert contexts_of([{**row, "metadata": '{"source": "a"}'}])[0].metadata == {"source": "a"}
    assert contexts_of([{**row, "metadata": text}])[0].metadata == {"metadata": text}


def test_the_error_of_a_missing_path_names_the_fields_that_there_are() -> None:
    """The error of a missing path has the fields' names, without values that vary by sample."""
    row = {"id": 7, "text": "t", "metadata": {"source": "a.md"}, "vector": [0.1]}
    with pytest.raises(
        InputError, match=r"nothing at 'src': it has 'id', 'text', 'metadata.source'$"
    ):
        contexts_of([row], id_key="src")
    with pytest.raises(InputError, match="id_key returned None for a context"):
        contexts_of([row], id_key=lambda _: None)
    with pytest.raises(InputError, match=r"a tuple of 3: .* pass id_key= a function of it"):
        contexts_of([(7, "t", {"source": "a.md"})])


def test_a_column_of_json_holds_metadata() -> None:
    """Some drivers return JSON as text; other mappings of a row keep their names."""
    rows = [{"id": 7, "content": "t", "metadata": '{"source": "a.md"}', "origin": {"page": 3}}]
    assert contexts_of(rows)[0].metadata == {"source": "a.md", "origin": {"page": 3}}
    assert contexts_of(rows, id_key="metadata.source")[0].id == "a.md"
    assert contexts_of(rows, id_key="origin.page")[0].id == "3"
    assert contexts_of([{"id": 7, "metadata": "{plain}"}])[0].metadata == {"metadata": "{plain}"}


def test_a_template_has_forms_of_a_value() -> None:
    """A template may use the last part of a path or URL, and a page number plus one."""
    row = {"text": "t", "metadata": {"source": "/data/a.pdf", "page": 0, "dc:name": "x"}}
    for template, own_id in {
        "{source:name}#{page:+1}": "a.pdf#1",
        "{source:name}": "a.pdf",
        "{metadata.page:+1}": "1",
        "{dc:name}": "x",
    }.items():
        assert contexts_of([row], id_key=template)[0].id == own_id
    (windows,) = contexts_of([{"text": "t", "source": "C:\\docs\\b.pdf\\"}], id_key="{source:name}")
    assert windows.id == "b.pdf"
    with pytest.raises(InputError, match=r"id_key adds 1 to 'source', got '/data/a.pdf'"):
        contexts_of([row], id_key="{source:+1}")
    with pytest.raises(InputError, match=r"nothing at '\{source:stem\}'"):
        contexts_of([row], id_key="{source:stem}")


@pytest.mark.parametrize("template", ["{source", "source}", "{}", "{a}}", "{{a}"])
def test_a_template_has_pairs_of_braces(template: str) -> None:
    """A template with a single brace is an error, since no context would match it."""
    with pytest.raises(ParameterError, match="id_key has a brace without its pair"):
        check_id_key(template)


@pytest.mark.parametrize(
    ("result", "way"),
    [
        (None, "return [] where nothing is found"),
        ("d1", "wrap it in a list"),
        (
            {"answer": "x", "passages_found": ["a"]},
            "return the list alone; one of 'passages_found'",
        ),
        ({"answer": "x"}, "return the list alone; it has none"),
    ],
)
def test_a_result_without_a_list_says_the_way_out(result: object, way: str) -> None:
    """The error for a result without a list says where the list may be, or that it is missing."""
    with pytest.raises(InputError) as raised:
        contexts_of(result)
    assert way in str(raised.value)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([("d1", 0.5), ("d2", 0.25)], [("d1", None, 0.5), ("d2", None, 0.25)]),
        ([(0.5, "d1")], [("d1", None, 0.5)]),
        ([("d1", "two words")], [("d1", "two words", None)]),
        ([("two words", "d1", 0.5)], [("d1", "two words", 0.5)]),
        ([(7, "two words")], [("7", "two words", None)]),
        ([(7, 0.5)], [("7", None, 0.5)]),
        ([(7, 0.5, 0.25)], [("7", None, None)]),
        ([(7, 8)], [("7", None, 8.0)]),
        ([("d1", "two words", "three more words")], None),
        ([("d1", "two words", "a b", "c d")], None),
        ([("d1", "d2", "two words")], [("d1", "two words", None)]),
        ([("d1", "d2", "d3")], [("d1", None, None)]),
        ([("d1", 0.5), ("d2",)], None),
        ([("d1", 0.5), ("d2", 0.5, 1), ("d3", 0.5, 1)], None),
        ([(0.5, 0.25)], None),
        ([("d1", UUID(int=1))], None),
        ([("d1", ["x"])], None),
    ],
)
def test_rows_without_names(rows: list[Any], found: list[tuple[Any, ...]] | None) -> None:
    """The first column of IDs, the only text, and the only other number are read."""
    if found is None:
        with pytest.raises(InputError):
            contexts_of(rows)
    else:
        contexts = contexts_of(rows)
        assert [(each.id, each.text, each.score) for each in contexts] == found


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([{"id": "a", "Page": 3}], [("a", None, {"Page": 3})]),
        ([{"ID": "a", "Page": 3}], [("a", None, {"page": 3})]),
        ([["a", 0.5], ["b", 0.25]], [("a", 0.5, {}), ("b", 0.25, {})]),
        ([["a", 0.5, {"k": 1}]], "cannot tell which column of"),
        ([("a", 0.5), ("b", {})], "got a tuple of 2"),
        ([("d-1", 0.5, True)], "got a tuple of 3"),
    ],
)
def test_rows_with_and_without_names(rows: list[Any], found: Any) -> None:
    """Usual names are read as they are; rows without names have only texts and numbers."""
    if isinstance(found, str):
        with pytest.raises(InputError, match=found):
            contexts_of(rows)
        return
    assert [(each.id, each.score, each.metadata) for each in contexts_of(rows)] == found
