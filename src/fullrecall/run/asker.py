"""Samples put to a retriever: several at a time, in their order, each failure its own.

One algorithm says what is asked, waited for, and handed on; one driver waits in a thread, the other
in an event loop. A call is made in a thread of its own, or is a task of an event loop. What cannot
leave the caller's thread, such as an SQLite connection that was opened there, is noticed by what it
raises, and called there from then on.
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

from fullrecall.hits import IdKey
from fullrecall.models.transport import Portal
from fullrecall.retrieval import Retrieval, Retriever
from fullrecall.run.interruption import Interruption
from fullrecall.run.retrievers import (
    RetrieverLike,
    as_retrieval,
    as_retriever,
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
    """A call under way; one in a thread may take up to `bound` seconds, from when it `began`."""

    future: Future[_Outcome | BaseException]
    bound: float | None = None
    began: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """How long it may go on; None without a limit."""
        if self.bound is None:
            return None
        now = monotonic()
        return max(0.0, (self.began or now) + self.bound - now)

    def given_up(self) -> _Outcome:
        """Return what comes of it after its last second; its thread is not to be waited for."""
        return _Outcome(_late(self.bound or 0.0))


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
        return _Outcome(retrieval.lasting(perf_counter() - began), is_bound)

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
        return _Outcome(retrieval.lasting(perf_counter() - began), is_bound)

    def _steps(self, calls: _Calls) -> _Steps:
        """Yield what is to be done next; receive what came of it."""
        pending: deque[tuple[Sample, bool, _Call | None]] = deque()
        is_over, error = False, None
        while True:
            while not is_over and len(pending) < self.max_concurrency:
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
            outcome = None if call is None else (yield call)
            if isinstance(outcome, BaseException):
                raise outcome
            calls.are_here = calls.are_here or (outcome is not None and outcome.is_bound)
            if is_asked and (outcome is None or outcome.is_bound):
                outcome = self.ask(sample)
            pending.popleft()
            yield _with(sample, None if outcome is None else outcome.retrieval)
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

    Once a call was thread-bound `are_here`: it, and all that follow, are made in the caller's own.
    """

    def __init__(self, asker: Asker, start: _Start, *, in_threads: bool) -> None:
        self.are_here = False
        self._asker = asker
        self._start = start
        self._in_threads = in_threads
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._futures: set[Future[Any]] = set()

    def start(self, sample: Sample) -> _Call | None:
        """Start a call; return None where it is to be made in the caller's thread."""
        if self.are_here:
            return None
        if self._in_threads:
            call = _Call(Future(), self._asker.bound())
            self._worker().put(sample, call)
        else:
            call = _Call(self._start(self._asker.aask, sample))
        self._futures.add(call.future)
        call.future.add_done_callback(self._futures.discard)
        return call

    def close(self) -> None:
        """Give up what is under way; threads end, each once its call has returned."""
        for future in tuple(self._futures):
            future.cancel()
        for worker in self._workers:
            worker.end()

    def _worker(self) -> _Worker:
        if self._idle:
            return self._idle.pop()
        self._workers.append(_Worker(self._asker.ask, self._idle))
        return self._workers[-1]


class _Worker:
    """A thread that makes one call after the other, and ends with the program at the latest."""

    def __init__(self, function: Callable[[Sample], _Outcome], idle: list[_Worker]) -> None:
        self._function = function
        self._idle = idle
        self._queue: SimpleQueue[tuple[Context, Sample, _Call] | None] = SimpleQueue()
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
                self._idle.append(self)
                call.future.set_result(outcome)
                del outcome
            del item, context, sample, call
