"""Reports as directories: parts as Parquet files, and a manifest that names them.

A report of a few thousand samples is one file (`fullrecall.report.file`); one that is too large for
memory is a directory. Both hold the same, and are read by the same methods of `Report`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fullrecall.distributed.parquet import columns
from fullrecall.distributed.parquet.manifest import Manifest, PartRecord
from fullrecall.distributed.parquet.part import ENDING, GROUP, as_table, write_table
from fullrecall.distributed.parquet.staging import Staging, alone, is_ours, publish, put_in_place
from fullrecall.errors import ReportError
from fullrecall.report.text import ending
from fullrecall.result import Method
from fullrecall.table.row import Row

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

    Raises `ReportError` for a directory with other files than a report's and for one that another
    run is writing to, `MissingExtraError` without pyarrow.
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
        self._directory = prepared(path)
        self._methods = tuple(methods)
        self._default = default
        self._staging: Staging | None = None
        self._replace = replace
        self._held = ExitStack()
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
        if self._staging is None:
            Manifest.of(self._methods, self._parts, end=False).write(self._directory)

    @property
    def _folder(self) -> Path:
        return self._directory if self._staging is None else self._staging.folder

    def __enter__(self) -> Self:
        if self._replace:
            self._staging = Staging(self._directory)
            self._held.callback(self._staging.close)
        else:
            self._held.enter_context(alone(self._directory))
            Manifest.of(self._methods, [], end=False).write(self._directory)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._held:
            if error is not None:
                self.stopped = ending(error)
                if self._replace:  # what is there stays
                    return
            try:
                if not isinstance(error, OSError):
                    self._flush()
                self._end()
            except OSError:
                if error is None:  # else the first error tells
                    raise

    def _end(self) -> None:
        made = Manifest.of(self._methods, self._parts, stopped=self.stopped)
        where = {part.file: self._folder / part.file for part in self._parts}
        if self._staging is None:  # nobody else writes here
            put_in_place(self._directory, made, where)
        else:
            publish(self._directory, made, where)


def is_directory(path: str | Path) -> bool:
    """Whether a path names a report as a directory: by its ending, or by what is there."""
    text = os.fspath(path)
    return text.endswith(("/", os.sep, ENDING)) or Path(path).is_dir()


def check_directory(path: str | Path) -> None:
    """Raise `ReportError` where a report's directory cannot be: a file, or with other files."""
    if "://" in os.fspath(path):
        raise ReportError(
            f"{path} is an address: expected a directory that this machine reaches by a path, "
            "such as a mounted one; object stores are not supported"
        )
    folder = Path(path)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ReportError(f"{folder} is a file: name a directory, or remove it")
    foreign = [file for file in folder.iterdir() if not is_ours(file)]
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
