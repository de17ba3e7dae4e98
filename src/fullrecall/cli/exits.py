"""How the command line ends, other than by success: its exit codes, and options it refuses."""

from __future__ import annotations

import typer

WRONG_INPUT = 2
INTERRUPTED = 130
PIPE_CLOSED = 141  # 128 + SIGPIPE, what the shell gives for any program that this ends


def bad_option(option: str, problem: str) -> typer.BadParameter:
    """Return the error for the value of an option: the option, then what is wrong with it."""
    return typer.BadParameter(problem, param_hint=option)
