"""The ledger in an SQLite file, which the threads and processes of a machine share.

One thread of each process writes. Answers are on disk when they are reported as kept, so that they
survive a killed run. After a fork, parent and child both continue to use the ledger.
"""

from __future__ import annotations

import errno
import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fullrecall._util.parameters import as_path
from fullrecall._util.whole_files import temporary_path
from fullrecall.errors import StoreError
from fullrecall.run import ledger, spending
from fullrecall.run.ledger import AccountLostError, Ledger

T = TypeVar("T")

VERSION = 5
_APPLICATION = 0x66524331  # "fRC1", in SQLite's field that identifies the application
_WAY_OUT = "name another file, or move this one away"
_HEADER = 100  # the fewest bytes of an SQLite file
PATIENCE = 30.0  # seconds to wait for another process's transaction, which takes milliseconds
_CHECKED = 256 << 20  # files up to this many bytes are checked completely when they are opened

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS asks (key TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER)",
    "CREATE TABLE IF NOT EXISTS leases (key TEXT PRIMARY KEY, token TEXT, until REAL)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


def check(path: Path) -> None:
    """Raise `StoreError` unless `path` can hold a store, intact and of this version.

    It does not write to the file.
    """
    if not path.parent.is_dir():
        raise StoreError(f"no directory {path.parent} for the store {path.name}")
    if path.exists() and not path.is_file():
        raise StoreError(f"the store {path} cannot be read: it is not a regular file")
    # Only SQLite may open the file. Closing it elsewhere would drop the locks of this process;
    # another process could then delete a log that is still in use (howtocorrupt.html, 2.2).
    size = path.stat().st_size if path.exists() else 0
    if not size:
        return
    if size < _HEADER:  # SQLite treats a file of a few bytes as empty, and overwrites it.
        raise StoreError(f"{path} is not a store, nor any SQLite file: {_WAY_OUT}")
    try:
        # Connect read-only: a connection that may write rolls back another program's open
        # transaction.
        with closing(reading(path)) as connection:
            _check_ours(path, connection)
    except sqlite3.OperationalError as error:
        raise StoreError(f"the store {path} cannot be read: {error}") from None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is not a store, or damaged ({error}): {_WAY_OUT}") from None


def _check_locks(folder: Path) -> None:
    """Raise `StoreError` if the file system has no locks; SQLite would wait for a lock forever."""
    try:
        import fcntl
    except ImportError:  # Windows has other locks, which are not checked here.
        return
    probe = temporary_path(folder / "locks")
    try:
        file = probe.open("xb")
    except OSError:
        return  # Opening the store will raise the error.
    try:
        with file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise StoreError(
                f"the file system of {folder} has no locks ({error.strerror}): name a store on a "
                "local disk, or the URL of a Redis server"
            ) from None
    finally:
        probe.unlink(missing_ok=True)


def _check_ours(path: Path, connection: sqlite3.Connection) -> None:
    # Read one snapshot: another process may create the tables meanwhile.
    connection.execute("BEGIN")
    application = _pragma(connection, "application_id")
    version = _pragma(connection, "user_version")
    # Large files are not checked completely, since the check reads every page.
    if path.stat().st_size <= _CHECKED:
        whole = _pragma(connection, "quick_check(1)")
        if whole != "ok":
            raise StoreError(f"{path} is damaged ({' '.join(whole.split())}): {_WAY_OUT}")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not application and not tables:
        return  # created by a run that was killed before it wrote to it
    if application != _APPLICATION:
        raise StoreError(f"{path} is an SQLite file, and not a store of fullrecall's: {_WAY_OUT}")
    if version != VERSION:
        way_out = "upgrade fullrecall, or name another file" if version > VERSION else _WAY_OUT
        raise StoreError(
            f"{path} has version {version} of the store, this fullrecall knows {VERSION}: {way_out}"
        )
    connection.execute("SELECT 1 FROM asks LIMIT 1")


