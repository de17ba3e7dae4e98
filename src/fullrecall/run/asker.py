"""Samples put to a retriever: several at a time, in their order, each failure its own.

One algorithm says what is asked, waited for, and handed on; one driver waits in a thread, the other
in an event loop. A call is made in a thread beside the caller's, or is a task of an event loop.
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
from typing import Any, TypeAlias

from fullrecall.hits import IdKey
from fullrecall.models.transport import Portal
from fullrecall.retrieval import Retrieval, Retriever
from fullrecall.run.interruption import Interruption
from fullrecall.run.retrievers import (
    RetrieverLike,
    as_retrieval,
    as_retriever,
    checked_thread,
    failed,
    is_asynchronous,
)
from fullrecall.sample import Sample

_GRACE_SECONDS = 5.0
"""What a loop gets to cancel its tasks: something that blocks it ends with the program."""


@dataclass(eq=False)
class _Call:
    """A call under way; one in a thread may take up to `bound` seconds."""

    future: Future[Retrieval]
    bound: float | None = None
    began: float = field(default_factory=monotonic)

    @property
    def seconds_left(self) -> float | None:
        """How long it may go on; None without a limit."""
        return None if self.bound is None else max(0.0, self.began + self.bound - monotonic())


_Step: TypeAlias = "Sample | _Call | None"
"""A sample to hand on, a call to wait for, or None to draw the next sample."""
_Steps: TypeAlias = Generator[_Step, Any, None]
_Start: TypeAlias = "Callable[[Sample], _Call]"
"""Starts a call for a sample."""


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
        items, portal, threads = iter(samples), Portal(), _Threads(self.ask)
        in_loop = is_asynchronous(self.retriever)

        def start(sample: Sample) -> _Call:
            if in_loop:
                return _Call(portal.start(self.aask, sample))
            return _Call(threads.start(sample), self._bound())

        steps = self._steps(start)
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
            steps.close()
            portal.close(_GRACE_SECONDS)
            threads.close()

    async def aasked(
        self, samples: Iterable[Sample] | AsyncIterable[Sample]
    ) -> AsyncGenerator[Sample]:
        """Yield the same as `asked`, without blocking the event loop."""
        items, threads = _asynchronous(samples), _Threads(self.ask)
        loop = asyncio.get_running_loop()
        in_threads = getattr(self.retriever, "in_threads", False)

        def start(sample: Sample) -> _Call:
            if in_threads:
                return _Call(threads.start(sample), self._bound())
            return _Call(asyncio.run_coroutine_threadsafe(self.aask(sample), loop))

        steps = self._steps(start)
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
            steps.close()
            threads.close()
            await items.aclose()

    def ask(self, sample: Sample) -> Retrieval:
        """Ask in this thread."""
        began = perf_counter()
        try:
            retrieval = as_retrieval(self.retriever.retrieve(sample), sample)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            retrieval = failed(error)
        return checked_thread(retrieval).lasting(perf_counter() - began)

    async def aask(self, sample: Sample) -> Retrieval:
        """Ask in this event loop."""
        bound, began = self._bound(), perf_counter()
        limit = asyncio.timeout(bound)
        try:
            async with limit:
                retrieval = as_retrieval(await self.retriever.aretrieve(sample), sample)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            retrieval = _late(bound) if limit.expired() else failed(error)
        return checked_thread(retrieval).lasting(perf_counter() - began)

    def _bound(self) -> float | None:
        """Return the seconds that a call which starts now may take."""
        bounds = (self.timeout, self.seconds_left())
        return min((bound for bound in bounds if bound is not None), default=None)

    def _steps(self, start: _Start) -> _Steps:
        """Yield what is to be done next; receive what came of it."""
        pending: deque[tuple[Sample, _Call | None]] = deque()
        is_over, error = False, None
        try:
            while True:
                while not is_over and len(pending) < self.max_concurrency:
                    sample = yield None
                    if isinstance(sample, Sample):
                        is_asked = sample.user_input is not None and self.seconds_left() != 0
                        pending.append((sample, start(sample) if is_asked else None))
                    else:
                        is_over, error = True, sample
                if not pending:
                    break
                sample, call = pending[0]
                retrieval = _unasked(sample) if call is None else (yield call)
                pending.popleft()
                yield sample.with_retrieval(retrieval)
        finally:
            for _, call in pending:
                if call is not None:
                    call.future.cancel()
        if error is not None:
            raise error


class Inquiry:
    """Asks a retriever for `k` contexts at a time, in the way in which `evaluate` asks it.

    What it takes is what `evaluate(retriever=…)` takes. Raises `ParameterError` for anything else.
    """

    def __init__(
        self,
        retriever: RetrieverLike,
        k: int | None = None,
        id_key: IdKey | None = None,
        timeout: float | None = None,
    ) -> None:
        self._waiting: deque[Sample] = deque()
        asker = Asker(as_retriever(retriever, k=k, id_key=id_key), 1, timeout)
        self._answered = asker.asked(self._questions())

    def ask(self, sample: Sample) -> Retrieval:
        """Return what is retrieved for a sample, or an error that says why nothing is."""
        self._waiting.append(sample)
        retrieval = next(self._answered).retrieval
        assert retrieval is not None  # noqa: S101 - each sample comes back with one
        return retrieval

    def close(self) -> None:
        """End what the retriever was asked in."""
        self._answered.close()

    def _questions(self) -> Iterator[Sample]:
        while True:  # drawn once for each `ask`, never ahead
            yield self._waiting.popleft()


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


def _waited_for(call: _Call, interruption: Interruption) -> Retrieval | None:
    """Return what came of a call, which this thread waits for; None at an interruption."""
    # A SimpleQueue alone may be put to from a signal handler.
    ends: SimpleQueue[Future[Retrieval] | None] = SimpleQueue()
    call.future.add_done_callback(ends.put)
    with interruption.heard_by(partial(ends.put, None)):
        try:
            end = ends.get(timeout=call.seconds_left)
        except Empty:
            return _late(call.bound)
    return None if end is None else end.result()


async def _awaited(call: _Call) -> Retrieval:
    """Return the same, in an event loop."""
    if call.future.done():
        return call.future.result()
    try:
        async with asyncio.timeout(call.seconds_left):
            return await asyncio.wrap_future(call.future)
    except TimeoutError:
        return _late(call.bound)


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


def _unasked(sample: Sample) -> Retrieval:
    if sample.user_input is None:
        return Retrieval(error="the sample has no user_input to ask")
    return Retrieval(error="the run's deadline passed before it was asked")


def _late(bound: float | None) -> Retrieval:
    """Return what a call that takes longer than `bound` seconds makes of its sample."""
    return Retrieval(error=f"TimeoutError: no answer within {bound or 0.0:.3g} seconds")


class _Threads:
    """Threads that make one call after the other, as many as there are calls at a time.

    They end with the program at the latest, which would wait for those of an executor: a call may
    hang for good.
    """

    def __init__(self, function: Callable[[Sample], Retrieval]) -> None:
        self._function = function
        self._calls: SimpleQueue[tuple[Future[Retrieval], Context, Sample] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._count = 0

    def start(self, sample: Sample) -> Future[Retrieval]:
        """Start a call, in the caller's context."""
        future: Future[Retrieval] = Future()
        self._calls.put((future, copy_context(), sample))
        if not self._idle.acquire(blocking=False):
            self._count += 1
            threading.Thread(target=self._serve, name="fullrecall retriever", daemon=True).start()
        return future

    def close(self) -> None:
        """End the threads, each once its call has returned."""
        for _ in range(self._count):
            self._calls.put(None)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            future, context, sample = call
            if future.set_running_or_notify_cancel():
                try:
                    retrieval = context.run(self._function, sample)
                except BaseException as error:  # noqa: BLE001 - a SystemExit, too, is the caller's
                    self._idle.release()
                    future.set_exception(error)
                else:
                    self._idle.release()
                    future.set_result(retrieval)
                    del retrieval
            else:
                self._idle.release()
            del call, future, context, sample  # not to be kept while it waits for the next
