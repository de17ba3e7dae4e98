"""What can be a retriever, for how many contexts it is asked, and which errors are its thread's."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fullrecall import Context, Retrieval, Sample
from fullrecall.errors import InputError, ParameterError
from fullrecall.run.retrievers import (
    DEFAULT_K,
    as_retrieval,
    as_retriever,
    checked_thread,
    failed,
    takes_k,
)
from fullrecall.samples.calls import Call

ASKED = Sample(user_input="why?", reference_context_ids=["a"])


class Own:
    """A retriever by the protocol, which is also a function of the question and k."""

    asynchronous = False

    def retrieve(self, sample: Sample) -> Retrieval:
        """Return one context."""
        return Retrieval([Context(id=sample.user_input)])

    async def aretrieve(self, sample: Sample) -> Retrieval:
        """Return one context."""
        return self.retrieve(sample)

    def __call__(self, question: str, k: int) -> Retrieval:
        """Return k contexts."""
        return Retrieval([Context(id=f"{question}{n}") for n in range(k)])


@pytest.mark.parametrize(
    ("retriever", "options", "message"),
    [
        (Own, {}, "retriever must be an instance, got the class Own: pass Own(…)"),
        ("app:search", {}, "got 'app:search': import the function, and pass it itself"),
        (3, {}, "a function of the question, got 3: pass its method that searches"),
        (Own(), {"id_key": "n"}, "id_key is for functions: give it to observed(…), or to yours"),
        (Own(), {"id_key": 3}, "id_key must be"),
    ],
)
def test_what_is_no_retriever(retriever: Any, options: dict[str, Any], message: str) -> None:
    """An error shows what was passed, and what to pass instead."""
    with pytest.raises(ParameterError, match=re.escape(message)):
        as_retriever(retriever, **options)


def required(question: str, n: int) -> list[str]:
    """Return as many IDs as required."""
    return [question] * n


def named(question: str, top_k: int = 4) -> list[str]:
    """Return four IDs, or as many as asked for."""
    return [question] * top_k


def positional(question: str, k: int, /) -> list[str]:
    """Return as many IDs as required."""
    return [question] * k


def keyword(question: str, *, k: int = 2) -> list[str]:
    """Return two IDs, or as many as asked for."""
    return [question] * k


def none(question: str, filters: str = "") -> list[str]:
    """Return one ID."""
    return [question + filters]


def untyped(question: str, depth):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return as many IDs as asked for; only a k tells what the parameter means."""
    return [question] * depth


@pytest.mark.parametrize(
    ("function", "alone", "with_k", "takes"),
    [
        (required, DEFAULT_K, 7, True),
        (named, 4, 7, True),
        (positional, DEFAULT_K, 7, True),
        (keyword, 2, 7, True),
        (none, 1, 1, False),
        (untyped, None, 7, True),
    ],
)
def test_the_number_of_contexts(function: Any, alone: int | None, with_k: int, takes: bool) -> None:  # noqa: FBT001
    """A function is asked for k contexts if it takes a number, and for ten if it requires one."""
    if alone is not None:
        assert len(as_retriever(function).retrieve(ASKED).contexts or ()) == alone
    assert len(as_retriever(function, k=7).retrieve(ASKED).contexts or ()) == with_k
    assert takes_k(function) == takes


def test_the_number_of_contexts_of_a_retriever_that_can_be_called() -> None:
    """A retriever that can be called is asked for k; without k, by its own method."""
    assert len(as_retriever(Own()).retrieve(ASKED).contexts or ()) == 1
    assert len(as_retriever(Own(), k=3).retrieve(ASKED).contexts or ()) == 3

    class Fixed(Own):
        def __call__(self, question: str, k: int) -> Retrieval:
            raise ParameterError("takes no k", "k")

    assert len(as_retriever(Fixed(), k=3).retrieve(ASKED).contexts or ()) == 1


@pytest.mark.parametrize(
    ("error", "is_bound"),
    [
        ("SQLite objects created in a thread can only be used in that same thread", True),
        ("signal only works in main thread of the main interpreter", True),
        ("There is no current event loop in thread 'x'.", True),
        ("Cannot switch to a different thread", True),
        ("cannot switch to a different thread", True),
        ("down", False),
    ],
)
def test_errors_of_another_thread(error: str, is_bound: bool) -> None:  # noqa: FBT001
    """A call that failed because of its thread has no contexts, and the error says what to do."""
    way = " (open it in the function that is asked)" if is_bound else ""
    retrieval = checked_thread(failed(RuntimeError(error)))
    assert retrieval.error == f"RuntimeError: {error}{way}"
    contexts = [Context(id="of the fallback")]
    inner = Call("first", query="q", error=error)
    record = Retrieval(contexts, calls=[Call("both", query="q", children=(inner,))])
    checked = checked_thread(record)
    assert (checked.error, checked.contexts) == (
        (f"{error}{way}", None) if is_bound else (None, tuple(contexts))
    )


def test_errors_are_short() -> None:
    """The message of an exception is cut; that of an `InputError` has no name."""
    assert failed(InputError("no question")).error == "no question"
    assert len(failed(RuntimeError("x" * 999)).error or "") <= 320


def test_results_that_cannot_be_read() -> None:
    """An awaitable means that a function was not declared as asynchronous."""

    async def late() -> list[str]:
        return []

    with pytest.raises(InputError, match="retriever returned an awaitable: declare it with async"):
        as_retrieval(late())
    assert as_retrieval(["a"], ASKED).contexts == (Context(id="a"),)
    assert as_retrieval(["a"]).contexts == (Context("a"),)
