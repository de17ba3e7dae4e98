"""Several cores for what lets other threads run meanwhile: items in order, little read ahead."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Event
from typing import TypeVar

T = TypeVar("T")

_MOST = 8
"""With more threads, those that hold the interpreter's lock keep the others waiting."""

_AHEAD = 4
"""Items for each thread that are begun before the first of them is waited for."""


def cores() -> int:
    """Return how many cores this process may use, 8 at most."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    usable = len(affinity(0)) if affinity is not None else os.cpu_count()
    return min(_MOST, usable or 1)


def on_cores(
    items: Iterable[tuple[T, Iterator[object] | None]],
    threads: int,
    *,
    stopped: Callable[[], bool] = bool,
) -> Generator[T]:
    """Yield each item, in order, once the steps that come with it were taken, in some thread.

    `items` is read in the caller's thread. An exception of a step is raised in its item's place.
    Once the generator is closed, or `stopped` returns True, no further step is taken.
    """
    closed = Event()

    def take(steps: Iterator[object]) -> None:
        for _ in steps:
            if closed.is_set() or stopped():
                return

    with ThreadPoolExecutor(threads, thread_name_prefix="fullrecall") as pool:
        pending: deque[tuple[T, Future[None] | None]] = deque()
        try:
            for item, steps in items:
                # Tracing goes by context variables: hand them on.
                future = None if steps is None else pool.submit(copy_context().run, take, steps)
                pending.append((item, future))
                while pending and (len(pending) >= _AHEAD * threads or _is_done(pending[0][1])):
                    yield _waited_for(*pending.popleft())
            while pending:
                yield _waited_for(*pending.popleft())
        finally:
            closed.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _is_done(future: Future[None] | None) -> bool:
    return future is None or future.done()


def _waited_for(item: T, future: Future[None] | None) -> T:
    if future is not None:
        future.result()
    return item
