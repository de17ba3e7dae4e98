"""Delay Ctrl-C to the end of a row, so that counts and saved rows agree.

While a sample is read, Ctrl-C and the end of a deadline raise at once, since a user's iterator may
take minutes.
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
    """Records whether Ctrl-C was pressed, and calls a listener when it is pressed.

    The signal handler raises only while samples are read. Elsewhere, the exception could be raised
    in a destructor, where Python drops it, or between two counts that must agree.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self.is_repeated = False
        """Whether Ctrl-C was pressed again, which ends the run without waiting for the row."""
        self.is_late = False
        """Whether the time to read samples is over."""
        self.is_reading = False
        self.listener: Callable[[], object] = bool
        """Called on Ctrl-C inside the signal handler, so it must be reentrant."""

    def reading(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items; Ctrl-C and the deadline raise `KeyboardInterrupt` while an item is read."""
        iterator = iter(items)
        while True:
            self.is_reading = True
            try:
                if self.is_asked or self.is_late:  # set while the previous item was scored
                    raise KeyboardInterrupt
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self.is_reading = False
            yield item

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let Ctrl-C raise `KeyboardInterrupt` anywhere in this block.

        The block must not change counts or saved rows, since it may end at any point.
        """
        self.is_reading = True
        try:
            yield
        finally:
            self.is_reading = False

    @contextmanager
    def late_after(
        self, seconds: float | None, tell: Callable[[], object] = bool
    ) -> Iterator[None]:
        """Inside the block, stop reading samples after `seconds`, and then call `tell`.

        None for `seconds` sets no limit.
        """

        def end() -> None:
            self.is_late = True
            tell()

        if seconds is None:
            yield
            return
        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


@contextmanager
def interruptible(seconds: float | None) -> Iterator[Interruption]:
    """Yield an `Interruption` that records the first Ctrl-C; a second raises `KeyboardInterrupt`.

    After `seconds`, no more samples are read. Ctrl-C is not recorded outside the main thread, which
    receives all signals, nor if the program handles Ctrl-C itself.
    """
    interruption = Interruption()
    reader = threading.current_thread()
    before = signal.getsignal(signal.SIGINT)
    if reader is not threading.main_thread() or before is not signal.default_int_handler:
        with interruption.late_after(seconds):
            yield interruption
        return
    wakes: list[int] = []

    def wake() -> None:
        if sys.platform != "win32":  # On Windows, a sleeping thread cannot be woken.
            wakes.append(signal.SIGINT)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def ask(number: int, frame: FrameType | None) -> None:
        if wakes:
            wakes.clear()
        elif interruption.is_asked:
            interruption.is_repeated = True
            signal.default_int_handler(number, frame)
        else:
            interruption.is_asked = True
            interruption.listener()
        if interruption.is_reading:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, ask)
    try:
        with interruption.late_after(seconds, wake):
            yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
