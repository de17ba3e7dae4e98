"""What may be asked as a retriever, and what becomes of what it returns or raises."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from typing import Any, TypeAlias

from fullrecall.errors import InputError, ParameterError
from fullrecall.hits import contexts_of
from fullrecall.identifiers import shown
from fullrecall.retrieval import Retrieval, Retriever
from fullrecall.sample import Sample

RetrieverLike: TypeAlias = Retriever | Callable[[str], Any] | Callable[[str], Awaitable[Any]]
"""A `Retriever`, or a function of the question, sync or async, that returns what was retrieved:
texts, mappings, `Context`s, a `Retrieval`, or another library's results."""


def as_retriever(retriever: object) -> Retriever:
    """Return a retriever, or a function of the question as one.

    Raises `ParameterError` for anything else.
    """
    if isinstance(retriever, type):
        raise ParameterError(
            f"retriever must be an instance, got the class {retriever.__name__}: "
            f"pass {retriever.__name__}(…)"
        )
    if isinstance(retriever, Retriever):
        return retriever
    if callable(retriever):
        return FunctionRetriever(retriever)
    hint = ""
    module = type(retriever).__module__
    if module.startswith("langchain"):
        hint = ": pass langchain_fullrecall.observed(…)"
    elif module.startswith("llama_index"):
        hint = ": pass llama_index.evaluation.fullrecall.observed(…)"
    raise ParameterError(
        f"retriever must be a Retriever or a function of the question, got {shown(retriever)}{hint}"
    )


class FunctionRetriever:
    """A function of the question as a retriever: sync or async, or an object with `__call__`."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self._function = function
        called = getattr(function, "func", function)  # functools.partial
        self.asynchronous = iscoroutinefunction(called) or iscoroutinefunction(
            getattr(called, "__call__", None)  # noqa: B004 - of an instance
        )

    def retrieve(self, sample: Sample) -> Retrieval:
        """Return what the function returns for the sample's question."""
        return as_retrieval(self._function(_question(sample)))

    async def aretrieve(self, sample: Sample) -> Retrieval:
        """Return the same; a sync function runs in a thread."""
        if not self.asynchronous:
            return await asyncio.to_thread(self.retrieve, sample)
        found = self._function(_question(sample))
        return as_retrieval(await found if isawaitable(found) else found)


def as_retrieval(found: object) -> Retrieval:
    """Return what a retriever returned as a `Retrieval`; raise `InputError` for what cannot be.

    That is also what has to be awaited: the function was not seen to be asynchronous.
    """
    if isinstance(found, Retrieval):
        return found
    if isawaitable(found):
        if iscoroutine(found):
            found.close()
        raise InputError("retriever returned an awaitable: declare it with async def")
    return Retrieval(contexts_of(found))


def is_asynchronous(retriever: Retriever) -> bool:
    """Return whether a retriever is to be awaited."""
    return bool(getattr(retriever, "asynchronous", False))


def failed(error: BaseException) -> Retrieval:
    """Return what an exception of a retriever makes of its sample."""
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    text = " ".join(f"{kind}{error}".split())
    return Retrieval(error=text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


_LONGEST = 300
"""Characters of an exception's message that a reason shows."""


def _question(sample: Sample) -> str:
    assert sample.user_input is not None  # noqa: S101 - samples without one are not asked
    return sample.user_input


_THREAD_BOUND = (
    "created in a thread can only be used in that same thread",  # sqlite3
    "only works in main thread",  # signal
    "no current event loop in thread",  # asyncio.get_event_loop
    "Cannot switch to a different thread",  # greenlet: Playwright's and SQLAlchemy's sync APIs
    "cannot switch to a different thread",
)
"""What libraries raise where an object is used in another thread than its own."""


def is_thread_bound(found: Retrieval | Iterable[Any]) -> bool:
    """Return whether a call failed for an object that belongs to another thread.

    An adapter records what a call raised; a fallback that answered in its place changes nothing.
    """
    if not isinstance(found, Retrieval):
        return False  # contexts alone, which a retriever may return, tell of no failure
    errors = [found.error, *(call.error for root in found.calls for call in root.walk())]
    return any(error is not None and belongs_elsewhere(error) for error in errors)


def belongs_elsewhere(error: str) -> bool:
    """Return whether an error says that an object belongs to another thread."""
    return any(sign in error for sign in _THREAD_BOUND)
