"""The final list of documents of a run, for any framework: by plain steps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fullrecall import Context, IdRecall, Retrieval, Sample
from fullrecall.observe import StepReading


def joined(documents: list[Context]) -> str:
    """Return documents as a prompt has them."""
    return "\n\n".join(str(document.text) for document in documents)


def test_one_retriever(program: Any, docs: Any) -> None:
    """A call of one retriever returns its list, in its order."""
    program.retrieve(docs["b"], docs["a"])
    assert program.ids() == ["b", "a"]


def test_nothing_retrieved(program: Any) -> None:
    """An empty list is a retrieval, unlike a call without a retriever."""
    program.retrieve()
    found = program.retrieval()
    assert found.contexts == ()
    assert found.error is None


def test_no_retrieval(program: Any) -> None:
    """A call without documents is not measured, and says why."""
    with program.call() as call:
        call.returns(program.ask("what is it?"))
    found = program.retrieval()
    assert found.contexts is None
    assert found.error == "no retrieval was observed"


@pytest.mark.parametrize("returns_state", [True, False])
def test_graph_state_flows(program: Any, docs: Any, *, returns_state: bool) -> None:
    """The last list passed on through state counts, whether the call returns the state or not."""
    state: dict[str, Any] = {"question": "q"}
    with program.call() as call:
        with program.step("chain", "retrieve", state) as node:
            found = program.retrieve(docs["a"], docs["b"], docs["c"])
            node.returns({"documents": found})
        state = {**state, "documents": found}
        graded = [docs["a"]]
        program.function("grade", state, {"documents": graded})
        state = {**state, "documents": graded}
        with program.step("chain", "generate", state) as node:
            node.returns({"answer": program.ask(joined(graded))})
        call.returns({**state, "answer": "x"} if returns_state else "x")
    assert program.ids() == ["a"]


def test_retrieved_keeps_what_was_dropped(program: Any, docs: Any) -> None:
    """`retrieved` has all documents of the sources, `contexts` those passed on."""
    found = program.retrieve(docs["a"], docs["b"])
    program.function("rerank", found, [docs["b"]])
    record = program.retrieval()
    assert [context.id for context in record.retrieved] == ["a", "b"]
    assert [context.id for context in record.contexts] == ["b"]
    assert [stage.name for stage in record.stages] == ["search"]


def test_rerank_in_a_mapping(program: Any, docs: Any) -> None:
    """`assign(docs=rerank)`: the list at the key takes the place of the one it was made of."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        program.function("assign", {"docs": found, "q": "q"}, {"docs": found[:2], "q": "q"})
        call.returns(program.ask(joined(found[:2])))
    assert program.ids() == ["a", "b"]


def test_cut_below_a_parallel(program: Any, docs: Any) -> None:
    """The list of a function that fuses the lists of parallel branches is the final one."""
    with program.call() as call:
        with program.step("chain", "parallel") as both:
            first = program.retrieve(docs["a"], docs["b"], name="dense")
            second = program.retrieve(docs["c"], docs["b"], name="sparse")
            both.returns({"x": first, "y": second})
        fused = program.function("fuse", {"x": first, "y": second}, [docs["c"], docs["a"]])
        call.returns(program.ask(joined(fused)))
    assert program.ids() == ["c", "a"]


def test_function_returns_a_cut_list(program: Any, docs: Any) -> None:
    """The documents that the call itself returns are the final list."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        call.returns(found[:1])
    assert program.ids() == ["a"]


def test_function_returns_from_its_cache(program: Any, docs: Any) -> None:
    """Documents that no step retrieved are those that the call returned."""
    with program.call() as call:
        call.returns([docs["b"], docs["a"]])
    assert program.ids() == ["b", "a"]


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
    """Contexts, mappings and pairs with a score are documents wherever they stand."""
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


def test_texts_beside_documents_are_none(program: Any, docs: Any) -> None:
    """Texts that no document has, at a key of the output, are no contexts."""
    with program.call() as call:
        program.retrieve(docs["a"])
        call.returns({"answer": "x", "follow_ups": ["why is that so?", "since when?"]})
    assert program.ids() == ["a"]


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


def test_a_parent_has_its_own_id(program: Any, docs: Any) -> None:
    """If a larger text replaces a part of it, the larger text's ID is shown."""
    child = program.retrieve(docs["a"])
    whole = Context(f"Chapter one. {child[0].text} And more.", id="parent")
    program.function("parents", child, [whole])
    assert program.ids() == ["parent"]


