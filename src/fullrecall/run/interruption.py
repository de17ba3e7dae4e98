"""Ctrl-C between two rows, never inside one: what is counted is what is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether Ctrl-C was pressed, and what is to be called at once."""

    def __init__(self) -> None:
        self.is_asked = False
        self._listener: Callable[[], object] | None = None
        self._is_waiting = False

    def tell(self, listener: Callable[[], object] | None) -> None:
        """Call this when it happens, from inside a signal handler; None for nobody any more."""
        self._listener = listener

    def ask(self) -> None:
        """Ask the run to stop; called in the thread that runs it."""
        self.is_asked = True
        if self._listener is not None:
            self._listener()
        if self._is_waiting:
            self._is_waiting = False
            raise _WaitEndedError

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Leave this block at once when it happens: for what waits, and counts nothing."""
        self._is_waiting = True
        try:
            yield
        except _WaitEndedError:
            pass
        finally:
            self._is_waiting = False


class _WaitEndedError(KeyboardInterrupt):
    """Raised by the signal handler within `Interruption.waiting`."""


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Yield what the first Ctrl-C asks to stop; a second one interrupts at once.

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
            signal.default_int_handler(number, frame)
        interruption.ask()

    signal.signal(signal.SIGINT, ask)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
