"""Threads for blocking calls: of retrievers, of frameworks' clients, of the caller's iterator."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import cache, partial
from math import inf
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")

_MOST_AT_ONCE = 256
"""The most threads that wait for the answers of models."""


class ThreadCall(NamedTuple, Generic[T]):
    """A call for another thread to make, and the future of its result."""

    function: Callable[[], T]
    future: Future[T]

    def make(self) -> None:
        """Make the call in this thread, unless its caller gave up waiting for a thread."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(self.function())


class Threads:
    """Up to `most` threads that make one call after another, each started when it is needed.

    They are daemons, because a call may hang forever, and a program that ends would wait for the
    threads of an executor.
    """

    def __init__(self, most: float = inf) -> None:
        self._most = most
        self._calls: SimpleQueue[ThreadCall[Any] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._count = 0

    def start(self, function: Callable[[], T]) -> Future[T]:
        """Start a call, in the caller's context; return the future of its result."""
        future: Future[T] = Future()
        # Copy the context: tracers keep spans in context variables, which threads do not inherit.
        self._calls.put(ThreadCall(partial(copy_context().run, function), future))
        if not self._idle.acquire(blocking=False) and self._count < self._most:
            self._count += 1
            threading.Thread(target=self._serve, name="fullrecall", daemon=True).start()
        return future

    def close(self) -> None:
        """End the threads, each when its call has returned."""
        for _ in range(self._count):
            self._calls.put(None)

    def _serve(self) -> None:
        while (call := self._next()) is not None:
            try:
                call.make()
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                call.future.set_exception(error)
            del call  # Free the call while this thread waits.

    def _next(self) -> ThreadCall[Any] | None:
        try:
            return self._calls.get_nowait()
        except Empty:
            self._idle.release()
            return self._calls.get()


async def in_thread(call: Callable[[], T]) -> T:
    """Return the result of a blocking call, made in a thread beside the event loop.

    Adapters use it for the blocking client of a model. An asynchronous client would keep its
    connections for later requests. Those requests would fail after the end of the loop that opened
    the connections, such as the loop of `evaluate`.
    """
    return await asyncio.wrap_future(_threads(os.getpid()).start(call))


@cache
def _threads(_: int) -> Threads:
    """Return the threads of the process with this ID; a forked process needs its own."""
    return Threads(_MOST_AT_ONCE)
