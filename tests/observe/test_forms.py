"""A call may return documents as lists, pairs, hits, rows, or texts."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context


@pytest.mark.parametrize(
    "output",
    [
        [Context("alpha", id="1")],
        [{"page_content": "alpha", "id": "1"}],
        [{"text": "alpha", "id": "1", "score": 0.5}],
        {"answer": "x", "sources": [Context("alpha", id="1")]},
        [(Context("alpha", id="1"), 0.5)],
    ],
)
def test_forms_of_documents(program: Any, output: Any) -> None:
    """Contexts, mappings and pairs with a score are read as documents at any place."""
    with program.call() as call:
        call.returns(output)
    assert program.ids() == ["1"]


def test_texts_returned(program: Any, docs: Any) -> None:
    """Texts that the call returns are the retrieved documents with these texts."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        call.returns([found[1].text])
    assert program.ids() == ["b"]


def test_texts_alone_are_contexts(program: Any) -> None:
    """A function that returns only texts returned contexts."""
    with program.call() as call:
        call.returns(["one", "two"])
    assert [context.text for context in program.retrieval().contexts] == ["one", "two"]


def test_texts_beside_documents_are_no_contexts(program: Any, docs: Any) -> None:
    """Texts at a key of the output that are no document's text are not contexts."""
    with program.call() as call:
        program.retrieve(docs["a"])
        call.returns({"answer": "x", "follow_ups": ["why is that so?", "since when?"]})
    assert program.ids() == ["a"]


ROWS = {
    "ids": lambda found: [each.id for each in found],
    "IDs and texts": lambda found: [(each.id, each.text) for each in found],
    "IDs and scores": lambda found: [(each.id, 0.5) for each in found],
    "rows of a database": lambda found: [
        {"id": each.id, "body": each.text, "url": "u"} for each in found
    ],
    "texts with more": lambda found: [{"title": "t", "content": each.text} for each in found],
    "an answer": lambda found: {"answer": "x", "hits": [{"id": each.id, "n": 1} for each in found]},
    "named IDs": lambda found: {"answer": "x", "retrieved_context_ids": [e.id for e in found]},
}


@pytest.mark.parametrize("form", ROWS)
def test_what_a_call_returns_counts_in_any_form(program: Any, docs: Any, form: str) -> None:
    """IDs, rows and tuples that a call returns name retrieved documents, in their order."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        call.returns(ROWS[form](found[:0:-1]))
    assert program.ids() == ["c", "b"]
    assert [each.text for each in program.retrieval().contexts] == [docs["c"].text, docs["b"].text]


def test_what_a_call_returns_of_unknown_documents_is_something_else(
    program: Any, docs: Any
) -> None:
    """A list of names is not read as documents unless each name is an ID."""
    with program.call() as call:
        program.retrieve(docs["a"], docs["b"])
        call.returns(["a", "somebody"])
    assert program.ids() == ["a", "b"]


@pytest.mark.parametrize(
    "form",
    [
        lambda found: [{"doc": each, "score": 0.5} for each in found],
        lambda found: [{"node": {"doc": each}, "tags": ["x"]} for each in found],
        lambda found: [[each] for each in found],
        lambda found: [(each, {}) for each in found],
        lambda found: [[each, 0.5] for each in found],
        lambda found: {"first": found[0], "second": found[1]},
        lambda found: {"hits": [{"doc": each} for each in found], "answer": "x"},
    ],
)
def test_hits_with_a_document_each_are_one_list(program: Any, docs: Any, form: Any) -> None:
    """Hits with one document each are one list, not calls with one document each."""
    with program.call() as call:
        call.returns(form(program.retrieve(docs["a"], docs["b"])[::-1]))
    found = program.retrieval()
    assert [context.id for context in found.contexts] == ["b", "a"]
    assert found.ranks is None


def test_results_with_lists_of_documents_are_calls(program: Any, docs: Any) -> None:
    """Answers to several queries are calls, even if each found one document."""
    with program.call() as call:
        found = [program.retrieve(docs[each], query=each) for each in "ab"]
        call.returns([{"query": "q", "documents": each} for each in found])
    assert program.retrieval().ranks == (1, 1)


@pytest.mark.parametrize("separate", [True, False])
def test_hits_of_several_queries_are_calls(program: Any, docs: Any, *, separate: bool) -> None:
    """Hits that were returned separately are calls; those of one list are one list."""
    with program.call() as call:
        lists = [["a"], ["b"]] if separate else [["a", "b"]]
        for number, letters in enumerate(lists):
            program.retrieve(*[docs[each] for each in letters], query=str(number))
        call.returns([[docs["a"]], [docs["b"]]])
    assert program.retrieval().ranks == ((1, 1) if separate else None)


def test_an_empty_artifact_of_a_tool_is_a_search_without_results(program: Any) -> None:
    """An empty artifact is a search without results; an empty text says nothing."""
    program.function("search", None, [], kind="tool")
    assert program.ids() is None
    message = {"type": "tool", "content": "", "artifact": []}
    program.function("search", None, message, kind="tool")
    assert program.ids() == []


@pytest.mark.parametrize("result", ["[]", [], '{"data": [], "took": 3}', {"data": []}])
def test_an_empty_list_of_a_tool_with_a_query_is_an_empty_search(
    program: Any, docs: Any, result: Any
) -> None:
    """A tool that was sent a query, and returned an empty list, searched and found nothing."""
    program.function("search", None, result, kind="tool", query="q")
    assert program.ids() == []
    assert program.ids(other_tools=["search"]) is None
    program.function("kb", None, [docs["a"]], kind="tool", query="q")
    found = program.retrieval()
    assert [call.contexts for call in found.calls] == [(), (docs["a"],)]
    assert found.call_numbers == (2,)


@pytest.mark.parametrize("printed", ["[]", "nothing was found"])
def test_an_empty_list_after_a_search_is_an_empty_search(
    program: Any, docs: Any, printed: str
) -> None:
    """After a search, an empty list means an empty search, but a text is an unreadable result."""
    program.function("search", None, [docs["a"]], kind="tool")
    program.function("search", None, printed, kind="tool")
    contexts = [call.contexts for call in program.retrieval().calls]
    assert contexts == [(docs["a"],), () if printed == "[]" else None]
