"""Save and load reports, as JSON Lines or Parquet.

This module chooses the format by the file's name, and decides whether an existing file may be
replaced.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import filterfalse
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from fullrecall._util import naming
from fullrecall._util.extras import pyarrow
from fullrecall._util.parameters import as_path, listed
from fullrecall._util.places import Place, address_of, shown_path
from fullrecall._util.values import shown
from fullrecall._util.whole_files import temporary_path
from fullrecall.errors import ParameterError, ReportError
from fullrecall.files.reports import json_lines
from fullrecall.files.reports.row_writer import RowWriter
from fullrecall.files.reports.signature import is_own, is_report
from fullrecall.files.reports.stores import RemoteFolder, check_address, clear_address, no_stream
from fullrecall.measures.found import UNSCORED
from fullrecall.scorers.result import Method
from fullrecall.scorers.scorer import INTERRUPTED, LATE, NOT_JUDGED, OVER_BUDGET
from fullrecall.stats.evaluation import AnyEvaluation, Evaluation
from fullrecall.table.origin import UNKNOWN, Origin

_ENDINGS = (LATE, INTERRUPTED, OVER_BUDGET)
"""The notes of samples that are unscored because the run ended contain one of these reasons."""

SUFFIXES = (".jsonl", ".parquet")
"""The endings of the names of saved reports."""

PARQUET = (".parquet", ".parq")


def save(
    report: Evaluation,
    path: str | Path,
    *,
    replace: bool = False,
    default: Callable[[Any], Any] | None = None,
) -> None:
    """Write a report; see `Report.save`."""
    address = address_of(path)
    if address is not None:
        _save_at(report, address, replace=replace, default=default)
        return
    path = as_path(path)
    _check_target(path, replace=replace)
    make = _writer_class(path)
    path = path.resolve()  # replace the target of a link, not the link
    # Write to a temporary path, then move the report: if this process dies while it writes, the old
    # report stays.
    part = temporary_path(path)
    try:
        _write(report, make(part, report.methods, report.origin, default=default))
        _put_in_place(part, path)
    finally:
        remove(part)


def _save_at(
    report: Evaluation, address: str, *, replace: bool, default: Callable[[Any], Any] | None
) -> None:
    """Write a report to an address; with `replace`, an existing report is removed first."""
    _check_suffix(_path_in(address))
    check_address(address, replace=replace, way_out=way_out())
    clear_address(address)
    if _path_in(address).suffix == ".parquet":
        make = _parquet().ParquetWriter
        _write(report, make(address, report.methods, report.origin, default=default))
        return
    with TemporaryDirectory() as folder:
        local = Path(folder, "report.jsonl")
        save(report, local, default=default)
        Place(address, ReportError).write(local.read_bytes())


def _write(report: Evaluation, writing: RowWriter) -> None:
    """Write all rows of a report."""
    with writing:
        writing.stopped = report.stopped
        for rows in report.table.parts:
            writing.add(rows)


def _put_in_place(part: Path, path: Path) -> None:
    """Move a complete report to its path; if that fails, the old report stays."""
    if not path.is_dir() and not (part.is_dir() and path.exists()):
        part.replace(path)
        return
    old = temporary_path(path)  # move the old report away: a move cannot replace a folder
    path.replace(old)
    try:
        part.replace(path)
    except BaseException:
        old.replace(path)
        raise
    remove(old)


def remove(path: Path) -> None:
    """Remove a report, if there is one.

    If the directory has other files, they stay, and `OSError` is raised.
    """
    path = path.resolve()
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    for file in [each for each in path.iterdir() if is_own(each.name)]:
        file.unlink()
    path.rmdir()


def way_out() -> str:
    """Return the advice for a path that already has a report."""
    return f"pass {naming.parameter('replace', value=True)} to replace it, or name another file"


def writer(
    path: str | Path,
    methods: Sequence[Method],
    origin: Origin = UNKNOWN,
    *,
    after: int | None = None,
) -> RowWriter:
    """Return a writer for the rows of a run; with `after`, it keeps that many existing rows.

    A name that ends in ".parquet" becomes a directory of complete files. `origin` has the corpus
    with which labels were compared, and the name of the scored list. Raises `ReportError` if
    another run writes there, and if a local path has another suffix or exists. With `after`, the
    path may exist, unless it has files that do not belong to a report. An address must be one that
    `finished` or `clear` accepts.
    """
    address = address_of(path)
    if address is None:
        path = as_path(path, "output")
        _check_target(path, replace=after is not None)
    else:
        path = address
    return _writer_class(path)(path, methods, origin, default=str, after=after)


def finished(path: str | Path, methods: Sequence[Method], origin: Origin) -> Evaluation | None:
    """Return a report of the rows that an earlier run finished; None if there is no output.

    The rows end before the first row that was unscored because the run ended: by a deadline, a
    budget, an interruption, or a model that no longer answered. The report's `stopped` is None if
    the output is complete and all its rows are finished. Raises `ReportError` for a report by other
    methods, for one of another `origin`, and for a path with any other file.
    """
    if not _exists(path):
        return None
    _check_own(path)
    report = open_report(path, Evaluation)
    path = shown_path(path)
    if list(report.methods) != list(methods):
        raise ReportError(f"{path} has scores by other scorers or parameters: {way_out()}")
    if report.origin != origin:
        raise ReportError(f"{path} has scores over another corpus or view: {way_out()}")
    rows = _finished_rows(report)
    if rows < len(report):
        report.table = report.table.selected(np.arange(rows))
        report.stopped = report.stopped or f"{rows:,} rows are finished"
    return report


def _finished_rows(report: Evaluation) -> int:
    """Return the number of rows before the first row that is unscored because the run ended."""
    rows = len(report)
    for score in range(len(report.methods)):
        unscored = np.flatnonzero(report.table.status(score) == UNSCORED).tolist()
        notes = {row: report.table.result(row, score).note for row in unscored}
        ended = (row for row in unscored if any(why in notes[row] for why in _ENDINGS))
        rows = min(rows, next(ended, rows))
        # A run stops if its model no longer answers: drop its last rows, which were not judged.
        while report.stopped is not None and NOT_JUDGED in notes.get(rows - 1, ""):
            rows -= 1
    return rows


def clear(path: str | Path) -> None:
    """Remove the report at a path, if there is one; raise `ReportError` for anything else."""
    if _exists(path):
        _check_own(path)
        address = address_of(path)
        if address is None:
            remove(Path(path))
        else:
            clear_address(address)


def load(path: str | Path, make: type[AnyEvaluation]) -> AnyEvaluation:
    """Read a saved report; see `Report.load`."""
    as_path(path)
    if not _is_parquet(path):
        return json_lines.read(path, make)
    return _opened([path], make, whole=True)


def open_report(
    path: str | Path | Iterable[str | Path],
    make: type[AnyEvaluation],
    *,
    rows: int | None = None,
) -> AnyEvaluation:
    """Open a saved report; see `Report.open`."""
    paths: list[Any] = [path]
    if isinstance(path, Iterable) and not isinstance(path, (str, bytes)):
        paths = listed(path, "path", (str, bytes, os.PathLike), "paths")
    for each in paths:
        as_path(each)
    if rows is not None and (type(rows) is not int or rows < 0):
        raise ParameterError(f"must be a whole number >= 0, got {rows!r}", "rows")
    if any(map(_is_parquet, paths)) or len(paths) != 1 or rows is not None:
        return _opened(paths, make, rows)
    return load(paths[0], make)


def _opened(
    paths: Sequence[str | Path], make: type[AnyEvaluation], *rows: int | None, whole: bool = False
) -> AnyEvaluation:
    try:
        opened: AnyEvaluation = _parquet().opened(paths, make, *rows, whole=whole)
    except FileNotFoundError:
        for path in filter(os.path.isdir, paths):
            raise ReportError(f"{path} is a directory without a report") from None
        raise
    return opened


def _writer_class(path: str | Path) -> type[RowWriter]:
    if shown_path(path).endswith(".parquet"):
        written: type[RowWriter] = _parquet().ParquetWriter
        return written
    return json_lines.JsonLinesWriter


def _is_parquet(path: str | Path) -> bool:
    if address_of(path) is not None:
        return not shown_path(path).endswith(".jsonl")
    return Path(path).suffix in PARQUET or Path(path).is_dir()


def _parquet() -> Any:
    """Return the module for reports as Parquet; raise `MissingExtraError` without pyarrow."""
    pyarrow("a report as Parquet")
    from fullrecall.files.reports import parquet

    return parquet


def _exists(path: str | Path) -> bool:
    """Return whether a run's output path exists; raise `ReportError` for a wrong address."""
    address = address_of(path)
    if address is None:
        return os.path.lexists(as_path(path, "output"))
    _check_suffix(_path_in(address))
    if _path_in(address).suffix != ".parquet":
        raise no_stream(address)
    return not RemoteFolder(address, ReportError).is_free


