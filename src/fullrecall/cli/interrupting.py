"""Ctrl-C between two rows, never inside one: what is counted is what is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def stopping_between() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets; a second one interrupts at once.

    Outside the main thread, where no signal arrives, the event is never set.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def until(asked: threading.Event, items: Iterable[T]) -> Iterator[T]:
    """Yield items until the event is set; raise `KeyboardInterrupt` then."""
    for item in items:
        yield item
        if asked.is_set():
            raise KeyboardInterrupt
