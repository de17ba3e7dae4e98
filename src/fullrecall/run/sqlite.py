"""The ledger in SQLite: in a file that the threads and processes of a machine share.

Records are amended by one thread, many in a transaction where many come together, and
answers are on the disk when they are reported as kept: what a killed run had finished is there. A
process that forks goes on with it on both sides.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from fullrecall._util.whole_files import beside
from fullrecall.errors import StoreError
from fullrecall.run.ledger import Entry, EntryChange, Ledger, Moment, answered

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


def _check_locks(folder: Path) -> None:
    """Raise `StoreError` where a file system has no locks: SQLite would wait for one in vain."""
    try:
        import fcntl
    except ImportError:  # Windows locks otherwise
        return
    probe = beside(folder / "locks")
    try:
        file = probe.open("xb")
    except OSError:
        return  # opening the store says what is wrong
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


T = TypeVar("T")

_GONE = "it was deleted or replaced while it was in use"

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)  # goes on while the machine sleeps


def seconds() -> float:
    """Return the seconds since the machine started, the same in each of its processes.

    Nobody sets this clock: processes whose dates disagree agree about who holds a claim.
    """
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


@dataclass(eq=False)
class _Job:
    """A change for the writer's next transaction, and who waits for it."""

    key: str
    change: EntryChange[Any]
    otherwise: Any
    future: Future[Any] = field(default_factory=Future)

    def __post_init__(self) -> None:
        # A future that runs cannot be cancelled: whoever waits may go, what is written stays.
        self.future.set_running_or_notify_cancel()

    def tell(self, value: Any) -> None:
        """Let whoever waits go on."""
        if not self.future.done():
            self.future.set_result(value)


