"""Convert functions and frameworks to `Retriever`s, and their results to `Retrieval`s."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterable, Awaitable, Callable
from importlib import import_module
from inspect import (
    Parameter,
    isasyncgenfunction,
    isawaitable,
    iscoroutine,
    iscoroutinefunction,
    signature,
)
from typing import Any, TypeAlias

from fullrecall._util.values import shown
from fullrecall.errors import InputError, ParameterError
from fullrecall.observe.failures import brief
from fullrecall.samples.hits import contexts_of
from fullrecall.samples.id_keys import IdKey, check_id_key
from fullrecall.samples.retrieval import Retrieval, Retriever
from fullrecall.samples.sample import Sample

RetrieverLike: TypeAlias = Retriever | Callable[..., Any] | Callable[..., Awaitable[Any]]
"""A function of the question, and of `k` if it takes one, sync or async; a `Retriever`; or a
framework's retriever. It returns the retrieved contexts: IDs, texts, (id, text) or (id, score),
mappings, `Context`s, a `Retrieval`, rows of a database, or another library's results. A parameter
`history` gets the messages before the question, from `metadata["history"]`."""

DEFAULT_K = 100
"""The number of contexts that a function is asked for if it requires `k`."""

_K_NAME = re.compile("(.*_)?k|topk|limit|depth|count|n|size|(n|num|max)_results")
"""The names of a function's parameter for the number of contexts to return."""

_ADAPTERS = {
    "langchain": ("langchain_fullrecall", "langchain-fullrecall"),
    "langgraph": ("langchain_fullrecall", "langchain-fullrecall"),
    "llama_index": ("llama_index.evaluation.fullrecall", "llama-index-evaluation-fullrecall"),
}
"""The adapter of each framework: its module and its distribution."""


def as_retriever(
    retriever: object, *, k: int | None = None, id_key: IdKey | None = None
) -> Retriever:
    """Return a `Retriever` for a function, a framework's retriever, or a `Retriever`.

    - `k`: the number of contexts to ask for. It is passed to a function with a parameter named `k`
      or similarly, or with a required second parameter, and to an adapter's `observed(…)`. Default:
      the retriever's own number.
    - `id_key`: where to find the ID (see `IdKey`) in each context that a function or a framework's
      retriever returns.

    Raises `ParameterError` for any other object.
    """
    check_id_key(id_key)
    if isinstance(retriever, type):
        raise ParameterError(
            f"must be an instance, got the class {retriever.__name__}: "
            f"pass {retriever.__name__}(…)",
            "retriever",
        )
    framework = _framework_of(retriever)
    if framework is not None:
        retriever, id_key = _observed(retriever, framework, id_key), None
    if isinstance(retriever, Retriever):
        if id_key is not None:
            raise ParameterError("id_key is for functions: give it to observed(…), or to yours")
        return retriever if k is None or not callable(retriever) else _WithDepth(retriever, k)
    if callable(retriever):
        return FunctionRetriever(retriever, k, id_key)
    raise ParameterError(
        f"must be a Retriever or a function of the question, got {shown(retriever)}: "
        f"{_ADDRESS if isinstance(retriever, str) else 'pass its method that searches'}",
        "retriever",
    )


_ADDRESS = "import the function, and pass it itself"


def _framework_of(retriever: object) -> str | None:
    """Return the framework of a retriever's class or of a base class, or None if there is none."""
    # Recognize a framework by the name of the class's module, so that it need not be imported.
    for kind in type(retriever).__mro__:
        for framework, (adapter, _) in _ADAPTERS.items():
            if kind.__module__.startswith(framework) and not kind.__module__.startswith(adapter):
                return framework
    return None


def _observed(retriever: object, framework: str, id_key: IdKey | None) -> Any:
    module, distribution = _ADAPTERS[framework]
    try:
        observed = import_module(module).observed
    except ImportError:
        raise ParameterError(
            f"{type(retriever).__name__} needs the adapter of its framework: pip install "
            f"{distribution}, or pass a function of the question"
        ) from None
    return observed(retriever) if id_key is None else observed(retriever, id_key=id_key)


class FunctionRetriever:
    """A retriever that calls a function with the question: sync, async, or any callable object.

    If the function takes a number of contexts, `k` is passed. If it requires the number and `k` is
    None, `DEFAULT_K` is passed.
    """

    def __init__(
        self, function: Callable[..., Any], k: int | None = None, id_key: IdKey | None = None
    ) -> None:
        self._function = function
        self._id_key = id_key
        self._more, self._named = _depth_arguments(function, k)
        self.takes_k = bool(self._more or self._named)
        self._takes_history = takes_history(function)
        self.asynchronous = is_awaited(function)

    def retrieve(self, sample: Sample) -> Retrieval:
        """Return the function's result for the sample's question, as a `Retrieval`."""
        return as_retrieval(self._called(sample), sample, self._id_key)

    async def aretrieve(self, sample: Sample) -> Retrieval:
        """Return the result of `retrieve`; a sync function runs in a thread."""
        if not self.asynchronous:
            return await asyncio.to_thread(self.retrieve, sample)
        result = self._called(sample)
        if isinstance(result, AsyncIterable):
            result = [context async for context in result]
        elif isawaitable(result):
            result = await result
        return as_retrieval(result, sample, self._id_key)

    def _called(self, sample: Sample) -> Any:
        named = {"history": history_of(sample)} if self._takes_history else {}
        return self._function(asked_of(sample), *self._more, **self._named, **named)


