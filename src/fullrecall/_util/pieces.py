"""Long computations in pieces: a deadline or Ctrl-C ends them between two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


def pause() -> None:
    """Raise the exception that ends this computation, if a run has asked it to end.

    A computation calls this at least every tenth of a second of its own work.
    """
    check = _CHECK.get()
    if check is not None:
        check()


def paused(elements: Iterable[T], each: int = 1_000) -> Iterator[T]:
    """Yield elements, with a call of `pause` before every `each` of them."""
    for number, element in enumerate(elements):
        if number % each == 0:
            pause()
        yield element


def watch(check: Callable[[], None]) -> None:
    """Have `pause` call `check` in this task or thread from here on."""
    _CHECK.set(check)


@contextmanager
def watched(check: Callable[[], None]) -> Iterator[None]:
    """Have `pause` call `check` within this block."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)
