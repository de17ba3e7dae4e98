"""Forms that people fill in: CSV for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fullrecall.errors import ParameterError
from fullrecall.show.output import written
from fullrecall.show.spreadsheet import BOM, table


def check(path: str | Path) -> None:
    """Raise `ParameterError` where `path` does not end in .csv, or something is there."""
    if Path(path).suffix != ".csv":
        raise ParameterError(f"must end in .csv, got {Path(path).name!r}", "path")
    if Path(path).exists():
        raise ParameterError(f"{path} exists and may hold labels: name another file")


def write(path: str | Path, cells: Iterable[Sequence[Any]]) -> None:
    """Write a new sheet of `cells`, the head first."""
    check(path)
    written(table(cells), path, BOM)
