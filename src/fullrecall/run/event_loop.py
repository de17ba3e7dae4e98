"""An event loop for code that has none, also where another one runs in this thread."""

from __future__ import annotations

import asyncio
import contextvars
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any, Self, TypeVar
from weakref import WeakSet

from fullrecall.models.transport import Portal

T = TypeVar("T")

_MADE: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


def loop_ends_with_run() -> bool:
    """Return whether the running loop was made for one run, and ends with it.

    A client that keeps connections for later use is not to be asked in such a loop: the next run
    has another one, in which they fail.
    """
    return asyncio.get_running_loop() in _MADE


class EventLoop:
    """A loop that runs while a coroutine is called, and rests between two calls; in a `with`.

    In a thread whose own loop is running, as in a notebook or a server, it runs in another thread
    while this one waits for it.
    """

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._portal = Portal()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end, and all that is in flight beside it."""
        if self._runner is None:
            result: T = self._portal.call(_marked, coroutine)
            return result
        try:
            return self._runner.run(_marked(coroutine))
        except KeyboardInterrupt:
            self._run_out(self._runner.get_loop())
            raise

    def _run_out(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the callbacks that an interrupted call left in the loop.

        One of them may be what ends that call: left over, it would end the next one. Ctrl-C may
        come again meanwhile, and is heard already.
        """
        is_empty = False
        while not is_empty:
            with suppress(KeyboardInterrupt):
                loop.call_soon(loop.stop)
                loop.run_forever()
                is_empty = True

    def soon(self, function: Callable[[], object]) -> None:
        """Call a function in the loop; to be used from signal handlers and other threads."""
        if self._runner is None:
            self._portal.soon(function)
        else:
            self._runner.get_loop().call_soon_threadsafe(function)

    def __enter__(self) -> Self:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._runner = asyncio.Runner()
        return self

    def __exit__(self, *_: object) -> None:
        if self._runner is not None:
            self._runner.close()
        self._portal.close()


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
        if not loop_ends_with_run():
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


async def _marked(coroutine: Coroutine[Any, Any, T]) -> T:
    _MADE.add(asyncio.get_running_loop())
    return await coroutine
