"""What was paid for, kept in a file: completions and finished results, in SQLite.

A store is a ledger: each row is under a key that holds whatever decides it (`keys`), and whoever
is about to ask a model for one takes its lease first, so that nobody else asks the same. A lease
ends with the answer, when it is released, or by itself some seconds after its owner's death.

Rows are written by one thread, many in a transaction where many finish together, and are on the
disk when the write is reported as done: what a killed run had finished is there. Threads and
processes may share a store, each sees what the others have finished, and a process that forks
goes on with it on both sides.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from fullrecall.errors import StoreError
from fullrecall.evaluation.lease import LEASE_SECONDS, Lease, own_place, seconds
from fullrecall.evaluation.salvage import salvaged
from fullrecall.evaluation.store_file import (
    PATIENCE,
    UnreadableError,
    check,
    checksum_of,
    reading,
    writing,
)
from fullrecall.models.chat import Completion, Failure
from fullrecall.records import ResultRecord, plain_result
from fullrecall.result import Method, Result

_MOST_TOGETHER = 1_000  # rows in one transaction
_RENEW_SECONDS = LEASE_SECONDS / 4

_GONE = "it was deleted or replaced while it was in use"

_KEEP_NAME = "INSERT OR IGNORE INTO names (name) VALUES (?)"
# What was kept first stays: processes that asked the same go on with the same answer.
_KEEP_COMPLETION = """INSERT OR IGNORE INTO completions
    SELECT ?, (SELECT id FROM names WHERE name = ?), ?, ?, ?, ?, ?, ?, ?, ?"""
_KEEP_RESULT = """INSERT OR IGNORE INTO results
    SELECT ?, (SELECT id FROM names WHERE name = ?), ?, ?, ?, ?"""
_KEEP_FAILURE = "INSERT OR IGNORE INTO failures VALUES (?, ?)"
_KEEP_UNUSABLE = "INSERT OR IGNORE INTO unusable VALUES (?, ?, ?, ?)"
_UNUSABLE = "SELECT reply FROM unusable WHERE job = ? AND key = ?"
_LEASE = "SELECT token, place, pid, until FROM leases WHERE key = ?"
_TAKE_LEASE = "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)"
_END_LEASE = "DELETE FROM leases WHERE key = ? AND token = ?"
_RENEW_LEASE = "UPDATE leases SET until = ? WHERE token = ?"


@dataclass(eq=False)
class _Job:
    """Something to do in the writer's next transaction, and who waits for it.

    `otherwise` is what they are told where it cannot be done; `durable` whether they are told
    once it outlives a power cut.
    """

    act: Callable[[sqlite3.Connection], Any]
    otherwise: Any = None
    durable: bool = True
    done: Future[Any] = field(default_factory=Future)

    def __post_init__(self) -> None:
        # A future that runs cannot be cancelled: whoever waits may go, what is written stays.
        self.done.set_running_or_notify_cancel()

    def tell(self, value: Any) -> None:
        """Let whoever waits go on."""
        if not self.done.done():
            self.done.set_result(value)


@dataclass(frozen=True)
class JobFile:
    """The path of a store, and the job that uses it: its batches are one run."""

    path: str
    job: str


class Store:
    """A store in the file `path`, made where there is none; close it, or use it in a `with`.

    What could not be used of what models replied is remembered for a `job`, if one is named.

    Raises `StoreError` for a file that is not a store, a damaged one, one of a newer version, and
    where there is no such directory; none of these is written to. What can be read of a damaged
    one is copied to a new file beside it, which the error names. A store that can be read and
    not written (a read-only file, a full disk), or is deleted or replaced while it is in use,
    serves what it has: `problem` says why it keeps no more, and is empty while all is well.
    Threads and processes may share a store, also those that fork with it open.
    """

    def __init__(self, path: str | Path, *, job: str = "") -> None:
        self.path = Path(path)
        self.job = job
        self.problem = ""
        _check(self.path)
        self._jobs: deque[_Job] = deque()
        self._taken: Sequence[_Job] = ()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._transacting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._damaged: set[bytes] = set()
        self._leases: set[bytes] = set()
        self._synced = False
        self._reading: sqlite3.Connection | None = None
        self._writing: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        try:
            self._writing = writing(self.path)
        except sqlite3.Error as error:
            self._stop(error)
        self._file = _identity(self.path)
        if not self.problem or (self.path.exists() and self.path.stat().st_size):
            self._reading = reading(self.path)
        _OPEN.add(self)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed: it keeps and serves nothing then."""
        return self._closed

    def completion(self, key: bytes) -> Completion | None:
        """Return the completion kept under a key; None where there is none, or a damaged one."""
        row = self._row(
            "SELECT prompt_tokens, completion_tokens, failure, detail, text, sum, requests "
            "FROM completions WHERE key = ?",
            key,
        )
        if row is None:
            return self._unusable(key)
        prompt_tokens, completion_tokens, failure, detail, text, checksum, requests = row
        if checksum_of(key, prompt_tokens, completion_tokens, failure, detail, text) != checksum:
            self._damaged.add(key)
            return None
        return Completion(
            _decoded(text),
            prompt_tokens,
            completion_tokens,
            None if failure is None else Failure(failure),
            _decoded(detail),
            requests,
        )

    def claim(self, key: bytes) -> tuple[bytes, Future[bool]]:
        """Ask for the lease of a key: return its token, and whether it is granted.

        It is granted to one at a time, and to nobody where a completion is kept. It ends with
        `keep_completion`, with `release`, or some seconds after the death of this process.
        """
        token = secrets.token_bytes(8)
        self._leases.add(token)

        def act(connection: sqlite3.Connection) -> bool:
            row = connection.execute(_LEASE, (key,)).fetchone()
            taken = row is not None and Lease(*row).is_held()
            if not taken and key not in self._damaged:
                kept = connection.execute("SELECT 1 FROM completions WHERE key = ?", (key,))
                taken = kept.fetchone() is not None
                if self.job and not taken:
                    taken = connection.execute(_UNUSABLE, (self.job, key)).fetchone() is not None
            if taken:
                self._leases.discard(token)
            else:
                until = seconds() + LEASE_SECONDS
                connection.execute(_TAKE_LEASE, (key, token, own_place(), os.getpid(), until))
            return not taken

        return token, self._enqueued(_Job(act, otherwise=True, durable=False))

    def release(self, key: bytes, token: bytes) -> Future[None]:
        """End a lease without an answer: whoever waits for it may ask."""

        def act(connection: sqlite3.Connection) -> None:
            self._end(connection, key, token)

        return self._enqueued(_Job(act, durable=False))

    def keep_completion(
        self, key: bytes, model: str, completion: Completion, lease: bytes | None = None
    ) -> Future[None]:
        """Keep a completion of the model so named; the future is done when it is on the disk."""
        fields = (
            completion.prompt_tokens,
            completion.completion_tokens,
            None if completion.failure is None else str(completion.failure),
            _encoded(completion.detail),
            _encoded(completion.text),
        )
        name = _readable(model)
        row = (key, name, time.time(), *fields, checksum_of(key, *fields), completion.requests)
        statement = self._statement(_KEEP_COMPLETION, key)

        def act(connection: sqlite3.Connection) -> None:
            connection.execute(_KEEP_NAME, (name,))
            connection.execute(statement, row)
            if lease is not None:
                self._end(connection, key, lease)

        return self._enqueued(_Job(act))

    def keep_unusable(self, key: bytes, completion: Completion) -> Future[None]:
        """Remember a reply that could not be used, so that this job does not ask for it again."""
        reply = _encoded(json.dumps(plain_completion(completion)))

        def act(connection: sqlite3.Connection) -> None:
            if self.job:
                connection.execute(_KEEP_UNUSABLE, (self.job, key, time.time(), reply))

        return self._enqueued(_Job(act, durable=False))

    def result(self, key: bytes, method: Method) -> Result | None:
        """Return the result kept under a key, as made by `method`; None where there is none."""
        row = self._row("SELECT result, sum FROM results WHERE key = ?", key)
        if row is None:
            return None
        if checksum_of(key, row[0]) == row[1]:
            with suppress(ValueError):  # not this version's form: it is made anew
                return ResultRecord.read(json.loads(_decoded(row[0]))).result(method)
        self._damaged.add(key)
        return None

    def keep_result(self, key: bytes, result: Result) -> Future[None]:
        """Keep a result; the future is done when it is on the disk."""
        method = result.method
        told = {"scorer": method.name, **method.parameters}
        scorer = json.dumps(told, default=str)
        plain = _encoded(
            json.dumps(plain_result(result), ensure_ascii=False, separators=(",", ":"))
        )
        row = (key, scorer, time.time(), str(result.status), plain, checksum_of(key, plain))
        statement = self._statement(_KEEP_RESULT, key)

        def act(connection: sqlite3.Connection) -> None:
            connection.execute(_KEEP_NAME, (scorer,))
            connection.execute(statement, row)

        return self._enqueued(_Job(act))

    def has_failed(self, key: bytes) -> bool:
        """Whether an ask failed for good in an earlier run, while others were answered."""
        return self._row("SELECT 1 FROM failures WHERE key = ?", key) is not None

    def keep_failure(self, key: bytes) -> Future[None]:
        """Remember that an ask failed for good while others were answered."""

        def act(connection: sqlite3.Connection) -> None:
            connection.execute(_KEEP_FAILURE, (key, time.time()))

        return self._enqueued(_Job(act, durable=False))

    def close(self) -> None:
        """Write what waits, end the leases, and close the file."""
        with self._lock:
            if self._closed:
                return
            if self._leases and self._writing is not None:
                tokens = [(token,) for token in self._leases]
                ended = "DELETE FROM leases WHERE token = ?"
                self._enqueued(_Job(lambda connection: connection.executemany(ended, tokens)))
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()
        self._disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def _statement(self, statement: str, key: bytes) -> str:
        if key not in self._damaged:
            return statement
        self._damaged.discard(key)
        return statement.replace("IGNORE", "REPLACE", 1)

    def _end(self, connection: sqlite3.Connection, key: bytes, token: bytes) -> None:
        self._leases.discard(token)
        connection.execute(_END_LEASE, (key, token))

    def _unusable(self, key: bytes) -> Completion | None:
        """Return a reply that this job could not use; None where there is none."""
        if not self.job or self.problem:
            return None
        row = self._row(_UNUSABLE, self.job, key)
        return None if row is None else completion_of(json.loads(_decoded(row[0])))

    def _row(self, statement: str, *values: object) -> Any:
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.path} is closed: open it again")
            try:
                if self._reading is None:
                    if self._file is None or _identity(self.path) != self._file:
                        return None
                    self._reading = reading(self.path)  # after a fork
                return self._reading.execute(statement, values).fetchone()
            except sqlite3.Error as error:
                self._stop(error)
                return None

    def _enqueued(self, job: _Job) -> Future[Any]:
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.path} is closed: open it again")
            if self.problem:
                job.tell(job.otherwise)
                return job.done
            self._jobs.append(job)
            self._changed.notify_all()
            if self._thread is None or not self._thread.is_alive():  # first, forked, or it died
                self._thread = threading.Thread(
                    target=self._serve, name="fullrecall-store", daemon=True
                )
                self._thread.start()
        return job.done

    def _serve(self) -> None:
        """Do what is enqueued until the store is closed; the one writer of this process."""
        try:
            while (jobs := self._next()) is not None:
                with self._transacting:
                    self._do(jobs)
        except BaseException as error:  # noqa: BLE001 - whatever it is, nobody is to wait for ever
            self._stop(error)
            with self._lock:
                self._abandon()

    def _next(self) -> Sequence[_Job] | None:
        """Return what is to be done together, once there is any; None once the store is closed."""
        with self._lock:
            while not self._jobs and not self._closed:
                due = self._changed.wait(_RENEW_SECONDS if self._leases else None)
                if not due and self._leases:
                    return [self._renewal()]
            if not self._jobs:
                return None
            self._taken = [
                self._jobs.popleft() for _ in range(min(len(self._jobs), _MOST_TOGETHER))
            ]
            return self._taken

    def _renewal(self) -> _Job:
        rows = [(seconds() + LEASE_SECONDS, token) for token in self._leases]
        return _Job(lambda connection: connection.executemany(_RENEW_LEASE, rows), durable=False)

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
        self._taken = ()

    def _commit(self, jobs: Sequence[_Job]) -> list[Any]:
        if _identity(self.path) != self._file:
            raise StoreError(_GONE)
        if self._writing is None:  # after a fork
            self._writing = writing(self.path)
            self._synced = False
        connection = self._writing
        durable = any(job.durable for job in jobs)
        if durable != self._synced or not self._synced:
            # Synced at each such commit, the log keeps what was reported as kept over a power cut.
            # A lease need not outlive one.
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._synced = durable
        connection.execute("BEGIN IMMEDIATE")
        try:
            values = [job.act(connection) for job in jobs]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return values

    def _stop(self, error: BaseException) -> None:
        """Remember the first reason why nothing is kept any more."""
        is_gone = self._file is not None and _identity(self.path) != self._file
        self.problem = self.problem or (
            f"the store {self.path} keeps nothing from here on "
            f"({_GONE if is_gone else _in_words(error)}): the run "
            "continues, and new answers are in its results only"
        )

    def _abandon(self) -> None:
        """Let all who wait go on: nobody does what they wait for."""
        for job in (*self._taken, *self._jobs):
            job.tell(job.otherwise)
        self._taken = ()
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
            self._lock = threading.RLock()
            self._changed = threading.Condition(self._lock)
            self._thread = None
            self._leases = set()
            self._abandon()
        else:
            self._lock.release()


