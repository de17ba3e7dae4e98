"""Where a report may be written, and as what: nowhere that costs the user a file."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import typer

from fullrecall.measures import Measure
from fullrecall.report import Report
from fullrecall.report.signature import is_report

_OPTION = "--output"

STARTS: Mapping[str, bytes] = {
    ".jsonl": b'{"kind": "fullrecall report"',
    ".json": b'{\n "kind": "fullrecall scores"',
    ".csv": b"sample,user_input,group",
    ".md": b"### Context recall, ",
    ".xml": b'<testsuite package="fullrecall"',
    ".html": b'<meta name="generator" content="fullrecall',
}
"""What the ending of a file's name says it is to be, and what stands in the head of our own."""

_HEAD = 1024


def check_output(path: Path, inputs: Iterable[Path | None], *, replace: bool) -> None:
    """Raise `typer.BadParameter` where `path` cannot be, or must not be, what is written.

    Because its ending is no format of ours, because something is there that must not be replaced,
    or because that is no report.
    """
    there = [given for given in inputs if given is not None and given.exists()]
    if path.exists() and any(map(path.samefile, there)):
        raise typer.BadParameter(f"must not be an input file, got {path}", param_hint=_OPTION)
    if path.suffix == ".parquet":
        _check_parquet(path)
    else:
        check_writable(path, _OPTION)
    if path.exists() and not is_device(path) and not replace:
        raise typer.BadParameter(
            f"{path} exists: pass --replace to replace it, or name another file",
            param_hint=_OPTION,
        )
    if path.suffix == ".parquet":
        return
    if not is_device(path) and path.suffix not in STARTS:
        raise typer.BadParameter(
            f"must end in {', '.join(STARTS)}, or in .parquet for a directory, got {path.name!r}: "
            "other commands read .jsonl and .parquet",
            param_hint=_OPTION,
        )


def _check_parquet(path: Path) -> None:
    """Raise `typer.BadParameter` where a report cannot be a directory of Parquet files."""
    from fullrecall.errors import FullrecallError
    from fullrecall.extras import pyarrow

    if not path.parent.is_dir():
        raise typer.BadParameter(f"no directory {path.parent}", param_hint=_OPTION)
    try:
        pyarrow("a report as Parquet")
    except FullrecallError as error:
        raise typer.BadParameter(str(error), param_hint=_OPTION) from None
    if path.exists() and not is_report(path):
        raise typer.BadParameter(
            f"{path} exists and is not a saved report: name another", param_hint=_OPTION
        )


def remove(path: Path) -> None:
    """Remove a report that is to be replaced, if there is one; a device stays."""
    if path.is_dir():
        shutil.rmtree(path)
    elif not is_device(path):
        path.unlink(missing_ok=True)


def check_writable(path: Path, option: str) -> None:
    """Raise `typer.BadParameter` where writing to `path` would overwrite what is not ours."""
    if not path.exists():
        if not path.parent.is_dir():
            raise typer.BadParameter(f"no directory {path.parent}", param_hint=option)
        return
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a directory: name a file", param_hint=option)
    if path.is_file() and not _is_replaceable(path):
        raise typer.BadParameter(
            f"{path} exists and is not a saved report: name another file", param_hint=option
        )


def is_exported(path: Path | None) -> bool:
    """Whether the report is to be written in one of the formats that are made at the end."""
    return (
        path is not None
        and not is_device(path)
        and path.suffix not in {".jsonl", ".parquet"}
        and path.suffix in STARTS
    )


def export(report: Report, path: Path, measures: Sequence[Measure] = ()) -> None:
    """Write the report to `path` as what its name says."""
    match path.suffix:
        case ".json":
            report.to_json(path, measures=measures)
        case ".csv":
            report.to_csv(path, measures=measures)
        case ".md":
            report.to_markdown(path, measures=measures)
        case ".xml":
            report.to_junit(path, measures=measures)
        case ".html":
            report.to_html(path, measures=measures)


def is_device(path: Path) -> bool:
    """Whether `path` is there and no file, such as a pipe: it takes the lines as they come."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _is_replaceable(path: Path) -> bool:
    """Whether a file is empty or a report that was written before."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    ours = STARTS.get(path.suffix)
    return not head or (ours is not None and ours in head)
