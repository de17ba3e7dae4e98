"""A copy is matched with its document by object, ID, text, or part of the text."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from tests.observe.prompting import joined

from fullrecall import Context, IdRecall, Retrieval, Sample
from fullrecall.observe import ValueReader, reading


def test_lost_ids_are_repaired(program: Any, docs: Any) -> None:
    """A reranker that drops IDs returns the same documents."""
    found = program.retrieve(docs["a"], docs["b"])
    program.function("rerank", found, [Context(found[1].text)])
    assert program.ids() == ["b"]


def test_minted_ids_and_cut_texts(program: Any, docs: Any) -> None:
    """A compressor that mints IDs and shortens texts returns the same documents, shortened."""
    found = program.retrieve(docs["a"], docs["b"])
    short = str(found[0].text)[:40]
    program.function("compress", found, [Context(short, id="new-1")])
    assert program.ids() == ["a"]
    assert program.retrieval().contexts[0].text == short


def test_a_cut_text_without_an_id_is_known_anywhere(program: Any, docs: Any) -> None:
    """A stored graph returns other objects than its node, which was given a list and passed it."""
    found = program.retrieve(docs["a"])
    short = Context(str(found[0].text)[:40], id="new")
    program.function("compress", found, [short])
    with program.step("chain", "graph") as graph:
        program.function("node", [Context(short.text)], [Context(short.text)])
        graph.returns([Context(short.text)])
    assert program.ids() == ["a"]


def test_a_parent_has_its_own_id(program: Any, docs: Any) -> None:
    """If a larger text replaces its part, the larger text's ID is shown."""
    child = program.retrieve(docs["a"])
    whole = Context(f"Chapter one. {child[0].text} And more.", id="parent")
    program.function("parents", child, [whole])
    assert program.ids() == ["parent"]


def test_shortening_without_a_new_order(program: Any, docs: Any) -> None:
    """A compressor that keeps every document returns the shortened texts."""
    found = program.retrieve(docs["a"], docs["b"])
    short = [Context(str(each.text)[:30], id=each.id) for each in found]
    program.function("compress", found, short)
    assert [context.text for context in program.retrieval().contexts] == [s.text for s in short]


@pytest.mark.parametrize("shared", [4, 6, 8])
def test_a_chunk_of_which_a_neighbour_has_most_was_not_sent(program: Any, shared: int) -> None:
    """A chunk is in a prompt only if its own words are, whatever it shares with a neighbor."""
    words = [f"word{number}" for number in range(100)]
    first = Context(" ".join(words[:50]), id="first")
    second = Context(" ".join(words[50 - 5 * shared : 100 - 5 * shared]), id="second")
    with program.call() as call:
        found = program.retrieve(first, second)
        program.function("rerank", found, [first])
        call.returns(program.ask(joined([first])))
    assert program.ids() == ["first"]


def test_chunks_that_overlap_are_two(program: Any) -> None:
    """A dropped chunk is not revived by the words that it shares with the one in the prompt."""
    shared = "and then the committee adjourned until the following Thursday at nine in the morning"
    first = Context(
        f"The session opened late with a long debate on tolls, bridges, {shared}", id="1"
    )
    second = Context(
        f"{shared}, when the vote on the harbor was taken without any more words", id="2"
    )
    with program.call() as call:
        found = program.retrieve(first, second)
        kept = program.function("rerank", found, [first])
        call.returns(program.ask(joined(kept)))
    assert program.ids() == ["1"]


@pytest.mark.parametrize("rooted", [True, False])
def test_the_record_of_one_search_is_that_of_any_call(
    program: Any, docs: Any, *, rooted: bool
) -> None:
    """A call beside a step that returns a text is followed in full, with the same record."""
    records = []
    for beside in (False, True):
        each = type(program)()
        with each.call() if rooted else contextlib.nullcontext() as call:
            if beside:
                each.function("note", "q", "a note")
            found = each.retrieve(docs["b"], docs["a"], docs["c"])
            if rooted:
                call.returns(found)
        records.append(each.retrieval(response="x"))
    assert records[0] == records[1]


@pytest.mark.parametrize("rooted", [True, False])
def test_one_search_needs_no_following(
    program: Any, docs: Any, monkeypatch: pytest.MonkeyPatch, *, rooted: bool
) -> None:
    """A record of one search, like most, skips the following of documents, a tenth of the cost."""
    monkeypatch.setattr(reading, "Record", None)
    with program.call() if rooted else contextlib.nullcontext() as call:
        program.function("embed", "q", None)
        found = program.retrieve(docs["b"], docs["a"])
        if rooted:
            call.returns(found)
    assert program.ids() == ["b", "a"]


