"""Samples put to a retriever: several at a time, in their order, each failure its own.

One algorithm says what is asked, waited for, and handed on; one driver waits in a thread, the other
in an event loop. A call is a task of an event loop, or runs in a thread of a pool. What cannot
leave the thread that made it, such as an SQLite connection, is noticed by what it raises, and
called there from then on.
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
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import perf_counter
from typing import Any, TypeAlias

from anyio.from_thread import BlockingPortal, start_blocking_portal

from fullrecall.retrieval import Retrieval, Retriever
from fullrecall.run.interruption import Interruption
from fullrecall.run.retrievers import (
    as_retrieval,
    belongs_elsewhere,
    failed,
    is_asynchronous,
    is_thread_bound,
)
from fullrecall.sample import Sample

_GRACE_SECONDS = 5.0
"""What a loop gets to cancel its tasks: something that blocks it ends with the program."""


class ThreadBoundError(Exception):
    """Raised in place of what says that an object belongs to another thread."""

    def __init__(self, retrieval: Retrieval) -> None:
        super().__init__(retrieval.error)
        self.retrieval = retrieval


@dataclass(slots=True, eq=False)
class _Call:
    """One call under way, since when, and in which thread of the pool, if in one."""

    sample: Sample
    future: Any = field(default_factory=Future)
    worker: _Worker | None = None
    began: float = field(default_factory=time.monotonic)

    def left(self, bound: float | None) -> float | None:
        """Return the seconds that are left of `bound`, not below 0."""
        return None if bound is None else max(0.0, self.began + bound - time.monotonic())


class _Calls(ABC):
    """Where calls are made."""

    def room(self, most: int, *, is_first: bool) -> int:  # noqa: ARG002 - some go alone at first
        """Return how many calls may be under way; `is_first` as long as none has returned."""
        return most

    @abstractmethod
    def start(self, sample: Sample) -> _Call | None:
        """Start a call; None for one that is to be made in the caller's own thread."""

    @abstractmethod
    def again(self, call: _Call) -> _Call | None:
        """Start a call again that is bound to another thread, as those that follow will be."""

    @abstractmethod
    def close(self) -> None:
        """Give up what is under way."""