class SQLiteLedger(Ledger):
    """A ledger in the file `path`, made where there is none.

    Raises `StoreError` for a file that is not a store, a damaged one, one of a newer version, and
    where there is no such directory; none of these is written to. A store that can be read and
    not written (a read-only file, a full disk), or is deleted or replaced while it is in use,
    serves what it has.
    """

    def __init__(self, path: str | Path, job: str = "") -> None:
        self._path = Path(path)
        super().__init__(self._path, job)
        self._jobs: list[_Job] = []
        self._in_transaction: Sequence[_Job] = ()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._transacting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._reading: sqlite3.Connection | None = None
        self._writing: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        check(self._path)
        _check_locks(self._path.parent)
        try:
            self._writing = writing(self._path)
        except sqlite3.Error as error:
            self._stop(error)
        self._file = _identity(self._path)
        if not self.problem or (self._path.exists() and self._path.stat().st_size):
            self._reading = reading(self._path)
        _OPEN.add(self)

    def get(self, key: str) -> Entry:
        """Return the record of an ask, an empty one where there is none or it is damaged."""
        with self._lock:
            self.check_open()
            try:
                if self._reading is None:
                    if self._file is None or _identity(self._path) != self._file:
                        return Entry()
                    self._reading = reading(self._path)  # after a fork
                return _entry(self._reading, key)
            except sqlite3.Error as error:
                self._stop(error)
                return Entry()

    def amend(self, key: str, change: EntryChange[T], *, otherwise: T) -> Future[T]:
        """Change a record in the writer's next transaction."""
        job = _Job(key, change, otherwise)
        with self._lock:
            self.check_open()
            if self.problem:
                job.tell(otherwise)
                return job.future
            self._jobs.append(job)
            self._changed.notify_all()
            if self._thread is None or not self._thread.is_alive():  # first, forked, or dead
                self._thread = threading.Thread(
                    target=self._serve, name="fullrecall-store", daemon=True
                )
                self._thread.start()
        return job.future

    def _close(self) -> None:
        with self._lock:
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()
        self._disconnect()

    def _serve(self) -> None:
        """Do what is enqueued until the ledger is closed; the one writer of this process."""
        try:
            while jobs := self._next():
                with self._transacting:
                    self._do(jobs)
        except BaseException as error:  # noqa: BLE001 - whatever it is, nobody is to wait for ever
            self._stop(error)
            with self._lock:
                self._abandon()

    def _next(self) -> Sequence[_Job]:
        """Return what is to be done together, once there is any; none once it is closed."""
        with self._lock:
            while not self._jobs and not self.is_closed:
                self._changed.wait()
            # One transaction is one sync of the disk, however many changes it holds.
            self._in_transaction, self._jobs = self._jobs, []
            return self._in_transaction

    def _do(self, jobs: Sequence[_Job]) -> None:
        """Do jobs in one transaction and tell whoever waits; what fails stops the keeping."""
        values = [job.otherwise for job in jobs]
        if not self.problem:
            try:
                values = self._commit(jobs)
            except Exception as error:  # noqa: BLE001 - of SQLite, of the disk, of a value
                self._stop(error)
        for job, value in zip(jobs, values, strict=True):
            job.tell(value)
        self._in_transaction = ()

    def _commit(self, jobs: Sequence[_Job]) -> list[Any]:
        # SQLite would go on writing to a deleted file, and report it as kept.
        if _identity(self._path) != self._file:
            raise StoreError(_GONE)
        if self._writing is None:  # after a fork
            self._writing = writing(self._path)
        connection = self._writing
        # Locked before it is read: a transaction that reads first and writes then may be refused,
        # and two processes could both see an ask without a lease.
        connection.execute("BEGIN IMMEDIATE")
        try:
            values = [_amended(connection, job.key, job.change) for job in jobs]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return values

    def _stop(self, error: BaseException) -> None:
        is_gone = self._file is not None and _identity(self._path) != self._file
        why = _GONE if is_gone else str(error) or type(error).__name__
        is_damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        self.stop(why, is_final=is_gone or is_damaged)

    def _save(self, answers: Mapping[str, str]) -> None:
        jobs = [_Job(key, partial(answered, value=value), value) for key, value in answers.items()]
        with self._transacting:
            self._commit(jobs)

    def _abandon(self) -> None:
        """Let all who wait go on: nobody does what they wait for."""
        for job in (*self._in_transaction, *self._jobs):
            job.tell(job.otherwise)
        self._in_transaction = ()
        self._jobs.clear()

    def _disconnect(self) -> None:
        # The writer closes last: only a connection that may write tidies the log away.
        for connection in (self._reading, self._writing):
            if connection is not None:
                connection.close()
        self._reading = self._writing = None

    def hold(self) -> None:
        """Before a fork: hold still, with the file closed, since no connection may cross it."""
        self._lock.acquire()
        self._transacting.acquire()
        self._disconnect()

    def let_go(self, *, in_child: bool) -> None:
        """After a fork: go on; in the child without the writer, whose work is the parent's."""
        self._transacting.release()
        if in_child:
            # The locks of the parent may be held by threads that do not exist here.
            self._lock = threading.RLock()
            self._changed = threading.Condition(self._lock)
            self._thread = self._renewing = None
            self._leases, self._unsaved = {}, {}
            self._abandon()
        else:
            self._lock.release()


_OPEN: WeakSet[SQLiteLedger] = WeakSet()
_HOLDING: list[SQLiteLedger] = []


# A connection that is carried over a fork can damage the file (sqlite.org/howtocorrupt.html, 2.6).
def _before_fork() -> None:
    for ledger in list(_OPEN):
        if not ledger.is_closed:
            ledger.hold()
            _HOLDING.append(ledger)


def _after_fork(*, in_child: bool) -> None:
    while _HOLDING:
        _HOLDING.pop().let_go(in_child=in_child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(in_child=False),
        after_in_child=lambda: _after_fork(in_child=True),
    )


def _entry(connection: sqlite3.Connection, key: str) -> Entry:
    """Return a record, an empty one where there is none or it does not have its checksum."""
    row = connection.execute("SELECT record, sum FROM asks WHERE key = ?", (key,)).fetchone()
    if row is None or checksum_of(key, row[0]) != row[1]:
        return Entry()
    return Entry.of(row[0])


def _amended(connection: sqlite3.Connection, key: str, change: EntryChange[T]) -> T:
    """Change a record; return what the change tells."""
    entry = _entry(connection, key)
    changed, outcome = change(entry, Moment(seconds()))
    if changed == Entry():
        connection.execute("DELETE FROM asks WHERE key = ?", (key,))
    elif changed != entry:
        record = changed.text()
        row = (key, record, checksum_of(key, record))
        connection.execute("INSERT OR REPLACE INTO asks VALUES (?, ?, ?)", row)
    return outcome


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
