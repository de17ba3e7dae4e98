"""The file of a store: is it one, and connections to it."""

from __future__ import annotations

import sqlite3
import time
import zlib
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from fullrecall.errors import StoreError

VERSION = 4
_APPLICATION = 0x66524331  # "fRC1": SQLite's own field for whose file this is
_WAY_OUT = "name another file, or move this one away"
_HEADER = 100  # bytes that every file of SQLite has at least
PATIENCE = 30.0  # seconds to wait for another process's transaction, which takes milliseconds
_CHECKED = 256 << 20  # bytes up to which the whole file is checked when it is opened

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS asks (key TEXT PRIMARY KEY, record TEXT, sum INTEGER)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


def check(path: Path) -> None:
    """Raise `StoreError` for what is not a store, a damaged or a newer one; write nothing."""
    if not path.parent.is_dir():
        raise StoreError(f"no directory {path.parent} for the store {path.name}")
    if path.exists() and not path.is_file():
        raise StoreError(f"the store {path} cannot be read: it is not a regular file")
    # Nothing but SQLite opens the file: to close it would drop the locks that this process has on
    # it, and another process could delete a log that is still written to (howtocorrupt.html, 2.2).
    size = path.stat().st_size if path.exists() else 0
    if not size:
        return
    if size < _HEADER:  # SQLite takes a file of a few bytes for an empty one, and overwrites it
        raise StoreError(f"{path} is not a store, nor any SQLite file: {_WAY_OUT}")
    try:
        # Read only: a connection that may write rolls back what another program left half done.
        with closing(reading(path)) as connection:
            _check_ours(path, connection)
    except sqlite3.OperationalError as error:
        raise StoreError(f"the store {path} cannot be read: {error}") from None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is not a store, or damaged ({error}): {_WAY_OUT}") from None


def _check_ours(path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")  # one view, while another process makes the tables
    application = _pragma(connection, "application_id")
    version = _pragma(connection, "user_version")
    # The check reads every page of the file.
    if path.stat().st_size <= _CHECKED:
        whole = _pragma(connection, "quick_check(1)")
        if whole != "ok":
            raise StoreError(f"{path} is damaged ({' '.join(whole.split())}): {_WAY_OUT}")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not application and not tables:
        return  # made by a run that was killed before it wrote to it
    if application != _APPLICATION:
        raise StoreError(f"{path} is an SQLite file, and not a store of fullrecall's: {_WAY_OUT}")
    if version != VERSION:
        way_out = "upgrade fullrecall, or name another file" if version > VERSION else _WAY_OUT
        raise StoreError(
            f"{path} has version {version} of the store, this fullrecall knows {VERSION}: {way_out}"
        )
    connection.execute("SELECT 1 FROM asks LIMIT 1")


def reading(path: Path) -> sqlite3.Connection:
    """Return a connection that writes nothing."""
    connection = connected(path, "?mode=ro")
    try:
        _pragma(connection, "schema_version")
    except sqlite3.Error as error:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        is_logged = log.exists() and log.stat().st_size
        if is_logged or not isinstance(error, sqlite3.OperationalError):
            raise
        # A directory that takes no -shm file, and no run left a log there: read as it stands.
        return connected(path, "?mode=ro&immutable=1")
    return connection


def writing(path: Path) -> sqlite3.Connection:
    """Return a connection that can write, the tables made; raises `sqlite3.Error`."""
    connection = connected(path)
    try:
        _retried(connection, "PRAGMA journal_mode = WAL")
        # Synced at each commit, the log keeps what was reported as kept over a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        if _pragma(connection, "user_version") != VERSION:
            for statement in _SCHEMA:
                connection.execute(statement)
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def connected(path: Path, options: str = "?mode=rwc") -> sqlite3.Connection:
    """Return a connection to a file."""
    address = f"{path.absolute().as_uri()}{options}"
    # Transactions are ours: no implicit BEGIN. The lock is ours too.
    connection = sqlite3.connect(
        address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    # What is no UTF-8 is damaged: its checksum says so where one matters.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    return connection


def _retried(connection: sqlite3.Connection, statement: str) -> None:
    """Execute what SQLite refuses at once, instead of waiting, while another process does it."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def checksum_of(*fields: object) -> int:
    """Return a checksum: SQLite has none of its own for what a row holds."""
    return zlib.crc32(repr(fields).encode())