_End: TypeAlias = "Exception | None"
_Outcome: TypeAlias = "Retrieval | Exception | None"
_Step: TypeAlias = "Sample | _Call | None"
"""A sample to hand on, a call to wait for, or None to draw the next sample."""
_Steps: TypeAlias = Generator[_Step, Any, None]


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
        items = iter(samples)
        beside = is_asynchronous(self.retriever)
        calls: _Calls = _Tasks(self._aask, _Loop()) if beside else _Threads(self._ask)
        steps = self._steps(calls)
        answer: _Outcome | Sample = None
        try:
            while not self.interruption.asked:
                step = steps.send(answer)
                if isinstance(step, Sample):
                    yield step
                    answer = None
                elif step is None:
                    answer = _drawn(items)
                else:
                    with self.interruption.waiting():
                        answer = _result(step, step.left(self._bound()))
        except StopIteration:
            return
        finally:
            calls.close()

    async def aasked(
        self, samples: Iterable[Sample] | AsyncIterable[Sample]
    ) -> AsyncGenerator[Sample]:
        """Yield the same as `asked`, without blocking the event loop.

        A sync function is asked in threads; one that cannot leave its thread, in the loop's.
        """
        items = _asynchronous(samples)
        in_threads = getattr(self.retriever, "in_threads", False)
        calls: _Calls = _Threads(self._ask) if in_threads else _Tasks(self._aask)
        steps = self._steps(calls)
        answer: _Outcome | Sample = None
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, Sample):
                    yield step
                    answer = None
                elif step is None:
                    answer = await _adrawn(items)
                else:
                    answer = await _aresult(step, step.left(self._bound()))
        except StopIteration:
            return
        finally:
            calls.close()
            await items.aclose()

    def _steps(self, calls: _Calls) -> _Steps:
        """Yield what is to be done next; receive what came of it."""
        pending: deque[tuple[Sample, _Call | None, bool]] = deque()
        is_over, is_first, error = False, True, None
        while True:
            room = calls.room(self.max_concurrency, is_first=is_first)
            while not is_over and len(pending) < room:
                sample = yield None
                if isinstance(sample, Sample):
                    is_asked = sample.user_input is not None and self.seconds_left() != 0
                    call = calls.start(sample) if is_asked else None
                    pending.append((sample, call, is_asked))
                else:
                    is_over, error = True, sample
            if not pending:
                break
            sample, call, is_asked = pending[0]
            retrieval = (yield from self._outcome(calls, sample, call)) if is_asked else None
            is_first &= not is_asked
            pending.popleft()
            yield _with(sample, retrieval)
        if error is not None:
            raise error

    def _outcome(
        self, calls: _Calls, sample: Sample, call: _Call | None
    ) -> Generator[_Step, Any, Retrieval]:
        """Return what a call returned, wherever it can be made."""
        while call is not None:
            outcome = yield call
            if isinstance(outcome, Retrieval):
                return outcome
            if outcome is None:
                if call.worker is not None:
                    call.worker.is_stuck = True
                return _late(self._bound())
            call = calls.again(call)
        try:
            return self._ask(sample)
        except ThreadBoundError as error:
            return error.retrieval

    def _bound(self) -> float | None:
        bounds = (self.timeout, self.seconds_left())
        return min((bound for bound in bounds if bound is not None), default=None)

    def _ask(self, sample: Sample) -> Retrieval:
        began = perf_counter()
        try:
            retrieval = as_retrieval(self.retriever.retrieve(sample), sample)
            is_bound = is_thread_bound(retrieval)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            retrieval, is_bound = failed(error), belongs_elsewhere(str(error))
        if is_bound:
            raise ThreadBoundError(retrieval)
        return _timed(retrieval, began)

    async def _aask(self, sample: Sample) -> Retrieval:
        bound, began = self._bound(), perf_counter()
        limit = asyncio.timeout(bound)
        try:
            async with limit:
                retrieval = as_retrieval(await self.retriever.aretrieve(sample), sample)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            return _late(bound) if limit.expired() else failed(error)
        if is_thread_bound(retrieval) and not is_asynchronous(self.retriever):
            raise ThreadBoundError(retrieval)
        return _timed(retrieval, began)


def _timed(retrieval: Retrieval, began: float) -> Retrieval:
    """Return a record with the seconds of its call.

    Calls wait for each other where several run at once: `max_concurrency=1` measures one by one.
    """
    return retrieval.lasting(perf_counter() - began)


# --- waiting, in a thread and in an event loop


def _result(call: _Call, seconds: float | None) -> _Outcome:
    """Return what a call returned, None where it is late."""
    try:
        retrieval: Retrieval = call.future.result(None if call.worker is None else seconds)
    except ThreadBoundError as error:
        return error
    except TimeoutError:
        return None
    return retrieval


async def _aresult(call: _Call, seconds: float | None) -> _Outcome:
    """Return the same, in an event loop."""
    future = call.future if call.worker is None else asyncio.wrap_future(call.future)
    # A wait, unlike a timeout around it, cancels nothing that a thread is about to set.
    await asyncio.wait([future], timeout=None if call.worker is None else seconds)
    if not future.done():
        return None
    try:
        retrieval: Retrieval = future.result()
    except ThreadBoundError as error:
        return error
    return retrieval


def _drawn(items: Iterator[Sample]) -> Sample | _End:
    """Return the next sample, None at the end, or what ended it."""
    try:
        return next(items, None)
    except Exception as error:  # noqa: BLE001 - raised again, once it is its turn
        return error


async def _adrawn(items: AsyncIterator[Sample]) -> Sample | _End:
    """Return the same, in an event loop."""
    try:
        return await anext(items, None)
    except Exception as error:  # noqa: BLE001 - raised again, once it is its turn
        return error


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
            some = await loop.run_in_executor(thread, copy_context().run, _drawn, items)
            if some is None:
                return
            if isinstance(some, Exception):
                raise some
            yield some


