"""Long computations in pieces: a deadline or Ctrl-C ends them between two pieces."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TypeVar

from fullrecall._util.variables import set_within

T = TypeVar("T")

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


def pause() -> None:
    """If a run has asked this computation to end, raise the exception that ends it.

    A long computation calls this function at least every tenth of a second.
    """
    check = _CHECK.get()
    if check is not None:
        check()


def paused(elements: Iterable[T], each: int = 1_000) -> Iterator[T]:
    """Yield elements; call `pause` before each group of `each` elements."""
    for number, element in enumerate(elements):
        if number % each == 0:
            pause()
        yield element


def watch(check: Callable[[], None]) -> None:
    """Make `pause` call `check` in this task or thread from now on."""
    _CHECK.set(check)


def watched(check: Callable[[], None]) -> AbstractContextManager[None]:
    """Make `pause` call `check` within this block."""
    return set_within(_CHECK, check)


_LARGEST = 8_192
_SECONDS = 0.05
"""The most samples in a chunk, and the most seconds of reading before they are scored.

Each sample is visited several times: 8,192 stay in a processor's cache; with 16,384, each sample
costs a quarter more.
"""

_OFTEN = 16
"""The number of samples that are read between two checks of the clock."""


def chunked(items: Iterable[T]) -> Iterator[Sequence[T]]:
    """Yield the items in chunks; if `items` raises, yield the items before the error first."""
    # A list is in memory, so its chunks need no clock. A subclass may iterate differently.
    if type(items) is list:
        for start in range(0, len(items), _LARGEST):
            yield items[start : start + _LARGEST]
        return
    chunk: list[T] = []
    began = time.monotonic()
    try:
        for item in items:
            chunk.append(item)
            is_late = len(chunk) % _OFTEN == 0 and time.monotonic() - began > _SECONDS
            if is_late or len(chunk) >= _LARGEST:
                yield chunk
                chunk, began = [], time.monotonic()
    except (Exception, KeyboardInterrupt):
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk
