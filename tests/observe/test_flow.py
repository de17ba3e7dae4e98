"""The final list of documents of a run follows from its steps, for any framework."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from tests.observe.prompting import joined

from fullrecall import Retrieval
from fullrecall.observe import Step, StepReading
from fullrecall.observe import joined as joined_parts
from fullrecall.observe.handed import Scope
from fullrecall.observe.tree import Tree


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
    """After `assign(docs=rerank)` the list at the key replaces the list it was made from."""
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


def test_state_returned_as_given_is_carried(program: Any, docs: Any) -> None:
    """A node that returns the whole state changes nothing."""
    found = program.retrieve(docs["a"], docs["b"])
    state = {"documents": found}
    program.function("node", state, dict(state))
    assert program.ids() == ["a", "b"]


def test_old_state_beside_new(program: Any, docs: Any) -> None:
    """A replaced list that is returned beside a newer one is ignored as old state."""
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
    """Calls that no step merged are united, and a context's rank is that in its own call."""
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
    """An empty list at a key that held documents means that all were dropped."""
    found = program.retrieve(docs["a"])
    program.function("grade", {"documents": found}, {"documents": []})
    assert program.ids() == []


def test_a_list_that_no_step_answered_from_is_unused(program: Any, docs: Any) -> None:
    """A function that searched twice, and answered from one list, returns only a text."""
    with program.call() as call:
        found = program.retrieve(docs["a"])
        program.retrieve(docs["b"], query="more")
        call.returns(program.function("synthesize", found, "an answer", answers=True))
    assert program.ids() == ["a"]


@pytest.mark.parametrize("update", [{"documents": []}, {}, None])
@pytest.mark.parametrize(
    ("prompt", "ids"), [("{}", "ab"), ("No documents.", ""), (None, None)], ids=["", "none", "-"]
)
def test_tasks_that_return_nothing_may_refuse_their_documents(
    program: Any, docs: Any, update: Any, prompt: str | None, ids: str | None
) -> None:
    """Tasks that were sent one document each refuse it by an empty list; else a prompt decides."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        for number, each in enumerate(found):
            task = f"grade:{number}"
            program.function("grade", {"doc": each}, update, task=task, branch=f"{number:09}")
        if prompt is not None:
            program.ask(prompt.format(" ".join(str(each.text) for each in found)))
        call.returns("an answer")
    expected = [] if update else None
    assert program.ids() == (expected if ids is None else list(ids))


def test_tasks_that_return_a_verdict_refuse_nothing(program: Any, docs: Any) -> None:
    """A number that a task returns says nothing about its document."""
    found = program.retrieve(docs["a"])
    program.function("grade", {"doc": found[0]}, {"score": 0}, task="grade:0", branch="0")
    assert program.ids() == ["a"]


def test_empty_lists_elsewhere_say_nothing(program: Any, docs: Any) -> None:
    """An empty list at a key without documents means nothing."""
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
    """`failed_calls` refuses any value but its two."""
    with pytest.raises(ValueError, match="failed_calls must be 'unscored' or 'score', got 'x'"):
        StepReading(failed_calls="x")  # type: ignore[arg-type]


def test_a_retriever_whose_output_is_no_documents(program: Any) -> None:
    """An output that cannot be read is not an empty list."""
    program.retrieve(7)
    assert program.retrieval().error == "search returned nothing that can be read as documents"


def test_a_retriever_that_has_not_ended(program: Any, docs: Any) -> None:
    """A retriever that has not ended has an unknown output, not an empty list."""
    program.retrieve(docs["a"])
    program.log.begin("open", None, "retriever", "slow", query="q")
    assert program.retrieval().error == "slow has not ended"


def test_a_chain_that_has_not_ended(program: Any, docs: Any) -> None:
    """The documents that were retrieved in an open stream so far are its record."""
    with program.step("chain", "stream"):
        program.retrieve(docs["a"])
        assert program.ids() == ["a"]


def test_branches_stand_in_the_order_of_their_construct(program: Any, docs: Any) -> None:
    """Parallel branches keep the order of their construct, even if they do not overlap."""
    with program.call():
        program.retrieve(docs["b"], name="second", group="map", branch="y")
        program.retrieve(docs["a"], name="first", group="map", branch="x")
    assert [call.source for call in program.retrieval().calls] == ["first", "second"]


def test_a_step_that_returns_one_of_two_lists(program: Any, docs: Any) -> None:
    """If a step returns one of two lists, the other was dropped."""
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


def test_a_record_comes_back_from_a_file(program: Any, docs: Any) -> None:
    """A saved record is read back with all its lists, each context once."""
    found = program.retrieve(docs["a"], docs["b"], docs["c"])
    program.function("rerank", found, [docs["c"], docs["a"]])
    record = program.retrieval()
    plain = json.loads(json.dumps(record.to_dict()))
    assert Retrieval.from_dict(plain) == record
    assert [context["id"] for context in plain["dropped"]] == ["b"]


@pytest.mark.parametrize(
    ("name", "ranked"),
    [("transform_documents", "abcd"), ("reorder", "abcd"), ("by_score", "bdca")],
)
def test_a_reordering_of_few_documents_is_known_by_its_name(
    program: Any, docs: Any, name: str, ranked: str
) -> None:
    """A step with a reranker's name ranks even if the order stays; a reorderer does not."""
    found = program.retrieve(*[docs[each] for each in "abcd"])
    program.function(name, found, [docs[each] for each in "bdca"])
    assert program.ids() == list(ranked)


