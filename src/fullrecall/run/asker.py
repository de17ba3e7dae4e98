"""Samples put to a retriever: several at a time, in their order, each failure its own.

One algorithm says what is asked, waited for, and handed on; one driver waits in a thread, the other
in an event loop. A call is made in a thread of its own, or is a task of an event loop. What cannot
leave the thread that made it, such as an SQLite connection, is noticed by what it raises, and
called there from then on.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter
from typing import Any, NamedTuple, TypeAlias

from fullrecall.models.transport import Portal
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


class _Outcome(NamedTuple):
    """What came of a call: `is_bound` where it is to be made in another thread."""

    retrieval: Retrieval
    is_bound: bool = False


@dataclass(eq=False)
class _Call:
    """A call under way; one in a thread has a `worker`, and may take up to `bound` seconds."""

    future: Future[_Outcome | BaseException]
    worker: _Worker | None = None
    bound: float | None = None
    began: float | None = None
    """When its thread began with it; None before."""

    @property
    def seconds_left(self) -> float | None:
        """How long it may go on; None without a limit."""
        if self.bound is None:
            return None
        now = monotonic()
        return max(0.0, (self.began or now) + self.bound - now)

    def given_up(self) -> _Outcome:
        """Return what comes of it after its last second; its thread is not to be waited for."""
        assert self.worker is not None  # noqa: S101 - a task of a loop ends itself
        assert self.bound is not None  # noqa: S101 - the same
        self.worker.is_stuck = True
        return _Outcome(_late(self.bound))


_Step: TypeAlias = "Sample | _Call | None"
"""A sample to hand on, a call to wait for, or None to draw the next sample."""
_Steps: TypeAlias = Generator[_Step, Any, None]
_Start: TypeAlias = "Callable[[Callable[..., Coroutine[Any, Any, Any]], Sample], Future[Any]]"
"""Starts a coroutine function with a sample in an event loop."""


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
        items, portal = iter(samples), Portal()
        calls = _Calls(self, portal.start, in_threads=not is_asynchronous(self.retriever))
        steps = self._steps(calls)
        answer: Any = None
        try:
            while not self.interruption.is_asked:
                step = steps.send(answer)
                if isinstance(step, Sample):
                    yield step
                    answer = None
                elif step is None:
                    answer = _drawn(items)
                else:
                    answer = _waited_for(step, self.interruption)
        except StopIteration:
            return
        finally:
            portal.close(_GRACE_SECONDS)
            calls.close()

    async def aasked(
        self, samples: Iterable[Sample] | AsyncIterable[Sample]
    ) -> AsyncGenerator[Sample]:
        """Yield the same as `asked`, without blocking the event loop.

        A sync function is asked in threads; one that cannot leave its thread, in the loop's.
        """
        items, loop = _asynchronous(samples), asyncio.get_running_loop()
        in_threads = getattr(self.retriever, "in_threads", False)

        def start(call: Callable[..., Coroutine[Any, Any, Any]], sample: Sample) -> Future[Any]:
            return asyncio.run_coroutine_threadsafe(call(sample), loop)

        calls = _Calls(self, start, in_threads=in_threads)
        steps = self._steps(calls)
        answer: Any = None
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, Sample):
                    yield step
                    answer = None
                elif step is None:
                    answer = await _adrawn(items)
                else:
                    answer = await _awaited(step)
        except StopIteration:
            return
        finally:
            calls.close()
            await items.aclose()

    def bound(self) -> float | None:
        """Return the seconds that a call which starts now may take."""
        bounds = (self.timeout, self.seconds_left())
        return min((bound for bound in bounds if bound is not None), default=None)

    def ask(self, sample: Sample) -> _Outcome:
        """Ask in this thread."""
        began = perf_counter()
        try:
            retrieval = as_retrieval(self.retriever.retrieve(sample), sample)
            is_bound = is_thread_bound(retrieval)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            return _Outcome(failed(error), belongs_elsewhere(str(error)))
        return _Outcome(_timed(retrieval, began), is_bound)

    async def aask(self, sample: Sample) -> _Outcome:
        """Ask in this event loop."""
        bound, began = self.bound(), perf_counter()
        limit = asyncio.timeout(bound)
        try:
            async with limit:
                retrieval = as_retrieval(await self.retriever.aretrieve(sample), sample)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            return _Outcome(_late(bound) if limit.expired() else failed(error))
        is_bound = is_thread_bound(retrieval) and not is_asynchronous(self.retriever)
        return _Outcome(_timed(retrieval, began), is_bound)

    def _steps(self, calls: _Calls) -> _Steps:
        """Yield what is to be done next; receive what came of it.

        The first call in a thread goes alone: what a retriever makes when it is first used may
        belong to that thread.
        """
        pending: deque[tuple[Sample, bool, _Call | None]] = deque()
        is_over, error = False, None
        while True:
            while not is_over and len(pending) < (self.max_concurrency if calls.go_along else 1):
                sample = yield None
                if isinstance(sample, Sample):
                    is_asked = sample.user_input is not None and self.seconds_left() != 0
                    call = calls.start(sample) if is_asked else None
                    pending.append((sample, is_asked, call))
                else:
                    is_over, error = True, sample
            if not pending:
                break
            sample, is_asked, call = pending[0]
            outcome = None
            while call is not None:
                outcome = yield call
                if isinstance(outcome, BaseException):
                    raise outcome
                call = calls.again(sample, call) if outcome.is_bound else None
            if is_asked and (outcome is None or outcome.is_bound):
                outcome = self.ask(sample)
            pending.popleft()
            yield _with(sample, None if outcome is None else outcome.retrieval)
        if error is not None:
            raise error


def _timed(retrieval: Retrieval, began: float) -> Retrieval:
    """Return a record with the seconds of its call.

    Calls wait for each other where several run at once: `max_concurrency=1` measures one by one.
    """
    return retrieval.lasting(perf_counter() - began)


def _drawn(items: Iterator[Sample]) -> Sample | Exception | None:
    """Return the next sample, None at the end, or what ended it."""
    try:
        return next(items, None)
    except Exception as error:  # noqa: BLE001 - raised again, once it is its turn
        return error


async def _adrawn(items: AsyncIterator[Sample]) -> Sample | Exception | None:
    """Return the same, in an event loop."""
    try:
        return await anext(items, None)
    except Exception as error:  # noqa: BLE001 - raised again, once it is its turn
        return error


def _waited_for(call: _Call, interruption: Interruption) -> _Outcome | BaseException | None:
    """Return what came of a call, which this thread waits for; None at an interruption."""
    # A SimpleQueue alone may be put to from a signal handler.
    ends: SimpleQueue[Future[Any] | None] = SimpleQueue()
    call.future.add_done_callback(ends.put)
    with interruption.heard_by(partial(ends.put, None)):
        try:
            end = ends.get(timeout=call.seconds_left)
        except Empty:
            return call.given_up()
    return None if end is None else end.result()


async def _awaited(call: _Call) -> _Outcome | BaseException:
    """Return the same, in an event loop."""
    if call.future.done():
        return call.future.result()
    try:
        async with asyncio.timeout(call.seconds_left):
            return await asyncio.wrap_future(call.future)
    except TimeoutError:
        return call.given_up()


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


class _Calls:
    """Calls under way: each in a thread, or a task of an event loop.

    A call that is thread-bound is made again in the first thread, then in the caller's own; all
    that follow are made there.
    """

    def __init__(self, asker: Asker, start: _Start, *, in_threads: bool) -> None:
        self._asker = asker
        self._start = start
        self._in_threads = in_threads
        self._thread_choice = "any"
        self._first: _Call | None = None
        """The first call in a thread."""
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._futures: set[Future[Any]] = set()

    @property
    def go_along(self) -> bool:
        """Whether calls may go beside each other: in threads once the first one has ended."""
        first = self._first
        return first is None or first.future.done() or self._workers[0].is_stuck

    def start(self, sample: Sample) -> _Call | None:
        """Start a call; return None where it is to be made in the caller's thread."""
        if self._thread_choice == "own":
            return None
        if not self._in_threads:
            return self._noted(_Call(self._start(self._asker.aask, sample)))
        return self._put(sample, self._workers[0] if self._thread_choice == "first" else None)

    def again(self, sample: Sample, call: _Call) -> _Call | None:
        """Start a call again that was thread-bound; return None as above."""
        first = self._workers[0] if self._workers else None
        if self._thread_choice == "own" or call.worker is first or first is None or first.is_stuck:
            self._thread_choice = "own"
            return None
        self._thread_choice = "first"
        return self._put(sample, first)

    def close(self) -> None:
        """Give up what is under way; threads end, each once its call has returned."""
        for future in tuple(self._futures):
            future.cancel()
        for worker in self._workers:
            worker.end()

    def _put(self, sample: Sample, worker: _Worker | None) -> _Call:
        if worker is None and self._idle:
            worker = self._idle.pop()
        elif worker is None:
            worker = _Worker(self._asker.ask, self._idle)
            self._workers.append(worker)
        call = _Call(Future(), worker, self._asker.bound())
        self._first = self._first or call
        worker.put(sample, call)
        return self._noted(call)

    def _noted(self, call: _Call) -> _Call:
        self._futures.add(call.future)
        call.future.add_done_callback(self._futures.discard)
        return call


class _Worker:
    """A thread that makes one call after the other, and ends with the program at the latest."""

    def __init__(self, function: Callable[[Sample], _Outcome], idle: list[_Worker]) -> None:
        self._function = function
        self._idle = idle
        self._queue: SimpleQueue[tuple[Context, Sample, _Call] | None] = SimpleQueue()
        self.is_stuck = False
        threading.Thread(target=self._run, name="fullrecall retriever", daemon=True).start()

    def put(self, sample: Sample, call: _Call) -> None:
        """Have a call made, in the caller's context."""
        self._queue.put((copy_context(), sample, call))

    def end(self) -> None:
        """End the thread after its call."""
        self._queue.put(None)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            context, sample, call = item
            if call.future.set_running_or_notify_cancel():
                call.began = monotonic()
                try:
                    outcome: _Outcome | BaseException = context.run(self._function, sample)
                except BaseException as error:  # noqa: BLE001 - a SystemExit, too, is the caller's
                    outcome = error
                if call.seconds_left == 0.0 and isinstance(outcome, _Outcome):
                    outcome = call.given_up()
                self.is_stuck = False
                self._idle.append(self)
                call.future.set_result(outcome)
                del outcome
            del item, context, sample, call