def test_shortening_without_a_new_order(program: Any, docs: Any) -> None:
    """A compressor that keeps every document hands on the shortened texts."""
    found = program.retrieve(docs["a"], docs["b"])
    short = [Context(str(each.text)[:30], id=each.id) for each in found]
    program.function("compress", found, short)
    assert [context.text for context in program.retrieval().contexts] == [s.text for s in short]


@pytest.mark.parametrize("shared", [4, 6, 8])
def test_a_chunk_of_which_a_neighbour_has_most_was_not_sent(program: Any, shared: int) -> None:
    """A chunk is in a prompt only if its own words are, for any number of shared words."""
    words = [f"word{number}" for number in range(100)]
    first = Context(" ".join(words[:50]), id="first")
    second = Context(" ".join(words[50 - 5 * shared : 100 - 5 * shared]), id="second")
    with program.call() as call:
        found = program.retrieve(first, second)
        program.function("rerank", found, [first])
        call.returns(program.ask(joined([first])))
    assert program.ids() == ["first"]


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
    """In its order: IDs, rows and tuples name documents that were retrieved."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        call.returns(ROWS[form](found[:0:-1]))
    assert program.ids() == ["c", "b"]
    assert [each.text for each in program.retrieval().contexts] == [docs["c"].text, docs["b"].text]


def test_what_a_call_returns_of_unknown_documents_is_something_else(
    program: Any, docs: Any
) -> None:
    """A list of names is not a list of documents unless each name is an ID."""
    with program.call() as call:
        program.retrieve(docs["a"], docs["b"])
        call.returns(["a", "somebody"])
    assert program.ids() == ["a", "b"]


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


def test_state_returned_as_given_is_carried(program: Any, docs: Any) -> None:
    """A node that returns the whole state changes nothing."""
    found = program.retrieve(docs["a"], docs["b"])
    state = {"documents": found}
    program.function("node", state, dict(state))
    assert program.ids() == ["a", "b"]


def test_old_state_beside_new(program: Any, docs: Any) -> None:
    """A replaced list that comes back beside a newer one is old state."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        best = program.function("rerank", found, [docs["b"]])
        call.returns({"candidates": found, "best": best})
    assert program.ids() == ["b"]


def test_old_state_alone(program: Any, docs: Any) -> None:
    """A replaced list that is returned alone is the final list."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        program.function("rerank", found, [docs["b"]])
        call.returns(found)
    assert program.ids() == ["a", "b"]


def test_reducer(program: Any, docs: Any) -> None:
    """A list that the framework put together takes the place of its parts."""
    with program.call() as call:
        first = program.retrieve(docs["a"])
        second = program.retrieve(docs["b"], query="q2")
        with program.step("chain", "generate", {"documents": [*first, *second]}) as node:
            node.returns(program.ask(joined([*first, *second])))
        call.returns("x")
    found = program.retrieval()
    assert [context.id for context in found.contexts] == ["a", "b"]
    assert found.ranks is None


def test_two_calls_are_a_union(program: Any, docs: Any) -> None:
    """Several calls that nothing merged: a context's rank is that in its own call."""
    program.retrieve(docs["a"], docs["b"], query="q1")
    program.retrieve(docs["c"], docs["a"], query="q2")
    found = program.retrieval()
    assert [context.id for context in found.contexts] == ["a", "c", "b"]
    assert found.ranks == (1, 1, 2)
    assert found.call_numbers == (1, 2, 1)
    assert all(second >= 0 for second in found.seconds)


def test_retrieving_again_at_the_same_key(program: Any, docs: Any) -> None:
    """A second retrieval that takes the key of the first one replaces it."""
    with program.call() as call:
        first = program.retrieve(docs["a"])
        with program.step("chain", "again", {"documents": first}) as node:
            node.returns({"documents": program.retrieve(docs["b"], query="q2")})
        call.returns("x")
    assert program.ids() == ["b"]


def test_nothing_is_left_at_a_key(program: Any, docs: Any) -> None:
    """An empty list at a key that held documents says that all were dropped."""
    found = program.retrieve(docs["a"])
    program.function("grade", {"documents": found}, {"documents": []})
    assert program.ids() == []


def test_empty_lists_elsewhere_say_nothing(program: Any, docs: Any) -> None:
    """An empty list where no documents were is just an empty list."""
    found = program.retrieve(docs["a"])
    program.function("note", {"documents": found}, {"errors": [], "tags": []})
    assert program.ids() == ["a"]


