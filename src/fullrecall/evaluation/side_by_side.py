"""Several calls at the same time, their results in order, and no more read ahead than are made."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")


def in_threads(call: Callable[[S], T], items: Iterator[S], at_once: int) -> Generator[T]:
    """Yield `call(item)` for each item; with `at_once` 1 in this very thread.

    What `items` raises is raised once everything before it has been yielded.
    """
    if at_once == 1:
        yield from map(call, items)
        return
    source = _Source(items)
    with ThreadPoolExecutor(at_once, thread_name_prefix="fullrecall") as pool:
        pending: deque[Future[T]] = deque()
        try:
            while True:
                for item in islice(source, at_once - len(pending)):
                    # Instrumentation and tracing go by context variables: hand them on.
                    pending.append(pool.submit(copy_context().run, call, item))
                if not pending:
                    break
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    source.reraise()


async def in_tasks(
    call: Callable[[S], Coroutine[Any, Any, T]], items: Iterator[S], at_once: int
) -> AsyncGenerator[T]:
    """Yield the same as `in_threads`, in tasks; none of them outlives the iterator."""
    source = _Source(items)
    pending: deque[asyncio.Task[T]] = deque()
    try:
        while True:
            for item in islice(source, at_once - len(pending)):
                pending.append(asyncio.create_task(call(item)))
            if not pending:
                break
            yield await pending[0]
            pending.popleft()
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
    source.reraise()


class _Source(Iterator[S]):
    """An iterator that ends where another one raises, and keeps what it raised."""

    def __init__(self, items: Iterator[S]) -> None:
        self._items = items
        self._error: Exception | None = None

    def __next__(self) -> S:
        if self._error is not None:
            raise StopIteration
        try:
            return next(self._items)
        except StopIteration:
            raise
        except Exception as error:  # noqa: BLE001 - raised again, once it is its turn
            self._error = error
            raise StopIteration from None

    def reraise(self) -> None:
        """Raise what the other iterator raised, if it did."""
        if self._error is not None:
            raise self._error
