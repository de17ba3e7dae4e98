"""Ctrl-C takes effect between two rows, never inside one, so that counts and saved rows agree."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Records whether Ctrl-C was pressed, and calls the listeners at once.

    The signal handler does not raise: an exception could occur in a destructor, which drops it, or
    in code that is counting.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self.is_repeated = False
        """Whether Ctrl-C was pressed again, and interrupted the orderly end."""
        self._listeners: list[Callable[[], object]] = []

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
def interruptible() -> Iterator[Interruption]:
    """Yield an `Interruption` for the first Ctrl-C; a second one raises `KeyboardInterrupt`.

    It never reports Ctrl-C outside the main thread, which receives all signals, nor if the program
    handles Ctrl-C itself.
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
        if interruption.is_asked:
            interruption.is_repeated = True
            signal.default_int_handler(number, frame)
        interruption.ask()

    signal.signal(signal.SIGINT, ask)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
