"""The event loop that a framework's client is asked in."""

from __future__ import annotations

import asyncio
import contextvars
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar
from weakref import WeakSet

T = TypeVar("T")

_OF_RUNS: WeakSet[asyncio.AbstractEventLoop] = WeakSet()
"""Loops that were made for one run, and end with it."""


def ends_with_run() -> None:
    """Say that the running loop was made for one run: clients are not to keep connections in it."""
    _OF_RUNS.add(asyncio.get_running_loop())


_MOST_AT_ONCE = 256
"""Threads that wait for answers: none is made before it is needed."""


class HomeLoop:
    """The event loop in which a framework's client keeps its connections: the first that asks.

    Clients keep connections for the next request, which fail in any other loop, such as that of
    a second `asyncio.run`. There, and in a loop that `evaluate` made for one run, the synchronous
    call runs in a thread. It pickles: another process has loops of its own.
    """

    def __init__(self) -> None:
        self._loop: weakref.ref[asyncio.AbstractEventLoop] | None = None

    async def ask(self, call: Callable[[], T], acall: Callable[[], Awaitable[T]]) -> T:
        """Return what `acall` returns in the home loop, elsewhere what `call` does."""
        loop = asyncio.get_running_loop()
        if loop not in _OF_RUNS:
            if self._loop is None:
                self._loop = weakref.ref(loop)
            if self._loop() is loop:
                return await acall()
        return await loop.run_in_executor(_threads(), contextvars.copy_context().run, call)

    def __getstate__(self) -> dict[str, None]:
        return {"_loop": None}


@cache
def _threads() -> ThreadPoolExecutor:
    # The loop's own would be as small as the machine; how many requests are on their way at a time
    # is for `evaluate` to say.
    return ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="fullrecall-judge")
