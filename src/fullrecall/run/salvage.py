"""What can be read of a damaged store, in a new one.

SQLite gives up a table with its first damaged page. Here each page of a copy is read as if it were
the whole table: a page of rows is one, and SQLite refuses all others. The checksum of each row
tells whether it is whole, so that nothing is taken on trust.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fullrecall.run.store_file import checksum_of, connected, writing

_PAGE = 4_096  # bytes of a page, unless a file says another size
_TABLE = "CREATE TABLE asks (key, value, sum, name, made, failed, token, place, pid, until)"
_UNKNOWN = "unknown"  # the model of a row, where its name was on a damaged page


def salvaged(path: Path) -> str:
    """Copy what can be read of a damaged store; return what was and where, empty for nothing.

    The copy is made once: a second call names the one that is there.
    """
    target = path.with_stem(f"{path.stem}-salvaged")
    if target.exists():
        return f"; what could be read of it is in {target}"
    try:
        with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            new = Path(folder, "new")
            answers = _written(new, _mended(path, Path(folder)))
            if not answers:
                return ""
            with suppress(FileExistsError):  # another process was faster
                os.link(new, target)
    except (OSError, sqlite3.Error) as error:
        return f"; what can be read of it cannot be saved: {error}"
    return f"; {answers:,} answers of it could be read, and are in {target}: go on with that"


def _mended(path: Path, folder: Path) -> Path:
    """Return a copy, with its log, whose first page says that it is a store."""
    copy, log, empty = (folder / name for name in ("copy", "copy-wal", "empty"))
    shutil.copyfile(path, copy)
    with suppress(FileNotFoundError):
        shutil.copyfile(path.with_name(f"{path.name}-wal"), log)
    try:
        with closing(connected(copy)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.DatabaseError:
        writing(empty).close()
        page = bytearray(empty.read_bytes()[:_PAGE])
        page[92:96] = bytes(4)  # its count of pages is of another file: SQLite is to count them
        with copy.open("r+b") as file:
            file.write(page)
    return copy


def _written(path: Path, damaged: Path) -> int:
    """Write the whole answers of a damaged store to a new one; return how many."""
    answers = 0
    with closing(writing(path)) as new, closing(connected(damaged)) as old:
        new.execute("PRAGMA journal_mode = DELETE")  # one file, whole when it is named
        new.execute("BEGIN")
        names: dict[int, str] = {}
        with suppress(sqlite3.DatabaseError):
            names = dict(old.execute("SELECT id, name FROM names"))
        for key, value, checksum, number, made in _rows(old):
            if str(key).startswith("answer:") and checksum_of(key, value) == checksum:
                name = names.get(number, _UNKNOWN)
                new.execute("INSERT OR IGNORE INTO names (name) VALUES (?)", (name,))
                answers += new.execute(
                    "INSERT OR IGNORE INTO asks (key, value, sum, name, made) "
                    "SELECT ?, ?, ?, id, ? FROM names WHERE name = ?",
                    (key, value, checksum, made, name),
                ).rowcount
        new.execute("COMMIT")
    return answers


def _rows(connection: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """Yield every row that can be read, and some twice: inner pages have those of others."""
    connection.execute("PRAGMA writable_schema = ON")  # a file that was cut off is opened, too
    connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'asks'", (_TABLE,))
    connection.execute("DELETE FROM sqlite_master WHERE name <> 'asks'")
    for page in range(2, connection.execute("PRAGMA page_count").fetchone()[0] + 1):
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("BEGIN")
        connection.execute("UPDATE sqlite_master SET rootpage = ?", (page,))
        connection.execute("PRAGMA writable_schema = RESET")
        with suppress(sqlite3.DatabaseError):
            yield from connection.execute("SELECT key, value, sum, name, made FROM asks")
        connection.execute("ROLLBACK")
