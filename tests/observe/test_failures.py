"""A failed step counts against its call unless a retry or fallback recovered it."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.observe import Step
from fullrecall.observe.failures import attempts_of


def test_failed_retriever(program: Any) -> None:
    """A call whose retriever failed is not measured."""
    program.fail()
    found = program.retrieval()
    assert found.contexts is None
    assert found.error == "TimeoutError: down"


def test_one_of_two_stores_is_down(program: Any, docs: Any) -> None:
    """If two stores are searched in a loop with `try`, the second does not recover the first."""
    with program.call() as call:
        program.fail()
        merged = [*program.retrieve(docs["a"], query="q")]
        call.returns(merged)
    assert program.ids() is None
    assert program.ids(failed_calls="score") == ["a"]


def test_fallback_construct(program: Any, docs: Any) -> None:
    """A construct that tries alternatives recovers the failures of the earlier ones."""
    with program.step("chain", "fallbacks", tries=True) as tried:
        program.fail()
        tried.returns(program.retrieve(docs["a"], name="other"))
    assert program.ids() == ["a"]
    assert program.retrieval().line == "1 failed and recovered"


def test_fallback_whose_first_chain_retrieved(program: Any, docs: Any) -> None:
    """Documents retrieved below a failed step are discarded."""
    with program.step("chain", "fallbacks", tries=True) as tried:
        with program.step("chain", "first") as first:
            program.retrieve(docs["a"], docs["b"])
            program.fail("rerank", kind="reranker")
            first.error = "TimeoutError: down"
        tried.returns(program.retrieve(docs["c"], name="other"))
    assert program.ids() == ["c"]


def test_a_fallback_that_failed_too(program: Any, docs: Any) -> None:
    """A construct that failed itself recovers no failure."""
    program.retrieve(docs["a"])
    with program.step("chain", "fallbacks", tries=True) as tried:
        program.fail()
        program.fail("other")
        tried.error = "TimeoutError: down"
    assert program.ids() is None


@pytest.mark.parametrize(
    ("steps", "attempts"),
    [
        ([(2, 3, "q", "down"), (4, 5, "q", None)], 2),
        ([(2, 3, "q", None)], 1),
        ([(2, 4, "q", "down"), (3, 5, "q", None)], 0),
        ([(2, 3, "q", None), (4, 5, "q", None)], 0),
        ([(2, 3, "other", "down"), (4, 5, "q", None)], 0),
        ([(2, 3, "q", "down"), (4, 11, "q", None)], 0),
        ([(4, 5, "q", None), (2, 3, "q", "down")], 2),
        ([(1, 3, "q", None)], 0),
        ([(2, 10, "q", None)], 0),
        ([(2, 3, "q", "down"), (3, 5, "q", None)], 0),
    ],
    ids=[
        "in turn",
        "the first",
        "in parallel",
        "two successes",
        "another query",
        "longer",
        "in any order",
        "begun with it",
        "ended with it",
        "begun with an end",
    ],
)
def test_attempts_beside_fallbacks(steps: list[Any], attempts: int) -> None:
    """Attempts ran in turn, with one query, and only the last one succeeded."""

    def step(began: float, ended: float, query: str, error: str | None) -> Step:
        times = {"began": began, "ended": ended}
        return Step(began, None, "retriever", "search", query=query, error=error, **times)

    beside = [step(*each) for each in steps]
    assert len(attempts_of(step(1, 10, "q", None), beside)) == attempts


def test_failure_beside_a_fallback(program: Any, docs: Any) -> None:
    """A fallback construct does not recover a failure beside it."""
    with program.call() as call:
        with program.step("chain", "fallbacks", tries=True) as tried:
            program.fail()
            tried.returns(program.retrieve(docs["a"], name="other"))
        program.fail("third")
        call.returns("x")
    assert program.ids() is None


def test_hand_written_fallback(program: Any, docs: Any) -> None:
    """A handler that returns another retriever's list recovers the failure before it."""
    with program.call() as call:
        program.fail()
        call.returns(program.retrieve(docs["a"], name="other"))
    assert program.ids() == ["a"]


