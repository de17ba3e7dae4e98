"""Threads in which a framework's client is asked."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_MOST_AT_ONCE = 256
"""Threads that wait for answers: none is made before it is needed."""


async def in_thread(call: Callable[[], T]) -> T:
    """Return what a blocking call returns, made in a thread beside the event loop.

    Asynchronous clients keep connections for the next request, which fail in any other loop than
    the one that opened them: those of `evaluate`, and of each `asyncio.run`, end.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads(), contextvars.copy_context().run, call)


@cache
def _threads() -> ThreadPoolExecutor:
    # The loop's own would be as small as the machine; how many requests are on their way at a time
    # is for `evaluate` to say.
    return ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="fullrecall-judge")
