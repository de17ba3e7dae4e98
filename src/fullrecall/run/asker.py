"""A retriever asked for samples: in threads beside the event loop, or as tasks of it.

What goes wrong with one sample is that sample's own: it is its retrieval's error.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context, copy_context
from functools import partial
from queue import SimpleQueue
from time import perf_counter

from fullrecall.retrieval import Retrieval, Retriever
from fullrecall.run.retrievers import as_retrieval, checked_thread, failed
from fullrecall.sample import Sample

_FAILURES = (Exception, SystemExit, KeyboardInterrupt)
"""What is the sample's own failure. The last two would end the event loop and hang the run."""


class Asker:
    """How samples are put to a retriever, each within `timeout` seconds; in one event loop.

    `seconds_left` tells how long the run may go on: past that, samples are not asked.
    """

    def __init__(
        self,
        retriever: Retriever,
        timeout: float | None,
        seconds_left: Callable[[], float | None],
        *,
        in_threads: bool,
    ) -> None:
        self._retriever = retriever
        self._timeout = timeout
        self._seconds_left = seconds_left
        self._threads = _Threads(self._called) if in_threads else None

    async def ask(self, sample: Sample) -> Sample:
        """Return a sample with what is retrieved for it, or why nothing is."""
        if sample.user_input is None:
            return sample.with_retrieval(Retrieval(error="the sample has no user_input to ask"))
        seconds_left = self._seconds_left()
        if seconds_left == 0:
            error = "the run's deadline passed before it was asked"
            return sample.with_retrieval(Retrieval(error=error))
        bounds = [bound for bound in (self._timeout, seconds_left) if bound is not None]
        return sample.with_retrieval(await self._retrieved(sample, min(bounds, default=None)))

    def close(self) -> None:
        """End the threads, each once its call has returned."""
        if self._threads is not None:
            self._threads.close()

    async def _retrieved(self, sample: Sample, bound: float | None) -> Retrieval:
        limit = asyncio.timeout(bound)
        try:
            async with limit:
                if self._threads is not None:
                    return await asyncio.wrap_future(self._threads.start(sample))
                began = perf_counter()
                retrieval = as_retrieval(await self._retriever.aretrieve(sample), sample)
                return checked_thread(retrieval.lasting(perf_counter() - began))
        except _FAILURES as error:
            if limit.expired():
                return Retrieval(error=f"TimeoutError: no answer within {bound:.3g} seconds")
            return checked_thread(failed(error))

    def _called(self, sample: Sample) -> Retrieval:
        """Return what is retrieved in this thread."""
        began = perf_counter()
        try:
            retrieval = as_retrieval(self._retriever.retrieve(sample), sample)
        except _FAILURES as error:
            return checked_thread(failed(error))
        return checked_thread(retrieval.lasting(perf_counter() - began))


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
            if not future.set_running_or_notify_cancel():
                self._idle.release()
                continue
            try:
                tell = partial(future.set_result, context.run(self._function, sample))
            except BaseException as error:  # noqa: BLE001 - it ends the run, and no thread
                tell = partial(future.set_exception, error)
            self._idle.release()  # first: whoever is told may start the next call
            tell()
            del call, future, context, sample, tell  # not to be kept while it waits
