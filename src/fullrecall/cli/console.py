"""Output to the terminal: results on standard output, problems on standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from fullrecall._util import naming
from fullrecall.cli.streams import write
from fullrecall.errors import FullrecallError, InputError, MissingExtraError, ParameterError
from fullrecall.show import terminal

if TYPE_CHECKING:
    from rich.console import RenderableType

WRONG_INPUT = 2
INTERRUPTED = 130


def show(*parts: RenderableType) -> None:
    """Print `parts` on standard output, one below another."""
    write(terminal.printed(terminal.console(sys.stdout), parts))


def write_json(values: Any) -> None:
    """Write plain values as JSON to standard output."""
    write(json.dumps(values, indent=2, default=str) + "\n")


def show_result(
    values: Callable[[], Any], parts: Iterable[RenderableType], *, as_json: bool
) -> None:
    """Print the `parts` of a command's result, or its plain `values` as JSON."""
    if as_json:
        write_json(values())
    else:
        show(*parts)


class UnfinishedRun(Exception):  # noqa: N818 - its cause is the error
    """A run that an error ended early; the message has the number of scored samples."""


@contextmanager
def reporting(flags: Mapping[str | None, str], words: Sequence[str]) -> Iterator[None]:
    """Print warnings as notes, and errors as one block with an exit code.

    Messages name options, not parameters: `flags` maps the command's parameters to its options, and
    `words` are the words that the user typed.
    """
    try:
        with naming.options(*words), _warnings_as_notes():
            yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except UnfinishedRun as run:
        if isinstance(run.__cause__, KeyboardInterrupt):
            fail("interrupted", str(run), code=INTERRUPTED)
        fail(*_explained(run.__cause__, flags), str(run))
    except (FullrecallError, OSError) as error:
        fail(*_explained(error, flags))


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print warnings as notes on standard error, without their line of code."""

    def note(message: Warning | str, *_: object, **__: object) -> None:
        if sys.stderr is not None:
            sys.stderr.write(f"Note: {message}\n")

    with warnings.catch_warnings():
        # Other packages' deprecations concern their developers; those of this package are
        # UserWarnings.
        warnings.simplefilter("ignore")
        # By default, Python shows a warning only once for each line of code, but the same line may
        # warn about several input files.
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = note
        yield


def _explained(error: BaseException | None, flags: Mapping[str | None, str]) -> tuple[str, ...]:
    """Convert an error to a title and lines below it: the place, the problem, the fix."""
    if isinstance(error, InputError):
        lines = error.problem.splitlines()
        if error.field is not None:
            lines.append(f"field: {error.field}")
        path = "standard input" if error.path == "-" else error.path or "the input"
        return (path if error.line is None else f"{path}, line {error.line:,}", *lines)
    if isinstance(error, MissingExtraError):
        reason, _, command = str(error).rpartition(": ")
        return (reason, command)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return (f"{where}{error.strerror or error}",)
    if isinstance(error, ParameterError) and error.parameter in flags:
        return (f"{flags[error.parameter]} {error.problem}",)
    return (str(error),)


def fail(title: str, *lines: str, code: int = WRONG_INPUT) -> NoReturn:
    """Print one block about the error on standard error, and exit with `code`."""
    from rich.text import Text

    console = terminal.console(sys.stderr)
    head = Text.assemble(("Error: ", "bold red"), (title, "bold"))
    sys.stderr.write(terminal.printed(console, [head], unbroken=True))
    for line in lines:
        # Print a command on one line: if it is wrapped, it cannot be pasted.
        is_command = line.startswith("fullrecall ")
        below = [Text(line) if is_command else terminal.indented(Text(line))]
        sys.stderr.write(terminal.printed(console, below, unbroken=is_command))
    raise typer.Exit(code)
