"""`fullrecall doctor`: does what is installed here work?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from fullrecall.cli.console import show, write, write_json
from fullrecall.cli.installation import Check, State, checks_of
from fullrecall.cli.judge import judge_of
from fullrecall.views import terminal

NOT_WELL = 1


def doctor(
    *,
    directory: Path | None = None,
    judge: str | None = None,
    base_url: str | None = None,
    as_json: bool = False,
) -> None:
    """Check the installation.

    Missing extras come with an install command. Exit code 1: an installed part fails. Nothing is
    sent anywhere, unless --judge names a model: it is then asked for one verdict.

    Examples:
      fullrecall doctor
      fullrecall doctor --directory /mnt/shared
      fullrecall doctor --judge openai:qwen3 --base-url http://localhost:11434/v1

    - `directory DIRECTORY`: Try a store here. Default: where temporary files are.
    - `judge`: Also ask this judge: lexical, nli:MODEL, openai:MODEL or anthropic:MODEL.
    - `base_url`: Endpoint of --judge openai:MODEL.
    """
    if directory is not None and not directory.is_dir():
        raise typer.BadParameter(f"no directory {directory}", param_hint="--directory")
    examined = judge_of(judge, base_url)
    with terminal.console(sys.stderr).status("Trying what is installed…"):
        checks = list(checks_of(directory, examined))
    is_well = not any(check.state is State.BROKEN for check in checks)
    if as_json:
        write_json({"ok": is_well, "checks": [check._asdict() for check in checks]})
    else:
        show(_table(checks))
        write("\n".join([*_notes(checks), ""]))
    if not is_well:
        raise typer.Exit(NOT_WELL)


def _table(checks: Sequence[Check]) -> Table:
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