def _check_own(path: str | Path) -> None:
    """Raise `ReportError` unless the path has a report, or an empty local file."""
    address = address_of(path)
    if address is not None:
        if not is_report(address):
            raise ReportError(f"{shown_path(address)} is not a saved report: name another file")
        check_address(address, replace=True, way_out="")
        return
    path = Path(path)
    _check_target(path, replace=True)
    if not path.exists():
        raise ReportError(f"{path} exists: it is a link to a file that does not")
    if not is_report(path) and (path.is_dir() or path.stat().st_size):
        raise ReportError(f"{path} is not a saved report: name another file")


def _path_in(address: str) -> PurePath:
    return PurePosixPath(urlsplit(address).path)


def _check_suffix(path: PurePath) -> None:
    if path.suffix not in SUFFIXES:
        raise ReportError(
            f"a report is saved as {' or '.join(SUFFIXES)}, got {path.name!r}: to_html, to_csv, "
            "and to_markdown write other files"
        )


def _check_target(path: Path, *, replace: bool) -> None:
    """Raise `ReportError` if a report may not be written to a path.

    The name must have a report's suffix, and its folder must exist. The path must not exist; with
    `replace` it may, unless it is a directory with other files.
    """
    _check_suffix(path)
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ReportError(
            f"{path} cannot be written: the folder {folder} does not exist: make it, or name a "
            "file in another one"
        )
    if os.path.lexists(path) and not replace:
        raise ReportError(f"{path} exists: {way_out()}")
    if path.is_dir() and not is_report(path):
        raise ReportError(f"{path} is a directory of other files: name another one")
    names = (each.name for each in path.iterdir()) if path.is_dir() else ()
    for name in sorted(filterfalse(is_own, names)):
        raise ReportError(
            f"{path} has {shown(name)}, which no report wrote: move it away, or name another "
            "directory"
        )
