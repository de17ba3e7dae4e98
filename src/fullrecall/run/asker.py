"""Samples put to a retriever: several at a time, in their order, each failure its own.

A retriever is asked in threads, or awaited in one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field

from fullrecall.retrieval import Retrieval, Retriever
from fullrecall.run.call_place import (
    CallPlace,
    InLoopThread,
    InTasks,
    InThreads,
    PendingCall,
    ThreadBoundError,
    belongs_elsewhere,
    is_thread_bound,
    late,
)
from fullrecall.run.interruption import Interruption
from fullrecall.run.retrievers import FunctionRetriever, failed, is_asynchronous
from fullrecall.sample import Sample


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
        calls: InThreads | InLoopThread
        calls = (
            InLoopThread(self._aask) if is_asynchronous(self.retriever) else InThreads(self._ask)
        )
        items, ended = iter(samples), None
        pending: deque[tuple[Sample, PendingCall | None]] = deque()
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
        sync = isinstance(self.retriever, FunctionRetriever) and not is_asynchronous(self.retriever)
        here = None if is_asynchronous(self.retriever) else self._ask
        calls: InThreads | InTasks = InThreads(self._ask) if sync else InTasks(self._aask, here)
        items, ended = _asynchronous(samples), None
        pending: deque[tuple[Sample, PendingCall | None]] = deque()
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

    def _started(self, calls: CallPlace, sample: Sample) -> PendingCall | None:
        if sample.user_input is None or self.seconds_left() == 0:
            return None
        return calls.start(sample)

    def _finished(
        self, calls: InThreads | InLoopThread, call: PendingCall | None
    ) -> Retrieval | None:
        if call is None or self.interruption.asked:
            return None
        return calls.finish(call, self._bound())

    def _bound(self) -> float | None:
        bounds = (self.timeout, self.seconds_left())
        return min((bound for bound in bounds if bound is not None), default=None)

    def _ask(self, sample: Sample) -> Retrieval:
        try:
            found = self.retriever.retrieve(sample)
            is_bound = is_thread_bound(found)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            found, is_bound = failed(error), belongs_elsewhere(str(error))
        if is_bound:
            raise ThreadBoundError(found)
        return found

    async def _aask(self, sample: Sample) -> Retrieval:
        bound = self._bound()
        limit = asyncio.timeout(bound)
        try:
            async with limit:
                return await self.retriever.aretrieve(sample)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises
            return late(bound) if limit.expired() else failed(error)


def _with(sample: Sample, found: Retrieval | None) -> Sample:
    if found is not None:
        return sample.with_retrieval(found)
    if sample.user_input is None:
        return sample.with_retrieval(Retrieval(error="the sample has no user_input to ask"))
    return sample.with_retrieval(Retrieval(error="the run's deadline passed before it was asked"))


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