def _with(sample: Sample, retrieval: Retrieval | None) -> Sample:
    if retrieval is not None:
        return sample.with_retrieval(retrieval)
    if sample.user_input is None:
        return sample.with_retrieval(Retrieval(error="the sample has no user_input to ask"))
    return sample.with_retrieval(Retrieval(error="the run's deadline passed before it was asked"))


def _late(bound: float | None) -> Retrieval:
    """Return what a call that took longer than `bound` seconds makes of its sample."""
    return Retrieval(error=f"TimeoutError: no answer within {bound:.3g} seconds")


# --- where calls are made


class _Loop:
    """An event loop in a thread beside the caller's, until it is closed."""

    def __init__(self) -> None:
        self._context: AbstractContextManager[BlockingPortal] = start_blocking_portal(
            name="fullrecall retriever"
        )
        self.portal = self._context.__enter__()

    def close(self) -> None:
        """Cancel what is under way, and end the loop."""

        def end() -> None:
            self._context.__exit__(None, None, None)

        closing = threading.Thread(target=end, daemon=True)
        closing.start()
        closing.join(_GRACE_SECONDS)


class _Tasks(_Calls):
    """Calls that are tasks, bounded by themselves, of the running event loop or of one beside it.

    A task may run a sync retriever in a thread of its own. One that is thread-bound is called
    again in the loop's, and so are all that follow.
    """

    def __init__(
        self, function: Callable[[Sample], Awaitable[Retrieval]], loop: _Loop | None = None
    ) -> None:
        self._function = function
        self._loop = loop
        self._is_bound = False
        self._futures: set[Any] = set()

    def start(self, sample: Sample) -> _Call | None:
        """Start a task."""
        if self._is_bound:
            return None
        if self._loop is None:
            future: Any = asyncio.ensure_future(self._function(sample))
        else:
            future = self._loop.portal.start_task_soon(self._function, sample)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return _Call(sample, future)

    def again(self, call: _Call) -> _Call | None:  # noqa: ARG002 - as others need it
        """Leave the call, and all that follow, to the caller's thread."""
        self._is_bound = True
        return None

    def close(self) -> None:
        """Cancel the tasks."""
        for future in tuple(self._futures):
            future.cancel()
        if self._loop is not None:
            self._loop.close()


class _Worker:
    """A thread that makes one call after the other, and ends with the program at the latest."""

    def __init__(self, function: Callable[[Sample], Retrieval], idle: list[_Worker]) -> None:
        self._function = function
        self._idle = idle
        self._queue: SimpleQueue[tuple[Any, _Call] | None] = SimpleQueue()
        self.is_stuck = False
        threading.Thread(target=self._run, name="fullrecall retriever", daemon=True).start()

    def put(self, call: _Call | None) -> None:
        """Have this call made, in the caller's context; None ends the thread."""
        if call is not None:
            call.worker = self
        self._queue.put(None if call is None else (copy_context(), call))

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
        self._thread_choice = "any"

    def room(self, most: int, *, is_first: bool) -> int:
        """Return how many calls may be under way: one until the first has returned."""
        return 1 if is_first or self._thread_choice != "any" else most

    def start(self, sample: Sample) -> _Call | None:
        """Start a call in a thread."""
        if self._thread_choice == "own":
            return None
        call = _Call(sample)
        worker = self._workers[0] if self._thread_choice == "first" else self._free()
        worker.put(call)
        return call

    def again(self, call: _Call) -> _Call | None:
        """Start a call again in the first thread, or leave it to the caller's own."""
        first = self._workers[0]
        self._thread_choice = "own" if call.worker is first or first.is_stuck else "first"
        return self.start(call.sample)

    def close(self) -> None:
        """End the threads, each once its call has returned."""
        for worker in self._workers:
            worker.put(None)

    def _free(self) -> _Worker:
        if self._idle:
            return self._idle.pop()
        self._workers.append(_Worker(self._function, self._idle))
        return self._workers[-1]