def test_inner_lists_that_are_not_returned(program: Any, docs: Any) -> None:
    """The list of a retriever made of other retrievers is its own output."""
    with program.step("retriever", "ensemble", query="q") as ensemble:
        first = program.retrieve(docs["a"], docs["b"], name="dense")
        program.retrieve(docs["c"], name="sparse")
        ensemble.returns([first[1]])
    assert program.ids() == ["b"]
    assert [stage.name for stage in program.retrieval().stages] == ["dense", "sparse"]


def test_container_keeps_what_the_prompt_had(program: Any, docs: Any) -> None:
    """A mapping beside lists that a model read does not drop them."""
    with program.call() as call:
        first = program.retrieve(docs["a"])
        second = program.retrieve(docs["b"], query="q2")
        answer = program.ask(joined([*first, *second]))
        call.returns({"answer": answer, "first": first})
    assert sorted(program.ids()) == ["a", "b"]


def test_text_without_a_model_was_handed_on(program: Any, docs: Any) -> None:
    """A tool that returns the text of some of its documents handed on those."""
    with program.step("tool", "lookup", query="q") as tool:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        tool.returns(joined(found[:2]))
    assert program.ids() == ["a", "b"]


def test_an_answer_cuts_nothing(program: Any, docs: Any) -> None:
    """A text after a model read the documents is an answer, even if it quotes one."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        program.ask(joined(found))
        call.returns(f"As the source says: {found[0].text}")
    assert program.ids() == ["a", "b"]


def test_prompt_revives_a_replaced_list(program: Any, docs: Any) -> None:
    """Documents in a model's prompt are the final list, even if a step had replaced them."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        program.function("scores", found, [docs["b"]])
        call.returns(program.ask(joined(found)))
    assert program.ids() == ["a", "b"]


def test_read(program: Any, docs: Any) -> None:
    """The record says of each context whether the prompt had it."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        call.returns(program.ask(f"{found[0].text} {str(found[1].text)[:60]}"))
    assert program.retrieval().read == ("yes", "partly", "no")


def test_a_prompt_inside_a_retriever_is_no_reading(program: Any, docs: Any) -> None:
    """A model that rewrites the query, or ranks, is not the one that answers."""
    with program.step("retriever", "ranked", query="q") as outer:
        found = program.retrieve(docs["a"], docs["b"])
        program.ask(joined(found))
        outer.returns(found[:1])
    record = program.retrieval()
    assert record.read is None
    assert [context.id for context in record.contexts] == ["a"]


def test_prompt_in_json(program: Any) -> None:
    """An escaped text in a prompt is recognized."""
    text = 'First line of it\nsecond "line" of it\nthird line with an é'
    with program.call() as call:
        program.retrieve(Context(text, id="1"))
        call.returns(program.ask(f'[{{"content": "{text.encode("unicode_escape").decode()}"}}]'))
    assert program.retrieval().read == ("yes",)


def test_order_of_threads_changes_nothing(program: Any, docs: Any) -> None:
    """Concurrent calls are ordered by name and query, not by the times of their threads."""
    orders = []
    for names in (["x", "y"], ["y", "x"]):
        each = type(program)()
        with each.call():
            for name in names:
                each.log.begin(name, each.root, "retriever", name, query="q")
            for name in reversed(names):
                each.log.end(name, [docs["a" if name == "x" else "b"]])
        orders.append([call.source for call in each.retrieval().calls])
    assert orders == [["x", "y"], ["x", "y"]]


def test_partial_records_are_unscored(program: Any, docs: Any) -> None:
    """A record that is known to be partial says so instead of a number."""
    program.retrieve(docs["a"])
    assert program.retrieval(partial="spans were dropped").error == "spans were dropped"


def test_an_unknown_option_value(program: Any) -> None:
    """`failed_calls` has two values."""
    with pytest.raises(ValueError, match="failed_calls must be 'unscored' or 'score', got 'x'"):
        StepReading(failed_calls="x")  # type: ignore[arg-type]


def test_a_part_beside_the_whole_is_not_guessed_at(program: Any, docs: Any) -> None:
    """Which of two lists was passed on is unknown, unless a prompt shows it."""
    found = [docs["a"], docs["b"]]
    program.function("search", "q", {"found": found, "kept": found[:1]})
    assert "kept" in (program.retrieval().error or "")
    program.ask(str(found[0].text))
    assert program.ids() == ["a"]


def test_a_part_beside_the_whole_and_a_prompt_of_all(program: Any, docs: Any) -> None:
    """A model that was sent all of it read the whole."""
    found = [docs["a"], docs["b"]]
    program.function("search", "q", {"found": found, "kept": found[:1]})
    program.ask(joined(found))
    assert program.ids() == ["a", "b"]


def test_a_retriever_whose_output_is_no_documents(program: Any) -> None:
    """An output that cannot be read is not an empty list."""
    program.retrieve(7)
    assert program.retrieval().error == "search returned nothing that can be read as documents"


def test_a_retriever_that_has_not_ended(program: Any, docs: Any) -> None:
    """Its output is unknown, and is not read as an empty list."""
    program.retrieve(docs["a"])
    program.log.begin("open", None, "retriever", "slow", query="q")
    assert program.retrieval().error == "slow has not ended"


def test_branches_stand_in_the_order_of_their_construct(program: Any, docs: Any) -> None:
    """Steps that run at once by construction have their places, even if they do not overlap."""
    with program.call():
        program.retrieve(docs["b"], name="second", group="map", branch="y")
        program.retrieve(docs["a"], name="first", group="map", branch="x")
    assert [call.source for call in program.retrieval().calls] == ["first", "second"]


def test_a_step_that_returns_one_of_two_lists(program: Any, docs: Any) -> None:
    """The other list was not passed on, whether or not the lists share documents."""
    for others in (["c"], ["a", "c"]):
        each = type(program)()
        first = each.retrieve(docs["a"], docs["b"], name="dense")
        second = each.retrieve(*(docs[letter] for letter in others), name="sparse")
        each.function("best", {"x": first, "y": second}, first)
        assert each.ids() == ["a", "b"]


def test_branches_that_each_return_one_of_two_lists(program: Any, docs: Any) -> None:
    """A list that one branch drops is kept by the branch that returns it."""
    with program.call() as call:
        first = program.retrieve(docs["a"], name="dense")
        second = program.retrieve(docs["b"], name="sparse")
        both = {"x": first, "y": second}
        with program.step("chain", "branches", both) as branches:
            program.function("x", both, first)
            program.function("y", both, second)
            branches.returns({"one": first, "two": second})
        call.returns("x")
    assert program.ids() == ["a", "b"]


def test_a_function_that_cuts_and_formats(program: Any, docs: Any) -> None:
    """The documents in a function's text were passed on, even if it did not retrieve them."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        text = program.function("format", found, joined(found[:2]))
        call.returns(program.ask(text))
    assert program.ids() == ["a", "b"]


