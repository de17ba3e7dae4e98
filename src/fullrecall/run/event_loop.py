"""Threads for the blocking calls of frameworks' clients."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_MOST_AT_ONCE = 256
"""The most threads that wait for answers; each is started only when it is needed."""


async def in_thread(call: Callable[[], T]) -> T:
    """Make a blocking call in a thread beside the event loop; return its result.

    This replaces a framework's asynchronous client. Such a client keeps connections for the next
    request, which fail in another loop, and each `evaluate` and `asyncio.run` has a new loop.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads(), contextvars.copy_context().run, call)


@cache
def _threads() -> ThreadPoolExecutor:
    # The loop's default executor has too few threads on a small machine, and `evaluate` limits the
    # requests anyway.
    return ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="fullrecall-judge")
