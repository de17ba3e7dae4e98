"""A file that one process at a time writes, and that is whole whatever ends it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fullrecall.errors import ReportError


@contextmanager
def locked(path: Path | None) -> Iterator[None]:
    """Hold a file against other processes; they leave `ReportError`, which names it.

    The lock is SQLite's on an empty file beside it: it works on every system, and whatever ends the
    process, kill -9 included, lets go of it.
    """
    if path is None:
        yield
        return
    import sqlite3

    lock = path.with_name(f"{path.name}.lock")
    with closing(sqlite3.connect(lock, timeout=0, isolation_level=None)) as database:
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise ReportError(
                f"{path} is in use by another call: wait until it ends, or name another file"
            ) from None
        yield


def write_whole(path: Path, text: str) -> None:
    """Write a text to a file; after a crash, of the machine too, it is the old one or the new."""
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_directory(path.parent)


def _sync_directory(folder: Path) -> None:
    """Have a rename survive a crash of the machine, where directories can be opened."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows
        return
    try:
        os.fsync(number)
    finally:
        os.close(number)
