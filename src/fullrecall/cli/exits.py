"""How the command line ends, other than by success: its exit codes, and options it refuses."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

WRONG_INPUT = 2
INTERRUPTED = 130
PIPE_CLOSED = 141  # 128 + SIGPIPE, what the shell gives for any program that this ends


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Exit quietly where whatever read the output has closed it, as `head` does."""
    try:
        yield
    except BrokenPipeError:
        # Python flushes once more at exit, which would fail again, and aloud.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from None


def bad_option(option: str, problem: str) -> typer.BadParameter:
    """Return the error for the value of an option: the option, then what is wrong with it."""
    return typer.BadParameter(problem, param_hint=option)
