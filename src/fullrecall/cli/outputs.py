"""Where a report may be written: nowhere that costs the user a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

_OPTION = "--output"


def check_output(path: Path, inputs: Iterable[Path | None]) -> None:
    """Raise `typer.BadParameter` where writing to `path` would overwrite what is no report."""
    if not path.exists():
        if not path.parent.is_dir():
            raise typer.BadParameter(f"there is no directory {path.parent}", param_hint=_OPTION)
        return
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a directory: name a file", param_hint=_OPTION)
    if any(given is not None and path.samefile(given) for given in inputs):
        raise typer.BadParameter(
            f"{path} is what is read: the report would overwrite it", param_hint=_OPTION
        )
    if path.is_file() and not _is_replaceable(path):
        raise typer.BadParameter(
            f"{path} exists and is no saved report: name another file", param_hint=_OPTION
        )


def _is_replaceable(path: Path) -> bool:
    """Whether a file is empty or a report that was saved before."""
    with path.open("rb") as file:
        start = file.read(64)
    return not start or start.startswith(b'{"kind": "fullrecall report"')
