"""Ctrl-C takes effect between two rows, never inside one, so that counts and saved rows agree.

While samples are read, it raises at once: a user's iterator may take minutes for the next one. So
does the end of a deadline.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


class Interruption:
    """Records whether Ctrl-C was pressed, and calls the listeners at once.

    The signal handler raises only while samples are read: elsewhere an exception could occur in a
    destructor, which drops it, or in code that is counting.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self.is_repeated = False
        """Whether Ctrl-C was pressed again, and interrupted the orderly end."""
        self.is_late = False
        """Whether the time to read samples is over."""
        self.is_reading = False
        self._listeners: list[Callable[[], object]] = []

    def reading(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items; Ctrl-C and the end of the deadline raise `KeyboardInterrupt` in them."""
        iterator = iter(items)
        while True:
            self.is_reading = True
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self.is_reading = False
            yield item

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let Ctrl-C raise `KeyboardInterrupt` anywhere in this block, which keeps no count."""
        self.is_reading = True
        try:
            yield
        finally:
            self.is_reading = False

    def ask(self) -> None:
        """Ask the run to stop; called in the thread that runs it."""
        self.is_asked = True
        for listener in self._listeners:
            listener()

    @contextmanager
    def heard_by(self, listener: Callable[[], object]) -> Iterator[None]:
        """Call `listener` on Ctrl-C within this block, and at once if Ctrl-C was pressed before.

        The listener runs inside the signal handler, so it must be reentrant. It may be called
        twice.
        """
        self._listeners.append(listener)
        try:
            if self.is_asked:
                listener()
            yield
        finally:
            self._listeners.pop()


@contextmanager
def interruptible(seconds: float | None) -> Iterator[Interruption]:
    """Yield an `Interruption` for the first Ctrl-C; a second one raises `KeyboardInterrupt`.

    After `seconds`, samples are not read any more. It never reports Ctrl-C outside the main thread,
    which receives all signals, nor if the program handles Ctrl-C itself.
    """
    interruption = Interruption()
    before = signal.getsignal(signal.SIGINT)
    if (
        threading.current_thread() is not threading.main_thread()
        or before is not signal.default_int_handler
    ):
        yield interruption
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if is_due.is_set():
            is_due.clear()
        elif interruption.is_asked:
            interruption.is_repeated = True
            signal.default_int_handler(number, frame)
        else:
            interruption.ask()
        if interruption.is_reading:
            raise KeyboardInterrupt

    is_due, reader = threading.Event(), threading.get_ident()

    def end() -> None:
        interruption.is_late = True
        is_due.set()
        signal.pthread_kill(reader, signal.SIGINT)  # it may sleep in a user's iterator

    timer = None
    if seconds is not None and sys.platform != "win32":
        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), end)
    signal.signal(signal.SIGINT, ask)
    try:
        if timer is not None:
            timer.daemon = True
            timer.start()
        yield interruption
    finally:
        if timer is not None:
            timer.cancel()
            timer.join()
        signal.signal(signal.SIGINT, before)
