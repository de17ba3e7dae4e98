"""`fullrecall doctor`: does what is installed here work?"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullrecall.cli.console import fail, show, write
from fullrecall.cli.installation import Check, State, examined
from fullrecall.cli.judge import KINDS, JudgeOptions, judge_of
from fullrecall.cli.problems import explained
from fullrecall.errors import FullrecallError
from fullrecall.views import terminal

if TYPE_CHECKING:
    from rich.table import Table

NOT_WELL = 1

HELP = """\
Missing extras come with an install command. Exit code 1: an installed part fails. Nothing is \
sent anywhere, unless --judge names a model: it is then asked for one verdict.

Examples:
  fullrecall doctor
  fullrecall doctor --directory /mnt/shared
  fullrecall doctor --judge openai:qwen3 --base-url http://localhost:11434/v1
"""


def doctor(
    *,
    directory: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY",
            show_default=False,
            exists=True,
            file_okay=False,
            help="Try a store here. Default: where temporary files are.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="JUDGE", show_default=False, help=f"Also ask this judge: {KINDS}."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", show_default=False, help="Endpoint of --judge openai:MODEL."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the checks as JSON and nothing else.")
    ] = False,
) -> None:
    """Check the installation; see `HELP`."""
    try:
        asked = judge_of(JudgeOptions(judge, base_url))
    except FullrecallError as error:
        fail(*explained(error))
    with terminal.console(sys.stderr).status("Trying what is installed…"):
        checks = list(examined(directory, asked))
    is_well = not any(check.state is State.BROKEN for check in checks)
    if as_json:
        plain = {"ok": is_well, "checks": [check._asdict() for check in checks]}
        write(json.dumps(plain, indent=2) + "\n")
    else:
        show(_table(checks))
        write("\n".join([*_notes(checks), ""]))
    if not is_well:
        raise typer.Exit(NOT_WELL)


def _table(checks: Sequence[Check]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=False)
    for _ in range(3):
        grid.add_column()
    for nth, (group, members) in enumerate(groupby(checks, key=lambda check: check.group)):
        if nth:
            grid.add_row()
        grid.add_row(Text(group, style="bold cyan"))
        for check in members:
            style = "bold red" if check.state is State.BROKEN else ""
            told = Text(_WORDS[check.state], style=style)
            grid.add_row(Text(f"  {check.name}"), Text(check.found or "-"), told)
    return grid


_WORDS = {State.OK: "ok", State.ABSENT: "not installed", State.BROKEN: "BROKEN"}


def _notes(checks: Sequence[Check]) -> list[str]:
    """Return what to do about what is absent, then about what is broken; commands unbroken."""
    absent = dict.fromkeys(check.advice for check in checks if check.state is State.ABSENT)
    broken = [check for check in checks if check.state is State.BROKEN]
    lines = ["", "Not installed; to install:", *(f"  {one}" for one in absent)]
    if not broken:
        return [*(lines if absent else []), "", "Every installed part works."]
    lines = [*(lines if absent else []), "", f"{len(broken)} of {len(checks)} fail:"]
    return [*lines, *(f"  {check.name}: {check.advice}" for check in broken)]
