"""The command line: `fullrecall demo`, `evaluate FILE`, `compare BEFORE AFTER`, `gate REPORT`.

Exit codes: 0 done; 2 wrong usage or input that cannot be read; 130 interrupted; 141 whatever
read the output has closed it.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from fullrecall.cli import (
    calibration,
    comparison,
    demo,
    diagnosis,
    doctor,
    evaluation,
    examination,
    gate,
    inspection,
    page,
    summary,
    testset,
)

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


app.command(help=demo.HELP)(demo.demo)
app.command(help=evaluation.HELP)(evaluation.evaluate)
app.command(help=summary.HELP)(summary.summary)
app.command(help=comparison.HELP)(comparison.compare)
app.command(help=gate.HELP)(gate.gate)
app.command(help=diagnosis.HELP)(diagnosis.diagnose)
app.command(help=calibration.LABEL_HELP)(calibration.label)
app.command(help=calibration.CALIBRATE_HELP)(calibration.calibrate)
app.command(help=examination.HELP)(examination.judge)
app.command(help=inspection.HELP)(inspection.inspect)
app.command(help=page.HELP)(page.page)
app.add_typer(testset.app)
app.command(help=doctor.HELP)(doctor.doctor)


def main() -> None:
    """Run the command line; never returns."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that lacks a character gets "?" for it instead of a traceback.
            stream.reconfigure(errors="replace")
    app()
