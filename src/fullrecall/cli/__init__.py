"""The command line: `fullrecall demo`, `evaluate FILE`, `compare BEFORE AFTER`, `gate REPORT`.

Exit codes: 0 done; 2 wrong usage or input that cannot be read; 130 interrupted; 141 whatever
read the output has closed it.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from fullrecall.cli.commands import Commands

__all__ = ["app", "main"]

_HELP = """\
How much of what a question needs does your retriever find?

Measures context recall: by document ID, text, characters, entities, and claims.

[bold]Start here[/]
  fullrecall demo
  fullrecall evaluate answers.jsonl --k 5 --missed 20
  fullrecall gate report.jsonl --min-recall 0.9 --k 10
"""

app = typer.Typer(
    name="fullrecall",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:  # noqa: FBT001 - typer calls it so
    if asked:
        from fullrecall import __version__

        typer.echo(f"fullrecall {__version__}")
        raise typer.Exit


@app.callback(help=_HELP)
def _fullrecall(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main() -> None:
    """Run the command line; never returns."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that lacks a character gets "?" for it instead of a traceback.
            stream.reconfigure(errors="replace")
    app()
