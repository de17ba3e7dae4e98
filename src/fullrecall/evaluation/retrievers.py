"""Samples put to a retriever: several at a time, in their order, each failure its own.

A retriever is asked in threads, or awaited in one event loop. What cannot leave the thread that
made it, such as an SQLite connection, is noticed by what it raises, and asked there from then on.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from queue import SimpleQueue
from typing import Any, TypeAlias

from fullrecall.errors import InputError, ParameterError
from fullrecall.evaluation.interruption import Interruption
from fullrecall.hits import contexts_of
from fullrecall.identifiers import shown
from fullrecall.retrieval import Retrieval, Retriever
from fullrecall.sample import Sample

RetrieverLike: TypeAlias = Retriever | Callable[[str], Any] | Callable[[str], Awaitable[Any]]
"""A `Retriever`, or a function of the question, sync or async, that returns what was retrieved:
texts, mappings, `Context`s, a `Retrieval`, or another library's results."""

_THREAD_BOUND = (
    "created in a thread can only be used in that same thread",  # sqlite3
    "only works in main thread",  # signal
    "no current event loop in thread",  # asyncio.get_event_loop
    "Cannot switch to a different thread",  # greenlet: Playwright's and SQLAlchemy's sync APIs
    "cannot switch to a different thread",
)
"""What libraries raise where an object is used in another thread than its own."""


@dataclass(frozen=True)
class Asker:
    """How samples are put to a retriever: several at once, each within `timeout` seconds.

    `seconds_left` tells how long the run may go on; past that, samples are not asked. Nor are they
    after an `interruption`, which waits for no call that is under way.
    """

    retriever: Retriever
    max_concurrency: int = 16
    timeout: float | None = None
    seconds_left: Callable[[], float | None] = lambda: None
    interruption: Interruption = field(default_factory=Interruption)

    def asked(self, samples: Iterable[Sample]) -> Generator[Sample]:
        """Yield the samples, in order, with what was retrieved, or why there is nothing.

        What `samples` raises is raised once everything before it was yielded.
        """
        calls: _Threads | _LoopThread
        calls = _LoopThread(self._aask) if _is_async(self.retriever) else _Threads(self._ask)
        items, ended = iter(samples), None
        pending: deque[tuple[Sample, _Call | None]] = deque()
        try:
            while True:
                while ended is None and len(pending) < calls.room(self.max_concurrency):
                    try:
                        sample = next(items)
                    except Exception as end:  # noqa: BLE001 - raised again, once it is its turn
                        ended = end
                    else:
                        pending.append((sample, self._started(calls, sample)))
                if not pending:
                    break
                sample, call = pending.popleft()
                with self.interruption.waiting():
                    found = self._finished(calls, call)
                if self.interruption.asked:
                    return
                yield _with(sample, found)
        finally:
            calls.close()
        if ended is not None and not isinstance(ended, StopIteration):
            raise ended

    async def aasked(
        self, samples: Iterable[Sample] | AsyncIterable[Sample]
    ) -> AsyncGenerator[Sample]:
        """Yield the same as `asked`, without blocking the event loop.

        A sync function is asked in threads; one that cannot leave its thread, in the loop's.
        """
        sync = isinstance(self.retriever, FunctionRetriever) and not _is_async(self.retriever)
        here = None if _is_async(self.retriever) else self._ask
        calls: _Threads | _Tasks = _Threads(self._ask) if sync else _Tasks(self._aask, here)
        items, ended = _asynchronous(samples), None
        pending: deque[tuple[Sample, _Call | None]] = deque()
        try:
            while True:
                while ended is None and len(pending) < calls.room(self.max_concurrency):
                    try:
                        sample = await anext(items)
                    except Exception as end:  # noqa: BLE001 - raised again, once it is its turn
                        ended = end
                    else:
                        pending.append((sample, self._started(calls, sample)))
                if not pending:
                    break
                sample, call = pending[0]
                found = None if call is None else await calls.afinish(call, self._bound())
                pending.popleft()
                yield _with(sample, found)
        finally:
            calls.close()
            await items.aclose()
        if ended is not None and not isinstance(ended, StopAsyncIteration):
            raise ended

    def _started(self, calls: _Calls, sample: Sample) -> _Call | None:
        if sample.user_input is None or self.seconds_left() == 0:
            return None
        return calls.start(sample)

    def _finished(self, calls: _Threads | _LoopThread, call: _Call | None) -> Retrieval | None:
        if call is None or self.interruption.asked:
            return None
        return calls.finish(call, self._bound())

    def _bound(self) -> float | None:
        bounds = (self.timeout, self.seconds_left())
        return min((bound for bound in bounds if bound is not None), default=None)

    def _ask(self, sample: Sample) -> Retrieval:
        try:
            found = self.retriever.retrieve(sample)
            is_bound = _is_thread_bound(found)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            found, is_bound = failed(error), _belongs_elsewhere(str(error))
        if is_bound:
            raise _ThreadBoundError(found)
        return found

    async def _aask(self, sample: Sample) -> Retrieval:
        bound = self._bound()
        limit = asyncio.timeout(bound)
        try:
            async with limit:
                return await self.retriever.aretrieve(sample)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            return _late(bound) if limit.expired() else failed(error)


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