_OPEN: WeakSet[Store] = WeakSet()
_held: list[Store] = []


def _before_fork() -> None:
    for store in list(_OPEN):
        if not store.is_closed:
            store.hold()
            _held.append(store)


def _after_fork(*, in_child: bool) -> None:
    while _held:
        _held.pop().let_go(in_child=in_child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(in_child=False),
        after_in_child=lambda: _after_fork(in_child=True),
    )


def _check(path: Path) -> None:
    """Raise `StoreError` for a file that cannot serve, saying where what can be read of it is."""
    try:
        check(path)
    except UnreadableError as error:
        found = salvaged(path)
        raise StoreError(f"{error}{found and f'; {found}'}") from None


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _in_words(error: BaseException) -> str:
    """Return what is wrong, in words for whoever does not know SQLite's."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return {
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_READONLY: "it is read-only",
        sqlite3.SQLITE_CANTOPEN: "its directory is read-only",
        sqlite3.SQLITE_IOERR: f"the disk took no more: {error}",
        sqlite3.SQLITE_BUSY: f"another process has held it for {PATIENCE:.0f} s",
        sqlite3.SQLITE_CORRUPT: "it is damaged",
    }.get(code, str(error) or type(error).__name__)


def plain_completion(completion: Completion) -> dict[str, Any]:
    """Return a completion as plain JSON values that `completion_of` reads back."""
    failure = None if completion.failure is None else str(completion.failure)
    return {**asdict(completion), "failure": failure}


def completion_of(plain: dict[str, Any]) -> Completion:
    """Return what `plain_completion` made."""
    failure = plain["failure"]
    return Completion(**{**plain, "failure": None if failure is None else Failure(failure)})


def _readable(name: str) -> str:
    """Return a name as SQLite takes it: half a surrogate pair has no place in its texts."""
    return str(name).encode("utf-8", "backslashreplace").decode()


def _encoded(text: str) -> bytes:
    """Return a text as the store keeps it."""
    # Half a surrogate pair is legal in JSON, and in what a model wrote.
    return text.encode("utf-8", "surrogatepass")


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")