def test_the_three_lists(program: Any, docs: Any) -> None:
    """The retrieved documents, those kept, and those in the prompt."""
    with program.call() as call:
        first = program.retrieve(docs["a"], docs["b"], docs["c"])
        second = program.retrieve(docs["d"], docs["a"], query="q2")
        kept = program.function("rerank", {"x": first, "y": second}, [docs["d"], docs["b"]])
        call.returns(program.ask(joined(kept[:1])))
    found = program.retrieval()
    ids = {
        name: [context.id for context in view.contexts or ()]
        for name in ("retrieved", "contexts", "read")
        if (view := found.view(name)) is not None
    }
    assert ids == {"retrieved": ["a", "d", "b", "c"], "contexts": ["d", "b"], "read": ["d"]}
    assert found.view("retrieved").ranks == (1, 1, 2, 3)
    with pytest.raises(ValueError, match="view must be 'contexts' or 'retrieved' or 'read'"):
        found.view("kept")


def test_a_record_comes_back_from_a_file(program: Any, docs: Any) -> None:
    """With all its lists, each context written once."""
    found = program.retrieve(docs["a"], docs["b"], docs["c"])
    program.function("rerank", found, [docs["c"], docs["a"]])
    record = program.retrieval()
    plain = json.loads(json.dumps(record.to_dict()))
    assert Retrieval.from_dict(plain) == record
    assert [context["id"] for context in plain["dropped"]] == ["b"]


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
    """If all documents of one text lose their IDs, their order gives the IDs."""
    found = program.retrieve(Context("Yes.", id="x"), Context("Yes.", id="y"))
    program.function("number", found, [Context("Yes."), Context("Yes.")])
    assert program.ids() == ["x", "y"]


def test_some_of_several_equal_texts_are_unscored(program: Any) -> None:
    """If only some of them are left, their IDs are unknown."""
    found = program.retrieve(Context("Yes.", id="x"), Context("Yes.", id="y"))
    program.function("drop IDs", found, [Context("Yes.")])
    assert "which of them they are is unknown" in str(program.retrieval().error)