def reading(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a store."""
    connection = connected(path, "?mode=ro")
    try:
        _pragma(connection, "schema_version")
    except sqlite3.Error as error:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        is_logged = log.exists() and log.stat().st_size
        if is_logged or not isinstance(error, sqlite3.OperationalError):
            raise
        # The directory accepts no -shm file, and there is no log: read only the database file.
        return connected(path, "?mode=ro&immutable=1")
    return connection


def writing(path: Path) -> sqlite3.Connection:
    """Return a connection that can write; create the tables if they are missing.

    Raises `sqlite3.Error` for a file that cannot be written.
    """
    connection = connected(path)
    try:
        _retried(connection, "PRAGMA journal_mode = WAL")
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
    # Switch off Python's implicit BEGIN and Python's check of threads: this module begins each
    # transaction itself, and uses a connection only while it holds a lock.
    connection = sqlite3.connect(
        address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    # Decode text that is not UTF-8 without an error: the checksum of its row shows the damage.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    # Each row has a checksum from fullrecall, since SQLite has none for the values of a row.
    connection.create_function("crc32", 1, zlib.crc32, deterministic=True)
    return connection


def _retried(connection: sqlite3.Connection, statement: str) -> None:
    """Execute a statement; try again while another process holds the lock that it needs.

    SQLite itself does not wait for this lock. Raises SQLite's error if the lock is still held after
    `PATIENCE` seconds.
    """
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


_GONE = "it was deleted or replaced while it was in use"

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)  # this clock also runs while the machine sleeps


def seconds() -> float:
    """Return the seconds since the machine started, the same in each of its processes.

    This clock is never adjusted, so that processes agree on leases even if the date changes.
    """
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


_SOUND = "sum = crc32(CAST(key || value AS BLOB))"
_GET = f"SELECT value FROM asks WHERE key = :key AND {_SOUND}"  # noqa: S608 - a constant
_PUT = "INSERT OR REPLACE INTO asks VALUES (:key, :value, crc32(CAST(:key || :value AS BLOB)))"
_LEASE = f"""
INSERT INTO leases SELECT :key, :token, :now + :seconds WHERE NOT EXISTS ({_GET})
ON CONFLICT (key) DO UPDATE SET token = excluded.token, until = excluded.until
WHERE token = excluded.token OR until NOT BETWEEN :now AND :now + 2 * :seconds
"""
"""Grants or renews the lease of an unanswered request, unless another run has a valid lease.

A lease that ends more than 2 * seconds from now is not valid: the clock starts anew with the
machine, so this lease was granted before a restart.
"""


class SQLiteLedger(Ledger):
    """A ledger in the file `path`, which is created if it is missing.

    Raises `StoreError` for a file that is not a store, a damaged store, a store of another version,
    and a missing directory; it writes nothing then. A store that cannot be written (a read-only
    file, a full disk), or is deleted or replaced while in use, still returns its answers.
    """

    def __init__(self, path: str | Path, job: str = "") -> None:
        self._path = as_path(path, "store")
        self._reading: sqlite3.Connection | None = None
        self._writing: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        check(self._path)
        _check_locks(self._path.parent)
        super().__init__(self._path, job)
        try:
            self._writing = writing(self._path)
        except sqlite3.Error as error:
            self.stop(error)
        self._file = _identity(self._path)
        if not self.problem or (self._path.exists() and self._path.stat().st_size):
            self._reading = reading(self._path)

    def _begin(self) -> None:
        super()._begin()
        # Make new locks: in a forked child, no thread exists that would release the old ones.
        self._lock, self._transacting = threading.RLock(), threading.RLock()

    def get(self, key: str) -> str | None:
        """Return the answer to a request; None if there is no answer, or a damaged one."""
        with self._lock:
            self.check_open()
            try:
                if self._reading is None:
                    if self._file is None or _identity(self._path) != self._file:
                        return None
                    self._reading = reading(self._path)  # after a fork, no connection is open
                return _got(self._reading, key)
            except sqlite3.Error as error:
                self.stop(error)
                return None

    def _lease(self, key: str, token: str) -> bool:
        values = {"key": key, "token": token, "now": seconds(), "seconds": ledger.LEASE_SECONDS}
        return self._transact(lambda made: made.execute(_LEASE, values).rowcount > 0)

    def _forget(self, key: str, token: str) -> None:
        forget = "DELETE FROM leases WHERE key = ? AND token = ?"
        self._transact(lambda made: made.execute(forget, (key, token)))

    def _keep(self, key: str, value: str) -> str:
        def keep(connection: sqlite3.Connection) -> str:
            first = _got(connection, key)
            if first is None:
                connection.execute(_PUT, {"key": key, "value": value})
            connection.execute("DELETE FROM leases WHERE key = ?", (key,))
            return first or value

        return self._transact(keep, is_synced=True)

    def _open_account(self) -> None:
        self._keep(self.account_key, json.dumps(spending.opened()))

    def _spend(self, rule: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        def spend(connection: sqlite3.Connection) -> dict[str, Any]:
            kept = _got(connection, self.account_key)
            if kept is None:
                raise AccountLostError(spending.GONE)
            state = json.loads(kept)
            outcome = spending.RULES[rule](state, seconds(), **arguments)
            connection.execute(_PUT, {"key": self.account_key, "value": json.dumps(state)})
            return outcome

        return self._transact(spend)

    def _probe(self) -> None:
        """Do nothing: the next write shows whether the file can be written."""

    def _transact(self, work: Callable[[sqlite3.Connection], T], *, is_synced: bool = False) -> T:
        """Run `work` in a transaction, and return its result.

        If `is_synced`, the transaction survives a power failure.
        """
        with self._transacting:
            # SQLite would continue to write to a deleted file, and report the answers as kept.
            if _identity(self._path) != self._file:
                raise StoreError(_GONE)
            if self._writing is None:  # after a fork, no connection is open
                self._writing = writing(self._path)
            connection = self._writing
            connection.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
            # Lock before the first read: a transaction that reads first and then writes may be
            # refused, and two processes could both find that a request has no lease.
            connection.execute("BEGIN IMMEDIATE")
            try:
                outcome = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return outcome

    def stop(self, error: BaseException, *, is_final: bool = False) -> None:
        """Stop keeping answers, and remember why.

        Stop for good if the file is missing or damaged.
        """
        is_gone = self._file is not None and _identity(self._path) != self._file
        is_damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        is_final = is_final or is_gone or is_damaged
        super().stop(StoreError(_GONE) if is_gone else error, is_final=is_final)

    def _disconnect(self) -> None:
        # Close the writer last: only a connection that may write removes the log.
        for connection in (self._reading, self._writing):
            if connection is not None:
                connection.close()
        self._reading = self._writing = None

    def hold(self) -> None:
        """Pause before a fork, with the file closed.

        A connection that is used after a fork can damage the file (sqlite.org/howtocorrupt.html,
        2.6).
        """
        super().hold()
        self._lock.acquire()
        self._transacting.acquire()
        self._disconnect()

    def let_go(self, *, in_child: bool) -> None:
        """Continue after a fork; the next use opens the file again."""
        super().let_go(in_child=in_child)
        if not in_child:
            self._transacting.release()
            self._lock.release()


def _got(connection: sqlite3.Connection, key: str) -> str | None:
    """Return the value of a key; None without one, or if the value's checksum does not match."""
    row = connection.execute(_GET, {"key": key}).fetchone()
    return None if row is None else row[0]


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode numbers of a file; None if it is missing."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