def _is_thread_bound(found: Retrieval) -> bool:
    """Return whether a call failed for an object that belongs to another thread.

    An adapter records what a call raised; a fallback that answered in its place changes nothing.
    """
    errors = [found.error, *(call.error for root in found.calls for call in root.walk())]
    return any(error is not None and _belongs_elsewhere(error) for error in errors)


def _belongs_elsewhere(error: str) -> bool:
    return any(sign in error for sign in _THREAD_BOUND)


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


def _with(sample: Sample, found: Retrieval | None) -> Sample:
    if found is not None:
        return sample.with_retrieval(found)
    if sample.user_input is None:
        return sample.with_retrieval(Retrieval(error="the sample has no user_input to ask"))
    return sample.with_retrieval(Retrieval(error="the run's deadline passed before it was asked"))


def _late(bound: float | None) -> Retrieval:
    return Retrieval(error=f"TimeoutError: no answer within {bound:.3g} seconds")


@dataclass(slots=True, eq=False)
class _Call:
    """One call under way: in which thread, if in one, and since when."""

    sample: Sample
    worker: _Worker | None = None
    future: Any = field(default_factory=Future)
    began: float = field(default_factory=time.monotonic)

    def left(self, bound: float | None) -> float | None:
        """Return the seconds that are left of `bound`, not below 0."""
        return None if bound is None else max(0.0, self.began + bound - time.monotonic())


class _Calls(ABC):
    """A way in which calls are made."""

    def room(self, most: int) -> int:
        """Return how many calls may be under way."""
        return most

    @abstractmethod
    def start(self, sample: Sample) -> _Call:
        """Start a call, which raises nothing."""

    @abstractmethod
    def close(self) -> None:
        """Give up what is under way."""


class _Tasks(_Calls):
    """Calls that are tasks of the running event loop, bounded by themselves.

    A task may run a sync retriever in a thread of its own. A call that is thread-bound is made
    again in the loop's, by `here`, and so are all that follow; without `here` it has failed.
    """

    def __init__(
        self, function: Callable[[Sample], Any], here: Callable[[Sample], Retrieval] | None
    ) -> None:
        self._function = function
        self._here = here
        self._is_bound = False
        self._tasks: set[asyncio.Task[Retrieval]] = set()

    def start(self, sample: Sample) -> _Call:
        """Start a task, or leave the call to the loop's own thread."""
        if self._is_bound:
            return _Call(sample)
        task = asyncio.create_task(self._function(sample))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return _Call(sample, future=task)

    async def afinish(self, call: _Call, bound: float | None) -> Retrieval:  # noqa: ARG002
        """Return what a task returns."""
        if isinstance(call.future, asyncio.Task):
            found: Retrieval = await call.future
            if self._here is None or not _is_thread_bound(found):
                return found
            self._is_bound = True
        assert self._here is not None  # noqa: S101 - only then is a call left to it
        try:
            return self._here(call.sample)
        except _ThreadBoundError as error:
            return error.found

    def close(self) -> None:
        """Cancel the tasks."""
        for task in tuple(self._tasks):
            task.cancel()


class _LoopThread(_Calls):
    """Calls that are awaited in one event loop, in a thread beside the caller's."""

    def __init__(self, function: Callable[[Sample], Any]) -> None:
        self._function = function
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def start(self, sample: Sample) -> _Call:
        """Start a task in the loop, in the caller's context."""
        context = copy_context()
        future: Future[Retrieval] = Future()

        def begin() -> None:
            task = self._loop.create_task(self._function(sample), context=context)
            task.add_done_callback(end)

        def end(task: asyncio.Task[Retrieval]) -> None:
            cancelled = task.cancelled()
            future.set_result(_CANCELLED if cancelled else task.result())

        self._loop.call_soon_threadsafe(begin)
        return _Call(sample, future=future)

    def finish(self, call: _Call, bound: float | None) -> Retrieval:  # noqa: ARG002
        """Return what a call returns; it is bounded by itself."""
        found: Retrieval = call.future.result()
        return found

    def close(self) -> None:
        """Cancel what is under way, and end the loop."""
        ending = asyncio.run_coroutine_threadsafe(_cancelled(), self._loop)
        try:
            ending.result(_GRACE)
        except TimeoutError:
            return  # something blocks the loop: it ends with the program
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_GRACE = 5.0
"""Seconds that a loop gets to cancel its tasks."""

