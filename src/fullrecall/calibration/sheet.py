"""Sheets that people fill in: CSV for a spreadsheet, JSON Lines for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fullrecall.errors import ParameterError
from fullrecall.views.exports import written, written_table
from fullrecall.views.spreadsheet import table


def check(path: str | Path) -> None:
    """Raise `ParameterError` where `path` has no known ending, or something is there."""
    if Path(path).suffix not in (".csv", ".jsonl"):
        raise ParameterError(f"path must end in .csv or .jsonl, got {Path(path).name!r}")
    if Path(path).exists():
        raise ParameterError(f"{path} exists and may hold labels: name another file")


def write(
    path: str | Path, cells: Iterable[Sequence[Any]], objects: Iterable[Mapping[str, Any]]
) -> None:
    """Write a new sheet: `cells`, the head first, as CSV, or `objects` as JSON, by its ending."""
    check(path)
    if Path(path).suffix == ".csv":
        written_table(table(cells), path)
    else:
        written("".join(json.dumps(values) + "\n" for values in objects), path)