def is_awaited(function: Callable[..., Any]) -> bool:
    """Return whether a function, or an object that can be called, is asynchronous."""
    called = getattr(function, "func", function)  # a functools.partial
    kinds = (called, getattr(called, "__call__", None))  # noqa: B004 - of an instance
    return any(iscoroutinefunction(each) or isasyncgenfunction(each) for each in kinds)


def asked_of(sample: Sample) -> str:
    """Return a sample's question; raise `InputError` for a sample without one."""
    if sample.user_input is None:
        raise InputError("the sample has no user_input to ask", field="user_input")
    return sample.user_input


def history_of(sample: Sample) -> list[Any]:
    """Return the messages of a sample's conversation before its question."""
    history = sample.metadata.get("history")
    return list(history) if isinstance(history, (list, tuple)) else []


def takes_history(function: Callable[..., Any]) -> bool:
    """Return whether a function has a parameter for the conversation before its question."""
    return any(each.name == "history" and each.kind in _NAMED for each in _options_of(function))


_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
"""The kinds of parameters that can be passed by name."""


def _options_of(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function after the first one, the question."""
    try:
        return list(signature(function).parameters.values())[1:]
    except (TypeError, ValueError):  # Some C functions have no signature.
        return []


class _WithDepth:
    """A callable `Retriever`, such as an adapter's, called as `(question, k)` with a fixed `k`."""

    def __init__(self, retriever: Any, k: int) -> None:
        self._retriever = retriever
        self._k = k
        self.asynchronous = is_asynchronous(retriever)

    def retrieve(self, sample: Sample) -> Retrieval:
        """Return the retrieval for the sample, with `k` contexts if the retriever accepts `k`."""
        try:
            return as_retrieval(self._retriever(sample.user_input, self._k), sample)
        except ParameterError:  # the retriever takes no `k`
            return as_retrieval(self._retriever.retrieve(sample), sample)

    async def aretrieve(self, sample: Sample) -> Retrieval:
        """Return the result of `retrieve`, without blocking the event loop."""
        try:
            result = await asyncio.to_thread(self._retriever, sample.user_input, self._k)
        except ParameterError:
            result = await self._retriever.aretrieve(sample)
        return as_retrieval(result, sample)


def takes_k(retriever: object) -> bool:
    """Return whether a retriever may accept the number of contexts to return.

    False only for a function without a parameter for it.
    """
    adapted = as_retriever(retriever, k=DEFAULT_K)
    return not isinstance(adapted, FunctionRetriever) or adapted.takes_k


def _depth_arguments(
    function: Callable[..., Any], k: int | None
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Return the arguments, by position and by name, that ask a function for `k` contexts."""
    parameters = _options_of(function)
    for parameter in parameters:
        is_required = parameter.default is Parameter.empty
        # In a module with `from __future__ import annotations`, the annotation is the text "int".
        means_k = is_required and (k is not None or parameter.annotation in (int, "int"))
        if not _K_NAME.fullmatch(parameter.name) and not means_k:
            continue
        if parameter.kind is Parameter.POSITIONAL_ONLY and parameter is parameters[0]:
            return (k or DEFAULT_K,), {}
        if parameter.kind in _NAMED:
            return (), {parameter.name: k or DEFAULT_K} if k is not None or is_required else {}
    return (), {}


def as_retrieval(
    result: object, sample: Sample | None = None, id_key: IdKey | None = None
) -> Retrieval:
    """Return a retriever's result as a `Retrieval`; raise `InputError` if it cannot be read.

    Strings that look like IDs are IDs if `sample` has reference IDs. An awaitable cannot be read;
    it means that the function was not recognized as asynchronous.
    """
    if isinstance(result, Retrieval):
        return result
    if isawaitable(result) or isinstance(result, AsyncIterable):
        if iscoroutine(result):
            # Close the coroutine; otherwise Python would warn that it was never awaited.
            result.close()
        raise InputError("retriever returned an awaitable: declare it with async def")
    names_ids = sample is not None and sample.reference_context_ids is not None
    return Retrieval(contexts_of(result, id_key=id_key, strings_are_ids=names_ids))


def is_asynchronous(retriever: Retriever) -> bool:
    """Return whether a retriever must be awaited."""
    return bool(getattr(retriever, "asynchronous", False))


def failed(error: BaseException) -> Retrieval:
    """Return a `Retrieval` whose error is the exception of a retriever."""
    return Retrieval(error=brief(str(error) if isinstance(error, InputError) else error, _LONGEST))


_LONGEST = 300
"""The most characters of an exception's message in an error."""


_THREAD_BOUND = (
    "created in a thread can only be used in that same thread",  # sqlite3
    "only works in main thread",  # signal
    "no current event loop in thread",  # asyncio.get_event_loop
    "annot switch to a different thread",  # greenlet: Playwright's and SQLAlchemy's sync APIs
)
"""Parts of libraries' messages if an object is used outside the thread that created it."""


def is_thread_bound(error: str | None) -> bool:
    """Return whether a call failed because an object belongs to another thread."""
    return error is not None and any(sign in error for sign in _THREAD_BOUND)


def checked_thread(retrieval: Retrieval) -> Retrieval:
    """Return the retrieval; if a call failed because of its thread, return only its error.

    In the thread that created the retriever's objects, the call would have succeeded, and no
    fallback would have been asked. So the documents of a fallback are not scored.
    """
    errors = [retrieval.error, *(call.error for root in retrieval.calls for call in root.walk())]
    for error in errors:
        if is_thread_bound(error):
            return Retrieval(error=f"{error} (open it in the function that is asked)")
    return retrieval