def test_a_list_that_a_cached_step_made_is_known_from_the_next_one(program: Any, docs: Any) -> None:
    """The list of a cached step is known from the next step, if this run alone had its state."""
    with program.call({"question": "q"}) as call, program.step("chain", "graph", {"question": "q"}):
        state = {"question": "q", "documents": [docs["b"], docs["a"]]}
        program.function("answer", state, {"answer": "x"}, task="answer:1", closed=True)
        call.returns("x")
    assert program.ids() == ["b", "a"]


@pytest.mark.parametrize("closed", [True, False])
def test_a_list_that_was_there_before_was_not_retrieved(
    program: Any, docs: Any, *, closed: bool
) -> None:
    """A list in the state of an earlier run, or in the call's input, was not retrieved."""
    state = {"question": "q", "documents": [docs["a"]]}
    with (
        program.call(state if closed else None) as call,
        program.step("chain", "graph", state if closed else None),
    ):
        program.function("answer", state, {"answer": "x"}, task="answer:1", closed=closed)
        call.returns("x")
    assert program.ids() is None


def test_a_list_that_many_steps_are_given_is_checked_once(
    program: Any, docs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's turns hand on the same list: the checks do not grow with the turns."""
    checks: list[Any] = []
    nearest = Scope.nearest_of_all
    monkeypatch.setattr(
        Scope, "nearest_of_all", lambda self, given: checks.append(given) or nearest(self, given)
    )
    with program.call() as call:
        found = [docs["b"], docs["a"]]
        program.retrieve(docs["a"], docs["b"])
        for turn in range(20):
            program.function(f"turn {turn}", found, "a thought")
        checks_of_ends = 20
        call.returns(found)
    assert program.ids() == ["b", "a"]
    assert len(checks) <= checks_of_ends + 5


def test_a_cut_list_is_no_part_of_another_search(program: Any, docs: Any) -> None:
    """A list that a tool's text has cut counts beside a whole list with the same documents."""
    with program.call():
        program.retrieve(docs["a"], docs["b"], docs["c"])
        with program.step("tool", "lookup", query="q2") as tool:
            found = program.retrieve(docs["c"], docs["a"], docs["b"], query="q2")
            tool.returns(joined(found[:2]))
    assert program.ids() == ["a", "c", "b"]


def test_a_text_beside_old_state_cuts_the_lists_made_inside(program: Any, docs: Any) -> None:
    """A node that returns old state and a text keeps of its own search what the text has."""
    with program.call():
        found = program.retrieve(docs["a"], docs["b"])
        with program.step("chain", "node", {"docs": found}) as node:
            more = program.retrieve(docs["c"], docs["d"], query="q2")
            node.returns({"docs": found, "text": joined(more[:1])})
    assert sorted(program.ids()) == ["a", "b", "c"]


def test_a_step_begins_once_and_ends_after_seconds(program: Any, docs: Any) -> None:
    """A second beginning of the same step is ignored; times count from the first step on."""
    program.retrieve(docs["a"])
    (step,) = program.log.steps
    assert program.log.begin(step.id, None, "tool", "again") is None
    assert program.log.steps == [step]
    assert 0 <= step.seconds < 10


def test_lists_that_were_joined_for_a_prompt_are_ranked_as_in_the_prompt(
    program: Any, docs: Any
) -> None:
    """Documents in a message to a model are one list, which code outside any step has made."""
    first, second = program.retrieve(docs["a"]), program.retrieve(docs["b"])
    with program.step("llm", "model", prompt=[{"artifact": [*second, *first]}]) as model:
        model.returns("an answer")
    assert program.ids() == ["b", "a"]


def test_a_search_without_a_readable_list_is_unscored_unless_a_step_around_it_has_one(
    program: Any, docs: Any
) -> None:
    """The output of the whole call does not replace a search's unreadable list."""
    with program.call() as call:
        with program.step("retriever", "outer") as outer:
            program.function("inner", None, None, kind="retriever")
            found = outer.returns([docs["a"]])
        assert program.ids() == ["a"]
        program.function("other", None, None, kind="retriever")
        call.returns(found)
    assert program.retrieval().error == "other returned nothing that can be read as documents"


def test_a_node_that_returns_nothing_leaves_the_documents(program: Any, docs: Any) -> None:
    """Only a task that was sent a single retrieved document refuses it by returning nothing."""
    found = program.retrieve(docs["a"])
    program.function("node", found, None, task="node:1")
    program.function("sent another", [docs["e"]], None, task="node:2", branch="0")
    assert program.ids() == ["a"]


def test_a_prompt_of_a_retriever_is_not_that_of_the_answer(program: Any, docs: Any) -> None:
    """A model inside a retriever, which selects documents, does not read them for the answer."""
    with program.step("retriever", "selecting") as outer:
        found = program.retrieve(docs["a"], docs["b"])
        program.ask(str(docs["a"].text))
        outer.returns(found)
    assert program.retrieval().read is None
    program.ask(f"{docs['a'].text} {docs['b'].text}")
    assert program.retrieval().read == ("yes", "yes")


def test_a_task_that_failed_and_began_again_was_not_refused(program: Any, docs: Any) -> None:
    """Only an attempt that stopped without an error may have asked a human, who refused a tool."""
    with program.call():
        with program.step("chain", "node", task="node:1") as failed:
            failed.error = "TimeoutError: down"
        with program.step("chain", "node", task="node:1"), program.step("tool", "search") as tool:
            program.retrieve(docs["a"])
            tool.returns("refused")
    assert "whether any of them was used is unknown" in program.retrieval().error


@pytest.mark.parametrize("rooted", [True, False])
def test_a_replaced_list_that_is_sent_to_a_model_is_in_use_again(
    program: Any, docs: Any, *, rooted: bool
) -> None:
    """A prompt with a dropped document has the list before, within a call or a block of calls."""
    with program.call() if rooted else contextlib.nullcontext():
        found = program.retrieve(docs["a"], docs["b"])
        program.function("rerank", found, found[:1])
        program.ask(f"{docs['a'].text} {docs['b'].text}")
        assert program.ids() == ["a", "b"]
        program.function("rerank", found, found[1:])
    assert program.ids() == ["b"]


def test_a_step_is_not_its_own_caller() -> None:
    """Steps that began at once call neither each other nor themselves, whatever a trace says."""
    steps = [Step(1, 1, "chain", "a", began=1), Step(2, 1, "chain", "b", began=1)]
    tree = Tree(steps)
    assert [tree.parent(step) for step in steps] == [None, None]


@pytest.mark.parametrize(
    ("parts", "whole"),
    [(["a", "b"], "ab"), (["a", 1], ["a", 1]), ([1], 1), ([], [])],
)
def test_the_parts_of_a_stream(parts: list[Any], whole: Any) -> None:
    """Texts are joined; a single part is the output, and no part is no text."""
    assert joined_parts(parts) == whole


def test_searches_without_documents_are_among_the_calls_in_order(program: Any, docs: Any) -> None:
    """A search that found nothing before another one is the first call."""
    program.function("search", None, "nothing", kind="tool")
    program.function("search", None, [docs["a"]], kind="tool")
    assert [call.contexts for call in program.retrieval().calls] == [None, (docs["a"],)]
