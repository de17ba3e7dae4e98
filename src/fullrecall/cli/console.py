"""What reaches the terminal: results on standard output, problems on standard error."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from fullrecall.cli.problems import as_options
from fullrecall.show import terminal

if TYPE_CHECKING:
    from rich.console import RenderableType

WRONG_INPUT = 2
INTERRUPTED = 130
PIPE_CLOSED = 141  # 128 + SIGPIPE, what the shell gives for any program that this ends


def show(*parts: RenderableType) -> None:
    """Print `parts` on standard output, one below the other; sentences name options."""
    worded = (as_options(part) if isinstance(part, str) else part for part in parts)
    write(terminal.printed(terminal.console(sys.stdout), worded))


def write(text: str) -> None:
    """Write `text` to standard output; exit quietly where its reader has gone (`… | head`)."""
    if sys.stdout is None:  # closed by whatever started this
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit, which would fail again, and aloud.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from None


def write_json(values: Any) -> None:
    """Write plain values as JSON to standard output."""
    write(json.dumps(values, indent=2, default=str) + "\n")


def show_result(
    values: Callable[[], Any], parts: Iterable[RenderableType], *, as_json: bool
) -> None:
    """Print the `parts` of what a command comes to, or its plain `values` as JSON."""
    if as_json:
        write_json(values())
    else:
        show(*parts)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings as notes on standard error, without the line of code they came from."""

    # "always": Python shows a warning once for each line of code, and not for each file read.
    def note(message: Warning | str, *_: object, **__: object) -> None:
        if sys.stderr is not None:
            sys.stderr.write(f"Note: {as_options(str(message))}\n")

    with warnings.catch_warnings():
        # What other packages deprecate tells their developers something; ours are UserWarnings.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = note
        yield


def fail(title: str, *lines: str, code: int = WRONG_INPUT) -> NoReturn:
    """Print one block about what went wrong on standard error, and exit with `code`."""
    from rich.text import Text

    console = terminal.console(sys.stderr)
    head = Text.assemble(("Error: ", "bold red"), (title, "bold"))
    below = [terminal.indented(Text(line)) for line in lines]
    sys.stderr.write(terminal.printed(console, [head], unbroken=True))
    sys.stderr.write(terminal.printed(console, below))
    raise typer.Exit(code)
