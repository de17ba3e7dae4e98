"""Ctrl-C between two rows, never inside one: what is counted is what is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether Ctrl-C was pressed, and what is to be called at once.

    The signal handler raises nothing: an exception could end up in a destructor, which drops it,
    or in code that is counting.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self.is_repeated = False
        """Whether it was pressed again, and cut short what the first press left to be ended."""
        self._listeners: list[Callable[[], object]] = []

    def ask(self) -> None:
        """Ask the run to stop; called in the thread that runs it."""
        self.is_asked = True
        for listener in self._listeners:
            listener()

    @contextmanager
    def heard_by(self, listener: Callable[[], object]) -> Iterator[None]:
        """Call `listener` when it happens within this block, and at once where it has happened.

        It runs inside the signal handler, so it may only do what can interrupt itself; and it may
        be called twice.
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
    """Yield what the first Ctrl-C asks to stop; a second one raises `KeyboardInterrupt`.

    Outside the main thread no signal arrives, and where the program handles Ctrl-C in its own
    way it goes on doing so: then nothing is ever asked.
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
