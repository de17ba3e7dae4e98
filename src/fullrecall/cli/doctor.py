"""`fullrecall doctor`: does what is installed here work?"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

import typer

from fullrecall.cli.console import show, write, write_json
from fullrecall.cli.exits import wrong
from fullrecall.cli.installation import Check, State, checks_of
from fullrecall.cli.judge import judge_of
from fullrecall.views import terminal
from fullrecall.views.sheet import Cell, CellLike, Section, Sheet, lines_of
from fullrecall.views.terminal import Grid
from fullrecall.views.text import NOTHING

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
        raise wrong("--directory", f"no directory {directory}")
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


def _table(checks: Sequence[Check]) -> Grid:
    sections = []
    for group, members in groupby(checks, key=lambda check: check.group):
        rows = [(check.name, [check.found or NOTHING, _WORDS[check.state]]) for check in members]
        sections.append(Section(group, lines_of(rows)))
    return Grid(Sheet(["version", "state"], sections))


_WORDS: Mapping[str, CellLike] = {
    State.OK: Cell("ok"),
    State.ABSENT: Cell("not installed"),
    State.BROKEN: Cell("BROKEN", "bad"),
}


def _notes(checks: Sequence[Check]) -> list[str]:
    """Return what to do about what is absent, then about what is broken; commands unbroken."""
    absent = dict.fromkeys(check.advice for check in checks if check.state is State.ABSENT)
    broken = [check for check in checks if check.state is State.BROKEN]
    lines = ["", "Not installed; to install:", *(f"  {command}" for command in absent)]
    if not broken:
        return [*(lines if absent else []), "", "Every installed part works."]
    lines = [*(lines if absent else []), "", f"{len(broken)} of {len(checks)} fail:"]
    return [*lines, *(f"  {check.name}: {check.advice}" for check in broken)]
