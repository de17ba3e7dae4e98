"""The places where a report's files are written: a local directory, or a folder at an address."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from fullrecall._util.places import Place, address_of, shown_path
from fullrecall.errors import ReportError
from fullrecall.files.reports.signature import is_own


class LocalFolder:
    """A local directory: files appear when they are complete, and one run writes at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._descriptor: int | None = None

    def make(self) -> None:
        """Make the directory, which must not exist."""
        self.path.mkdir()

    def lock(self) -> None:
        """Keep other runs out; raise `ReportError` if one writes here. Does nothing on Windows."""
        if sys.platform == "win32":
            return
        self._descriptor = os.open(self.path, os.O_RDONLY)
        try:
            lock(self._descriptor, self.path)
        except ReportError:
            self.unlock()
            raise

    def unlock(self) -> None:
        """Allow other runs to write here."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def names(self) -> list[str]:
        """Return the names of all files."""
        return [each.name for each in self.path.iterdir()]

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return (self.path / name).read_bytes()

    def write(self, content: Any, name: str) -> None:
        """Write a file in one step, so that no other program sees half of it."""
        hidden = self.path / f".{name}"
        hidden.write_bytes(content)
        hidden.replace(self.path / name)

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.path / name).unlink()


class RemoteFolder(Place):
    """A folder at an address. Object stores show only complete files, and have no locks."""

    def lock(self) -> None:
        """Do nothing: object stores have no locks."""

    unlock = lock

    def names(self) -> list[str]:
        """Return the names of all files."""
        return self.files()

    @property
    def is_free(self) -> bool:
        """Whether the address has no file, and no folder with files; empty folders do not count."""
        kind = self.kind
        return kind is None or (kind == "folder" and not self.names())


def folder_at(path: str | Path) -> LocalFolder | RemoteFolder:
    """Return the folder at a path or an address."""
    address = address_of(path)
    return LocalFolder(path) if address is None else RemoteFolder(address, ReportError)


def check_address(address: str, *, replace: bool, way_out: str) -> None:
    """Raise `ReportError` unless a report may be written to an address.

    With `replace`, the address may have a file, or a folder with only a report's files.
    """
    place = RemoteFolder(address, ReportError)
    if place.is_free:
        return
    if not replace:
        raise ReportError(f"{place.shown} exists: {way_out}")
    for name in place.names() if place.kind == "folder" else ():
        if not is_own(name):
            raise ReportError(
                f"{place.shown} has {name!r}, which no report wrote: move it away, or name another "
                "folder"
            )


def clear_address(address: str) -> None:
    """Remove the files of the report at an address, if there is one."""
    place = RemoteFolder(address, ReportError)
    if place.kind == "file":
        place.remove()
    elif place.kind == "folder":
        for name in filter(is_own, place.names()):
            place.remove(name)


def no_stream(path: object) -> ReportError:
    """Return the error for appending rows to a single file at an address."""
    return ReportError(
        f"{shown_path(path)}: no file at an address grows line by line: name a folder that ends "
        "in .parquet, or a local file"
    )


def lock(descriptor: int, path: Path) -> None:
    """Lock an open file or directory until it is closed.

    Raises `ReportError` if another run holds the lock. Does nothing if the system or the file
    system has no such locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such locks.
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ReportError(f"another run writes to {path}: wait for its end") from None
    except OSError:  # This file system has no locks.
        return
