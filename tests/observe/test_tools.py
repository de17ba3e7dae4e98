"""Documents in the results of tools, and tools that do not retrieve."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fullrecall.errors import ParameterError
from fullrecall.observe import StepLog, StepReading, ValueReader
from fullrecall.observe.conventions import number_of_task
from fullrecall.observe.messages import hands_over
from fullrecall.observe.tools import hits_in

A, B = {"id": "a", "text": "About a."}, {"id": "b", "text": "About b."}
PLAN = "Search the guide for the tower, then compare the prices of both museums by hand."


@pytest.mark.parametrize(
    "result",
    [
        [A, B],
        {"results": [A, B], "took": 3},
        {"data": {"hits": [{"_id": "a", "_source": {"text": "x"}}, {"_id": "b", "score": 1}]}},
        [{"url": "a", "content": "x", "title": "T"}, {"link": "b", "snippet": "y"}],
        {"matches": [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.1}]},
        [{"type": "text", "text": json.dumps({"documents": [A, B]})}],
        {"content": [{"type": "text", "text": json.dumps([A, B])}], "isError": False},
        {"content": [{"type": "text", "text": "2 hits"}], "structuredContent": {"hits": [A, B]}},
        [{"lc": 1, "id": ["langchain", "Document"], "kwargs": each} for each in (A, B)],
        f"{json.dumps(A)}\n{json.dumps(B)}",
        "[Hit(id='a', text='About a.', score=1.0), Hit(id='b', text='About b.', score=0.5)]",
    ],
    ids=[
        *("list", "envelope", "nested", "web", "scores", "blocks", "protocol", "structured"),
        *("dumped", "lines", "printed"),
    ],
)
def test_hits_of_any_usual_form_are_documents(result: Any) -> None:
    """Hits in each usual form are documents, as values or as JSON text."""
    for form in (result, result if isinstance(result, str) else json.dumps(result)):
        assert [hit.id for hit in hits_in(form) or ()] == ["a", "b"]


@pytest.mark.parametrize(
    "result",
    [
        "The tower was finished in 1892.",
        "[search(id='a', text='b')]",
        "[Search(id='a', text=b)]",
        [{"content": "Search", "status": "pending"}],
        [{"id": 1, "name": "Ada", "balance": 3}],
        [{"role": "user", "content": "x", "id": "1"}],
        {"answer": 42},
        {"data": []},
        [],
        [A, "a note"],
        12,
    ],
)
def test_anything_else_is_no_list_of_hits(result: Any) -> None:
    """Plans, rows, messages, numbers, and calls in a text are no hits."""
    assert hits_in(result) is None


def test_an_empty_envelope_is_a_search_that_found_nothing(program: Any) -> None:
    """An empty envelope is a search without results, which is scored."""
    program.function("kb", "q", json.dumps({"results": []}), kind="tool", query="q")
    assert program.ids() == []


@pytest.mark.parametrize("form", [lambda each: each, json.dumps])
def test_a_tool_of_hits_retrieved_them(program: Any, form: Any) -> None:
    """A tool that returns hits retrieved them, in order, for any name of the tool."""
    output = form({"results": [{**A, "title": "A"}, {**B, "title": "B"}]})
    program.function("kb", "q", output, kind="tool", query="q")
    assert program.ids() == ["a", "b"]


def test_a_function_of_the_user_reads_other_results(program: Any) -> None:
    """A user's function reads the tool of its name instead of the built-in reading."""
    program.function("kb", "q", "a;b " + "words " * 40, kind="tool", query="q")
    assert program.ids() is None
    read = {"kb": lambda result: result.split(" ")[0].split(";")}
    assert program.ids(tool_documents=read) == ["a", "b"]


def test_a_function_of_the_user_may_find_no_document(program: Any) -> None:
    """A user's function that finds no document says that the tool searched."""
    program.function("kb", "q", "Nothing.", kind="tool", query="q")
    assert program.ids() is None
    assert program.ids(tool_documents={"kb": lambda _: []}) == []


def test_a_function_that_fails_leaves_the_sample_unscored(program: Any) -> None:
    """A function that fails leaves the sample unscored, and the reason names the tool."""
    program.function("kb", "q", "x", kind="tool", query="q")
    with pytest.raises(Exception, match=r"tool_documents\['kb'\]: ZeroDivisionError"):
        program.retrieval(tool_documents={"kb": lambda _: 1 / 0})
    with pytest.raises(ParameterError, match="tool_documents"):
        StepReading(tool_documents={"kb": 1})  # type: ignore[dict-item]


