"""Which file holds a report in which form, and what becomes of a file that is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fullrecall.errors import ReportError
from fullrecall.report.report import Report
from fullrecall.results.files import json_lines

SUFFIXES = (".jsonl",)
"""How the names of saved reports end."""


def save(
    report: Report,
    path: str | Path,
    *,
    replace: bool = False,
    default: Callable[[Any], Any] | None = None,
) -> None:
    """Write a report; see `Report.save`."""
    path = Path(path)
    check_suffix(path)
    check_absent(path, replace=replace)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with json_lines.Writer(part, report.methods, default=default) as writer:
            writer.stopped = report.stopped
            for row in report:
                writer.write(row.sample, row.results)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load(path: str | Path) -> Report:
    """Read a saved report; see `Report.load`."""
    saved = json_lines.read(path)
    report = Report(saved.methods)
    for part in saved.parts:
        report.table.add(part)
    report.stopped = saved.stopped
    return report


def open_report(path: str | Path | Iterable[str | Path], *, rows: int | None = None) -> Report:
    """Open a saved report; see `Report.open`."""
    if not isinstance(path, (str, Path)) or rows is not None:
        raise ReportError("only one file of JSON Lines can be opened")
    return load(path)


def check_suffix(path: Path) -> None:
    """Raise `ReportError` for a name that does not say in which form the report is saved."""
    if path.suffix not in SUFFIXES:
        raise ReportError(
            f"a report is saved as {' or '.join(SUFFIXES)}, got {path.name!r}: to_html, to_csv, "
            "to_json, to_markdown, and to_junit write other files"
        )


def check_absent(path: Path, *, replace: bool) -> None:
    """Raise `ReportError` for a path at which something is, unless it may be replaced."""
    if path.exists() and not replace:
        raise ReportError(f"{path} exists: pass replace=True to replace it, or name another file")
