"""Reports as directories: parts as Parquet files, and a manifest that names them.

A report of a few thousand samples is one file (`fullrecall.report.file`); one that is too large for
memory is a directory. Both hold the same, and are read by the same methods of `Report`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fullrecall.distributed import columns
from fullrecall.distributed.manifest import Manifest, PartRecord
from fullrecall.distributed.parquet_part import ENDING, GROUP, as_table, write_table
from fullrecall.errors import ReportError
from fullrecall.report.row import Row
from fullrecall.report.signature import MANIFEST
from fullrecall.report.text import ending
from fullrecall.result import Method

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_TEXT = 2**25
"""Characters of rows that wait to be written."""


class Writer:
    """Writes a report to a directory as its rows come; use it as a context manager.

    Of a run that is killed all parts stay that were whole, and the manifest says that it has no
    end. `replace` keeps what is there until the end instead, and then takes its place: what is
    killed leaves the old report. `stopped` is what the manifest says of a run that ended early; an
    error within the context says it too.

    Raises `ReportError` for a directory with other files than a report's, `MissingExtraError`
    without pyarrow.
    """

    def __init__(
        self,
        path: str | Path,
        methods: Sequence[Method],
        *,
        default: Callable[[Any], Any] | None = None,
        replace: bool = False,
    ) -> None:
        columns.schema(methods)  # without pyarrow, before anything is scored
        self._folder = prepared(path)
        self._methods = tuple(methods)
        self._default = default
        self._replace = replace
        self._cells: list[list[Any]] = []
        self._text = 0
        self._parts: list[PartRecord] = []
        self.stopped: str | None = None

    def write(self, row: Row) -> None:
        """Write one row.

        Raises `OSError` where the directory cannot take it, `ReportError` for metadata that JSON
        would change or cannot hold.
        """
        cells, text = columns.cells(row, self._default)
        self._cells.append(cells)
        self._text += text
        if len(self._cells) >= GROUP or self._text >= _MOST_TEXT:
            self._flush()

    def write_table(self, table: pa.Table) -> None:
        """Write many rows as one part: a table with the columns of `columns.schema`."""
        self._flush()
        self._add(table)

    def _flush(self) -> None:
        cells, self._cells, self._text = self._cells, [], 0
        if cells:
            self._add(as_table(cells, self._methods))

    def _add(self, table: pa.Table) -> None:
        number = f"{len(self._parts):06}"
        self._parts.append(write_table(self._folder, number, self._methods, table))
        if not self._replace:
            Manifest.of(self._methods, self._parts, end=False).write(self._folder)

    def __enter__(self) -> Self:
        if not self._replace:
            Manifest.of(self._methods, [], end=False).write(self._folder)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.stopped = ending(error)
            if self._replace:  # what is there stays
                self._forget()
                return
        try:
            if not isinstance(error, OSError):
                self._flush()
            commit(self._folder, self._methods, self._parts, stopped=self.stopped)
        except OSError:
            if error is None:  # else the first error tells
                raise

    def _forget(self) -> None:
        for part in self._parts:
            (self._folder / part.file).unlink(missing_ok=True)
        with suppress(OSError):  # not empty: there is a report
            self._folder.rmdir()


def commit(
    path: str | Path,
    methods: Sequence[Method],
    parts: Iterable[PartRecord],
    *,
    expected: Sequence[str] | None = None,
    stopped: str | None = None,
) -> None:
    """Write the manifest of the parts that workers wrote, in the place of what was there.

    `parts` are what `write_part` returned, in the order of their samples. A part that came twice,
    as a repeated task gives it, counts once: the first. `expected` names the parts in their order:
    the report then lacks those that did not come, and says which. Files that no manifest names any
    more are removed.

    Raises `ReportError` for a part that is not expected.
    """
    by_id: dict[str, PartRecord] = {}
    for part in parts:
        by_id.setdefault(part.id, part)
    if expected is not None:
        unknown = by_id.keys() - set(expected)
        if unknown:
            raise ReportError(f"part {min(unknown)!r} is not expected: it is of another run")
        missing = [name for name in expected if name not in by_id]
        if missing and stopped is None:
            named = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")  # noqa: PLR2004
            stopped = f"{len(missing):,} of its {len(expected):,} parts did not come: {named}"
        by_id = {name: by_id[name] for name in expected if name in by_id}
    folder = Path(path)
    Manifest.of(methods, list(by_id.values()), stopped=stopped).write(folder)
    kept = {part.file for part in by_id.values()}
    for file in folder.iterdir():
        if _is_part(file) and file.name not in kept:
            file.unlink(missing_ok=True)


def is_directory(path: str | Path) -> bool:
    """Whether a path names a report as a directory: by its ending, or by what is there."""
    text = os.fspath(path)
    return text.endswith(("/", os.sep, ENDING)) or Path(path).is_dir()


def check_directory(path: str | Path) -> None:
    """Raise `ReportError` where a report's directory cannot be: a file, or with other files."""
    folder = Path(path)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ReportError(f"{folder} is a file: name a directory, or remove it")
    foreign = [file for file in folder.iterdir() if not _is_ours(file)]
    if foreign:
        raise ReportError(
            f"{folder} has other files than a report's, such as {foreign[0].name!r}: name another "
            "directory"
        )


def prepared(path: str | Path) -> Path:
    """Return the directory at a path, made if it is not there; see `check_directory`."""
    check_directory(path)
    folder = Path(path)
    folder.mkdir(exist_ok=True)
    return folder


def _is_ours(file: Path) -> bool:
    return _is_part(file) or file.name.startswith(MANIFEST)


def _is_part(file: Path) -> bool:
    return file.name.startswith(("part-", ".part-")) and ENDING in file.name