def test_of_equal_texts_those_in_use_are_meant(program: Any) -> None:
    """Documents that a step has dropped do not count as candidates."""
    found = program.retrieve(Context("Yes.", id="x"), Context("Yes.", id="y"))
    kept = program.function("keep the last", found, found[1:])
    program.function("number", [Context("Yes.")], "Source 1", answers=True)
    assert kept
    assert program.ids() == ["y"]


def test_a_document_of_an_equal_text_and_another_id_is_another(program: Any) -> None:
    """A document that no step returned is not the known document with the same text."""
    with program.call():
        program.retrieve(Context("Yes.", id="x"))
        program.function("rerank", [Context("Yes.", id="y")], None)
    record = program.retrieval()
    assert [context.id for context in record.contexts] == ["x"]
    assert record.other_ids == {}


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
    """In their order: they are no calls that each returned one document."""
    with program.call() as call:
        call.returns(form(program.retrieve(docs["a"], docs["b"])[::-1]))
    found = program.retrieval()
    assert [context.id for context in found.contexts] == ["b", "a"]
    assert found.ranks is None


def test_results_with_lists_of_documents_are_calls(program: Any, docs: Any) -> None:
    """A list of answers to several queries is no list of hits, though each found one document."""
    with program.call() as call:
        found = [program.retrieve(docs[each], query=each) for each in "ab"]
        call.returns([{"query": "q", "documents": each} for each in found])
    assert program.retrieval().ranks == (1, 1)


@pytest.mark.parametrize(
    ("name", "ranked"),
    [("transform_documents", "abcd"), ("reorder", "abcd"), ("by_score", "bdca")],
)
def test_a_reordering_of_few_documents_is_known_by_its_name(
    program: Any, docs: Any, name: str, ranked: str
) -> None:
    """Its ranks are those before it; a step of another name that has the same order ranks."""
    found = program.retrieve(*[docs[each] for each in "abcd"])
    program.function(name, found, [docs[each] for each in "bdca"])
    assert program.ids() == list(ranked)


@pytest.mark.parametrize("separate", [True, False])
def test_hits_of_several_queries_are_calls(program: Any, docs: Any, *, separate: bool) -> None:
    """If each was returned alone; those of one list are one list."""
    with program.call() as call:
        lists = [["a"], ["b"]] if separate else [["a", "b"]]
        for number, letters in enumerate(lists):
            program.retrieve(*[docs[each] for each in letters], query=str(number))
        call.returns([[docs["a"]], [docs["b"]]])
    assert program.retrieval().ranks == ((1, 1) if separate else None)


def test_a_list_that_a_cached_step_made_is_known_from_the_next_one(program: Any, docs: Any) -> None:
    """If the state is of this run alone, and its caller was not given the documents."""
    with program.call({"question": "q"}) as call, program.step("chain", "graph", {"question": "q"}):
        state = {"question": "q", "documents": [docs["b"], docs["a"]]}
        program.function("answer", state, {"answer": "x"}, task="answer:1", closed=True)
        call.returns("x")
    assert program.ids() == ["b", "a"]


@pytest.mark.parametrize("closed", [True, False])
def test_a_list_that_was_there_before_was_not_retrieved(
    program: Any, docs: Any, *, closed: bool
) -> None:
    """As in the state of an earlier run, or in the input of the call."""
    state = {"question": "q", "documents": [docs["a"]]}
    with (
        program.call(state if closed else None) as call,
        program.step("chain", "graph", state if closed else None),
    ):
        program.function("answer", state, {"answer": "x"}, task="answer:1", closed=closed)
        call.returns("x")
    assert program.ids() is None


def test_an_empty_artifact_of_a_tool_is_a_search_without_results(program: Any) -> None:
    """It is a list where documents would be; an empty list as the text of a tool says nothing."""
    program.function("search", None, [], kind="tool")
    assert program.ids() is None
    message = {"type": "tool", "content": "", "artifact": []}
    program.function("search", None, message, kind="tool")
    assert program.ids() == []


def test_joined_chunks_of_one_id_are_one_document(program: Any) -> None:
    """At the rank of the first of them, as `id_key` of a source has them."""
    chunks = [
        Context("The last boat leaves at ten past four in winter.", id="times"),
        Context("A bicycle costs three crowns on deck.", id="bicycles"),
        Context("The timetable changes on the first of April.", id="times"),
    ]
    with program.call() as call:
        first, second, third = program.retrieve(*chunks)
        call.returns([Context(f"{first.text}\n{third.text}", id="times"), second])
    assert program.ids() == ["times", "bicycles"]
