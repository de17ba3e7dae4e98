"""Several cores for what lets other threads run meanwhile: results in order, little read ahead."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

T = TypeVar("T")

_MOST = 8
"""With more threads, those that hold the interpreter's lock keep the others waiting."""

_AHEAD = 4
"""Calls for each thread that are begun before the first of them is waited for."""


def cores() -> int:
    """Return how many cores this process may use, 8 at most."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    usable = len(affinity(0)) if affinity is not None else os.cpu_count()
    return min(_MOST, usable or 1)


def on_cores(calls: Iterable[tuple[Callable[[], T], bool]], threads: int) -> Generator[T]:
    """Yield what each call returns, in order; those that are marked as lengthy run in threads.

    `calls` is read, and the others are called, in the caller's thread. An exception of a call is
    raised in its place. Nothing is begun any more once the generator is closed.
    """
    with ThreadPoolExecutor(threads, thread_name_prefix="fullrecall") as pool:
        pending: deque[Callable[[], T]] = deque()
        try:
            for call, lengthy in calls:
                if lengthy:
                    # Tracing goes by context variables: hand them on.
                    pending.append(pool.submit(copy_context().run, call).result)
                elif pending:
                    pending.append(partial(_same, call()))
                else:
                    yield call()
                if len(pending) >= _AHEAD * threads:
                    yield pending.popleft()()
            while pending:
                yield pending.popleft()()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _same(value: T) -> T:
    return value