def test_a_tool_that_returns_the_words_of_its_caller_retrieved_nothing(
    program: Any, docs: Any
) -> None:
    """A tool whose text comes from its arguments or a model's answer retrieved nothing."""
    program.retrieve(docs["a"])
    todos = [{"id": 1, "text": PLAN, "done": False}]
    program.function("write_todos", None, json.dumps(todos), kind="tool", query=repr(todos))
    with program.step("tool", "expert", query="who?") as expert:
        expert.returns(program.ask("who?", answer=f"The answer is: {PLAN} " * 2))
    program.function("read_file", None, f"1 {PLAN}\n2 {PLAN}", kind="tool", query="plan.md")
    assert program.ids() == ["a"]


def test_a_tool_of_unknown_text_leaves_the_sample_unscored(program: Any, docs: Any) -> None:
    """A tool whose text does not come from its caller leaves the sample unscored."""
    program.retrieve(docs["a"])
    program.function("kb", None, "Unknown words of a document. " * 9, kind="tool", query="words")
    assert "returned text of which no document is known: 'kb'" in program.retrieval().error
    assert program.ids(other_tools=["kb"]) == ["a"]


def test_a_tool_that_searches_nothing_may_fail(program: Any, docs: Any) -> None:
    """`other_tools` excuses a tool that does not search, even if it fails."""
    program.retrieve(docs["a"])
    program.fail("weather", kind="tool")
    assert program.ids() is None
    assert program.ids(other_tools=["weather"]) == ["a"]


@pytest.mark.parametrize("used", [True, False])
def test_a_tool_that_withholds_what_it_retrieved(program: Any, docs: Any, *, used: bool) -> None:
    """Documents that a tool retrieved and did not return count only if a model gets them later."""
    with program.call() as call:
        program.retrieve(docs["a"])
        with program.step("tool", "search") as tool:
            program.retrieve(docs["b"])
            tool.returns("No.")
        call.returns(program.ask(f"{docs['a'].text} {docs['b'].text if used else 'No.'}"))
    error = program.retrieval().error
    assert error is None if used else "search returned a text without the documents" in error


def test_a_tool_that_sums_up_what_its_model_read_is_not_unknown(program: Any, docs: Any) -> None:
    """A summarizing tool's documents are known from its model's prompt."""
    with program.step("tool", "research", query="q") as tool:
        found = program.retrieve(docs["a"])
        program.ask(docs["a"].text, answer="noted")
        tool.returns("A summary in words of its own. " * 10)
    assert found
    assert program.ids() == ["a"]


def test_a_hand_off_of_llama_index_in_a_trace() -> None:
    """LlamaIndex's hand-off is known by its arguments, whatever text the tool returns."""
    handoff = {"tool_name": "handoff", "raw_input": {"kwargs": {"to_agent": "b", "reason": "c"}}}
    assert hands_over(handoff)
    assert not hands_over({**handoff, "raw_input": {"kwargs": {"query": "b"}}})


@pytest.mark.parametrize(
    ("path", "number"),
    [
        (("__pregel_push", 3), "000000003"),
        (("__pregel_push", ("__pregel_pull", "search"), 12, True), "000000012"),
        (("__pregel_push", "a", "b", 3), ""),
        (("__pregel_push", True), ""),
        (("__pregel_pull", 3), ""),
        ((), ""),
        (None, ""),
    ],
)
def test_parallel_tasks_are_ordered_by_their_number(path: object, number: str) -> None:
    """Parallel tasks are ordered by the number after their mark, or in the path of their sender."""
    assert number_of_task(path) == number


def test_a_streamed_step_began_before_the_steps_that_it_called() -> None:
    """A step whose input is known only at its end counts as begun just before its calls."""
    log = StepLog(ValueReader())
    log.begin("outer", None, "chain", "outer")
    log.begin("inner", "outer", "chain", "inner")
    log.begin("search", "inner", "retriever", "search", "q")
    log.begin("later", None, "chain", "later")
    for name in ("search", "inner", "outer"):
        log.end(name, "text", given=None if name == "search" else {"key": "value"})
    log.end("later", "text", given={"key": "value"})
    began = {step.name: step.began for step in log.steps}
    assert sorted(began, key=began.__getitem__) == ["outer", "inner", "search", "later"]
    assert len(set(began.values())) == 4
    assert began["later"] > log.steps[0].ended