def test_equal_texts_recover_no_failure(program: Any, docs: Any) -> None:
    """Equal texts recover no failure, since a text may be returned for many reasons."""
    with program.call() as call:
        program.fail()
        text = program.function("format", program.retrieve(docs["a"], name="other"), "text")
        call.returns(text)
    assert program.ids() is None


def test_the_same_unit_of_work(program: Any, docs: Any) -> None:
    """A node that the framework ran again with success did not fail."""
    with program.step("chain", "node", task="node:1") as failed:
        program.retrieve(docs["b"])
        failed.error = "TimeoutError: down"
    with program.step("chain", "node", task="node:1") as again:
        again.returns({"documents": program.retrieve(docs["a"])})
    assert program.ids() == ["a"]


def test_asked_again(program: Any, docs: Any) -> None:
    """A callee that later answered the same query did not fail."""
    program.fail(callee="tool", kind="tool")
    program.retrieve(docs["a"], callee="tool")
    assert program.ids() == ["a"]
    assert program.retrieval().error is None


def test_another_query_is_another_call(program: Any, docs: Any) -> None:
    """An answer to another query does not recover a failure."""
    program.fail(callee="tool", kind="tool", query="q1")
    program.retrieve(docs["a"], callee="tool", query="q2")
    assert program.ids() is None


def test_a_call_that_is_open_or_began_before_the_failure_is_no_retry(
    program: Any, docs: Any
) -> None:
    """Only a call that began after the failure and succeeded recovers it."""
    with program.step("tool", "search", callee="tool", query="q") as slow:
        program.retrieve(docs["a"], callee="tool", query="q", parent=None)
        slow.error = "TimeoutError: down"
    program.log.begin("open", None, "tool", "search", callee="tool", query="q")
    assert program.ids() is None


def test_failed_tool_after_retrieving(program: Any, docs: Any) -> None:
    """A tool that retrieved and then failed passed no documents on."""
    with program.call() as call:
        program.retrieve(docs["b"])
        with program.step("tool", "lookup") as tool:
            program.retrieve(docs["a"])
            tool.error = "handled: not available"
        call.returns("x")
    assert program.ids() is None


def test_failures_that_do_not_retrieve(program: Any, docs: Any) -> None:
    """A model or a function that failed does not concern retrieval."""
    program.retrieve(docs["a"])
    program.fail("parse", kind="chain")
    program.fail("model", kind="llm")
    assert program.ids() == ["a"]


def test_the_call_failed(program: Any, docs: Any) -> None:
    """A call that failed is not measured."""
    with program.call() as call:
        program.retrieve(docs["a"])
        call.error = "ValueError: no"
    assert program.retrieval().error == "ValueError: no"


def test_dark_tool(program: Any, docs: Any) -> None:
    """A tool that returned a text without known documents makes the record partial."""
    program.retrieve(docs["a"])
    program.function("wiki", {"q": "q"}, "Some long text of unknown origin. " * 5, kind="tool")
    assert "'wiki'" in program.retrieval().error
    assert program.ids(other_tools=["wiki"]) == ["a"]


def test_tool_with_a_short_text(program: Any, docs: Any) -> None:
    """A calculator does not retrieve."""
    program.retrieve(docs["a"])
    program.function("calculator", {"q": "1 + 1"}, "2", kind="tool")
    assert program.ids() == ["a"]


def test_tool_that_repeats_known_documents(program: Any, docs: Any) -> None:
    """A tool whose text has documents that are known is not dark."""
    found = program.retrieve(docs["a"], docs["b"])
    text = " ".join(f"{each.text} ({each.id})" for each in found)
    program.function("memory", {"q": "q"}, text, kind="tool")
    assert program.ids() == ["a", "b"]


def test_an_attempt_that_stopped_for_a_human_begins_anew_with_nothing(
    program: Any, docs: Any
) -> None:
    """A node that waits runs again from its beginning, which discards its earlier documents."""
    with program.call():
        for letter in "ab":
            with program.step("chain", "node", task="node:1"):
                program.retrieve(docs[letter])
    assert program.ids() == ["b"]
