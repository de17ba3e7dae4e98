"""Threads for the blocking calls of a framework's client."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_MOST_AT_ONCE = 256
"""The most threads that wait for answers; each is started when it is needed."""


async def in_thread(call: Callable[[], T]) -> T:
    """Return the result of a blocking call, made in a thread beside the event loop.

    Asynchronous clients keep connections for the next request. Connections fail outside the loop
    that opened them, and the loops of `evaluate` and `asyncio.run` end.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads(), contextvars.copy_context().run, call)


@cache
def _threads() -> ThreadPoolExecutor:
    # The loop's default executor has too few threads on a small machine; `evaluate` already limits
    # the requests.
    return ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="fullrecall-judge")