def test_a_reference_may_name_any_id_of_a_document(program: Any, docs: Any) -> None:
    """A chunk and the parent that takes its place are one document under two IDs."""
    child = program.retrieve(docs["a"])
    whole = Context(f"Chapter one. {child[0].text} And more.", id="parent")
    program.function("parents", child, [whole])
    record = program.retrieval()
    assert record.other_ids == {"parent": ("a",)}
    assert Retrieval.from_dict(json.loads(json.dumps(record.to_dict()))) == record
    for reference in ("a", "parent", "z"):
        sample = Sample(reference_context_ids=[reference]).with_retrieval(record)
        assert IdRecall().score(sample).score == (0.0 if reference == "z" else 1.0)


def test_equal_texts_are_told_apart_by_their_order(program: Any) -> None:
    """If documents of one text all lose their IDs, their order identifies them."""
    found = program.retrieve(Context("Yes.", id="x"), Context("Yes.", id="y"))
    program.function("number", found, [Context("Yes."), Context("Yes.")])
    assert program.ids() == ["x", "y"]


def test_some_of_several_equal_texts_have_unknown_ids(program: Any) -> None:
    """If only some of several equal texts are left, their IDs are unknown."""
    found = program.retrieve(Context("Yes.", id="x"), Context("Yes.", id="y"))
    program.function("drop IDs", found, [Context("Yes.")])
    assert "which of them they are is unknown" in str(program.retrieval().error)


def test_of_equal_texts_those_in_use_are_meant(program: Any) -> None:
    """A document without an ID is matched with those in use, not with dropped ones."""
    found = program.retrieve(Context("Yes.", id="x"), Context("Yes.", id="y"))
    kept = program.function("keep the last", found, found[1:])
    program.function("number", [Context("Yes.")], "Source 1", answers=True)
    assert kept
    assert program.ids() == ["y"]


def test_a_document_of_an_equal_text_and_another_id_is_another(program: Any) -> None:
    """A returned document with a known text and a new ID is not the known document."""
    with program.call():
        program.retrieve(Context("Yes.", id="x"))
        program.function("rerank", [Context("Yes.", id="y")], None)
    record = program.retrieval()
    assert [context.id for context in record.contexts] == ["x"]
    assert record.other_ids == {}


def test_joined_chunks_of_one_id_are_one_document(program: Any) -> None:
    """Joined chunks of one ID are one document, at the rank of the first."""
    chunks = [
        Context("The last boat leaves at ten past four in winter.", id="times"),
        Context("A bicycle costs three crowns on deck.", id="bicycles"),
        Context("The timetable changes on the first of April.", id="times"),
    ]
    with program.call() as call:
        first, second, third = program.retrieve(*chunks)
        call.returns([Context(f"{first.text}\n{third.text}", id="times"), second])
    assert program.ids() == ["times", "bicycles"]


def test_a_document_is_copied_again_only_when_it_changed() -> None:
    """A document that is read twice is kept once; a retriever may change its ID or its text."""
    reader, document = ValueReader(), {"id": "a", "text": "one"}
    first = reader.copy(document)
    size = reader.size
    assert reader.copy(document) is first
    assert reader.size == size
    for change in ({"id": "b"}, {"text": "two"}):
        document |= change
        again = reader.copy(document)
        assert again is not None
        assert (again.id, again.text) == (document["id"], document["text"])
        assert reader.size > size
        assert reader.copy(document) is again


def test_an_object_that_a_retriever_uses_again_is_another_document(program: Any, docs: Any) -> None:
    """An object is the document before if its text or its ID is the same."""
    document = {"id": "a", "text": docs["a"].text}
    program.retrieve(document)
    program.retrieve(document | {})
    document["id"] = "new"
    program.function("rename", [document], [document], kind="reranker")
    document |= {"id": "b", "text": docs["b"].text}
    program.retrieve(document)
    assert program.ids() == ["a", "b"]


def test_a_text_is_counted_once() -> None:
    """The limit of kept bytes counts each text once, however often a state passes it on."""
    reader, state = ValueReader(), {"question": "what is it? " * 100, "answer": ""}
    reader.read(state)
    size = reader.size
    assert size > 1000
    reader.read({**state, "more": 1})
    assert reader.size == size
