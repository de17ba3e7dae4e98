"""Where a retriever is called: in threads, in tasks of the running loop, or in a loop beside it.

What cannot leave the thread that made it, such as an SQLite connection, is noticed by what it
raises, and called there from then on.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from fullrecall.retrieval import Retrieval
from fullrecall.sample import Sample

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


def late(bound: float | None) -> Retrieval:
    """Return what a call that took longer than `bound` seconds makes of its sample."""
    return Retrieval(error=f"TimeoutError: no answer within {bound:.3g} seconds")


@dataclass(slots=True, eq=False)
class PendingCall:
    """One call under way: in which thread, if in one, and since when."""

    sample: Sample
    worker: _Worker | None = None
    future: Any = field(default_factory=Future)
    began: float = field(default_factory=time.monotonic)

    def left(self, bound: float | None) -> float | None:
        """Return the seconds that are left of `bound`, not below 0."""
        return None if bound is None else max(0.0, self.began + bound - time.monotonic())


class CallPlace(ABC):
    """A way in which calls are made."""

    def room(self, most: int) -> int:
        """Return how many calls may be under way."""
        return most

    @abstractmethod
    def start(self, sample: Sample) -> PendingCall:
        """Start a call, which raises nothing."""

    @abstractmethod
    def close(self) -> None:
        """Give up what is under way."""


class InTasks(CallPlace):
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

    def start(self, sample: Sample) -> PendingCall:
        """Start a task, or leave the call to the loop's own thread."""
        if self._is_bound:
            return PendingCall(sample)
        task = asyncio.create_task(self._function(sample))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return PendingCall(sample, future=task)

    async def afinish(self, call: PendingCall, bound: float | None) -> Retrieval:  # noqa: ARG002
        """Return what a task returns."""
        if isinstance(call.future, asyncio.Task):
            found: Retrieval = await call.future
            if self._here is None or not is_thread_bound(found):
                return found
            self._is_bound = True
        assert self._here is not None  # noqa: S101 - only then is a call left to it
        try:
            return self._here(call.sample)
        except ThreadBoundError as error:
            return error.found

    def close(self) -> None:
        """Cancel the tasks."""
        for task in tuple(self._tasks):
            task.cancel()


class InLoopThread(CallPlace):
    """Calls that are awaited in one event loop, in a thread beside the caller's."""

    def __init__(self, function: Callable[[Sample], Any]) -> None:
        self._function = function
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def start(self, sample: Sample) -> PendingCall:
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
        return PendingCall(sample, future=future)

    def finish(self, call: PendingCall, bound: float | None) -> Retrieval:  # noqa: ARG002
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


class ThreadBoundError(Exception):
    """Raised in place of what says that an object belongs to another thread."""

    def __init__(self, found: Retrieval) -> None:
        super().__init__(found.error)
        self.found = found


class _Worker:
    """A thread that makes one call after the other, and ends with the program at the latest."""

    def __init__(self, function: Callable[[Sample], Retrieval], idle: list[_Worker]) -> None:
        self._function = function
        self._idle = idle
        self._queue: SimpleQueue[tuple[Any, PendingCall] | None] = SimpleQueue()
        self.is_stuck = False
        threading.Thread(target=self._run, name="fullrecall retriever", daemon=True).start()

    def put(self, call: PendingCall) -> None:
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


class InThreads(CallPlace):
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

    def start(self, sample: Sample) -> PendingCall:
        """Start a call in a thread; one for the caller's own thread is made when it is finished."""
        call = PendingCall(sample)
        if self._place == "first":
            self._workers[0].put(call)
        elif self._place == "any":
            self._free().put(call)
        return call

    def finish(self, call: PendingCall, bound: float | None) -> Retrieval:
        """Return what a call returned; after `bound` seconds, that it is late."""
        while call.worker is not None:
            try:
                return self._done(call.future.result(call.left(bound)))
            except TimeoutError:
                return self._done(self._given_up(call.worker, bound))
            except ThreadBoundError:
                call = self._again(call)
        return self._here(call.sample)

    async def afinish(self, call: PendingCall, bound: float | None) -> Retrieval:
        """Return the same as `finish`, without blocking where it goes on in a thread."""
        while call.worker is not None:
            future = asyncio.wrap_future(call.future)
            # A wait, unlike a timeout around it, cancels nothing that a thread is about to set.
            await asyncio.wait([future], timeout=call.left(bound))
            if not future.done():
                return self._done(self._given_up(call.worker, bound))
            try:
                return self._done(future.result())
            except ThreadBoundError:
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
        return late(bound)

    def _again(self, call: PendingCall) -> PendingCall:
        first = self._workers[0]
        self._place = "own" if call.worker is first or first.is_stuck else self._place
        if self._place == "any":
            self._place = "first"
        return self.start(call.sample)

    def _here(self, sample: Sample) -> Retrieval:
        try:
            return self._function(sample)
        except ThreadBoundError as error:
            return error.found
