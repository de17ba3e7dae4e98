"""Retrieval for samples, in threads beside the event loop, or as tasks in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter

from fullrecall.run.retrievers import (
    FunctionRetriever,
    as_retrieval,
    checked_thread,
    failed,
    is_asynchronous,
    is_thread_bound,
)
from fullrecall.run.threads import Threads
from fullrecall.run.work import Run
from fullrecall.samples.retrieval import Retrieval, Retriever
from fullrecall.samples.sample import Sample

_FAILURES = (Exception, SystemExit, KeyboardInterrupt)
"""Exceptions that fail only one sample. The last two would otherwise end the event loop."""


class Asker:
    """Asks a retriever the questions of samples in one event loop.

    Each question has the run's `timeout`; after the run's deadline, no more questions are asked.
    `to_caller` makes a call in the thread that called `evaluate`; it is None if the event loop runs
    in that thread.
    """

    def __init__(
        self,
        retriever: Retriever,
        run: Run,
        to_caller: Callable[[Callable[[], Retrieval]], Awaitable[Retrieval]] | None,
    ) -> None:
        self._is_thread_bound = False
        self._to_caller = to_caller
        self._retriever = retriever
        self._run = run
        # In the run's own loop, prefer `retrieve` in a thread: a thread can be abandoned, a loop
        # cannot.
        in_own_loop = to_caller is not None
        can_be_called = in_own_loop or isinstance(retriever, FunctionRetriever)
        in_threads = can_be_called and not is_asynchronous(retriever)
        self._threads = Threads() if in_threads else None

    async def ask(self, sample: Sample) -> Sample:
        """Return a sample with its retrieved contexts, or with the error of its retrieval."""
        if sample.user_input is None:
            return sample.with_retrieval(Retrieval(error="the sample has no user_input to ask"))
        seconds_left = self._run.seconds_left()
        if seconds_left == 0:
            error = "the run's deadline passed before it was asked"
            return sample.with_retrieval(Retrieval(error=error))
        bounds = [bound for bound in (self._run.limits.timeout, seconds_left) if bound is not None]
        if not self._is_thread_bound:
            retrieval = await self._retrieved(sample, min(bounds, default=None))
            if is_asynchronous(self._retriever) or not is_thread_bound(retrieval.error):
                return sample.with_retrieval(retrieval)
            self._is_thread_bound = True
        # In the caller's thread, the call has no time limit.
        call = partial(self._called, sample)
        retrieval = await self._to_caller(call) if self._to_caller else call()
        return sample.with_retrieval(retrieval)

    def close(self) -> None:
        """End the threads; each ends when its call has returned."""
        if self._threads is not None:
            self._threads.close()

    async def _retrieved(self, sample: Sample, bound: float | None) -> Retrieval:
        # `limit.expired()` distinguishes a TimeoutError of this bound from the retriever's own.
        limit = asyncio.timeout(bound)
        try:
            async with limit:
                if self._threads is not None:
                    called = self._threads.start(partial(self._called, sample))
                    return await asyncio.wrap_future(called)
                began = perf_counter()
                retrieval = as_retrieval(await self._retriever.aretrieve(sample), sample)
                return checked_thread(retrieval.lasting(perf_counter() - began))
        except _FAILURES as error:
            if limit.expired():
                return Retrieval(error=f"TimeoutError: no answer within {bound:.3g} seconds")
            return checked_thread(failed(error))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # This call was not canceled, so the retriever itself raised the exception.
            return failed(error)

    def _called(self, sample: Sample) -> Retrieval:
        """Retrieve in the current thread; an exception becomes the error of the retrieval."""
        began = perf_counter()
        try:
            retrieval = as_retrieval(self._retriever.retrieve(sample), sample)
        except (*_FAILURES, asyncio.CancelledError) as error:
            return checked_thread(failed(error))
        return checked_thread(retrieval.lasting(perf_counter() - began))