_CANCELLED = Retrieval(error="the call was cancelled")


async def _cancelled() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


class _ThreadBoundError(Exception):
    """Raised in place of what says that an object belongs to another thread."""

    def __init__(self, found: Retrieval) -> None:
        super().__init__(found.error)
        self.found = found


class _Worker:
    """A thread that makes one call after the other, and ends with the program at the latest."""

    def __init__(self, function: Callable[[Sample], Retrieval], idle: list[_Worker]) -> None:
        self._function = function
        self._idle = idle
        self._queue: SimpleQueue[tuple[Any, _Call] | None] = SimpleQueue()
        self.is_stuck = False
        threading.Thread(target=self._run, name="fullrecall retriever", daemon=True).start()

    def put(self, call: _Call) -> None:
        """Have this call made, in the caller's context."""
        call.worker = self
        self._queue.put((copy_context(), call))

    def end(self) -> None:
        """End the thread once its calls are made."""
        self._queue.put(None)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            context, call = item
            try:
                call.future.set_result(context.run(self._function, call.sample))
            except BaseException as error:  # noqa: BLE001 - a SystemExit, too, is the caller's
                call.future.set_exception(error)
            self.is_stuck = False
            self._idle.append(self)
            del item, context, call


class _Threads(_Calls):
    """Calls in threads, as many as are under way.

    The first call goes alone: what a retriever makes when it is first used may belong to that
    thread. A call that is thread-bound is made again in the first thread, then in the caller's
    own; all that follow are made there.
    """

    def __init__(self, function: Callable[[Sample], Retrieval]) -> None:
        self._function = function
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._place = "any"
        self._is_warm = False

    def room(self, most: int) -> int:
        """Return how many calls may be under way: one until the first has returned."""
        return most if self._is_warm and self._place == "any" else 1

    def start(self, sample: Sample) -> _Call:
        """Start a call in a thread; one for the caller's own thread is made when it is finished."""
        call = _Call(sample)
        if self._place == "first":
            self._workers[0].put(call)
        elif self._place == "any":
            self._free().put(call)
        return call

    def finish(self, call: _Call, bound: float | None) -> Retrieval:
        """Return what a call returned; after `bound` seconds, that it is late."""
        while call.worker is not None:
            try:
                return self._done(call.future.result(call.left(bound)))
            except TimeoutError:
                return self._done(self._given_up(call.worker, bound))
            except _ThreadBoundError:
                call = self._again(call)
        return self._here(call.sample)

    async def afinish(self, call: _Call, bound: float | None) -> Retrieval:
        """Return the same as `finish`, without blocking where it goes on in a thread."""
        while call.worker is not None:
            future = asyncio.wrap_future(call.future)
            # A wait, unlike a timeout around it, cancels nothing that a thread is about to set.
            await asyncio.wait([future], timeout=call.left(bound))
            if not future.done():
                return self._done(self._given_up(call.worker, bound))
            try:
                return self._done(future.result())
            except _ThreadBoundError:
                call = self._again(call)
        return self._here(call.sample)

    def close(self) -> None:
        """End the threads, each once its call has returned."""
        for worker in self._workers:
            worker.end()

    def _free(self) -> _Worker:
        if self._idle:
            return self._idle.pop()
        self._workers.append(_Worker(self._function, self._idle))
        return self._workers[-1]

    def _done(self, found: Retrieval) -> Retrieval:
        self._is_warm = True
        return found

    def _given_up(self, worker: _Worker, bound: float | None) -> Retrieval:
        worker.is_stuck = True
        return _late(bound)

    def _again(self, call: _Call) -> _Call:
        first = self._workers[0]
        self._place = "own" if call.worker is first or first.is_stuck else self._place
        if self._place == "any":
            self._place = "first"
        return self.start(call.sample)

    def _here(self, sample: Sample) -> Retrieval:
        try:
            return self._function(sample)
        except _ThreadBoundError as error:
            return error.found


async def _asynchronous(
    samples: Iterable[Sample] | AsyncIterable[Sample],
) -> AsyncGenerator[Sample]:
    """Yield samples; what reads an iterable does so in one thread beside the loop."""
    if isinstance(samples, AsyncIterable):
        async for sample in samples:
            yield sample
        return
    items: Iterator[Sample] = iter(samples)
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="fullrecall samples") as thread:
        while True:
            some = await loop.run_in_executor(thread, copy_context().run, _next, items)
            if some is None:
                return
            yield some


def _next(items: Iterator[Sample]) -> Sample | None:
    return next(items, None)


def _is_async(retriever: Retriever) -> bool:
    return bool(getattr(retriever, "asynchronous", False))
