"""What was paid for, kept in a file: completions and finished results, in SQLite.

A store is one table of completions and one of results, each row under a key that holds whatever
decides it (`keys`). Rows are written by one thread, many in a transaction where many finish
together, and are on the disk when the write is reported as done: what a killed run had finished
is there. Processes may share a store, and each sees what the others have finished.
"""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from fullrecall.errors import StoreError
from fullrecall.evaluation.store_file import PATIENCE, check, reading, writing
from fullrecall.judges.protocols import Completion, Failure
from fullrecall.records import ResultRecord, plain_result
from fullrecall.result import Method, Result

_MOST_TOGETHER = 1_000  # rows in one transaction

_KEEP_NAME = "INSERT OR IGNORE INTO names (name) VALUES (?)"
# What was kept first stays: processes that asked the same go on with the same answer.
_KEEP_COMPLETION = """INSERT OR IGNORE INTO completions
    SELECT ?, (SELECT id FROM names WHERE name = ?), ?, ?, ?, ?, ?, ?, ?"""
_KEEP_RESULT = """INSERT OR IGNORE INTO results
    SELECT ?, (SELECT id FROM names WHERE name = ?), ?, ?, ?, ?"""


class _Write(NamedTuple):
    """One row to write, and who waits for it."""

    statement: str
    name: str
    row: tuple[Any, ...]
    done: Future[None]


class Store:
    """A store in the file `path`, made where there is none; close it, or use it in a `with`.

    Raises `StoreError` for a file that is no store, a damaged one, one of a newer version, and
    where there is no such directory; none of these is written to. A store that can be read and
    not written (a read-only file, a full disk) serves what it has: `problem` says why it keeps
    no more, and is empty while all is well. Threads and processes may share a store.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.problem = ""
        check(self.path)
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._damaged: set[bytes] = set()
        self._reading: sqlite3.Connection | None = None
        try:
            connection = writing(self.path)
        except sqlite3.Error as error:
            self._stop(error)
            if self.path.exists() and self.path.stat().st_size:
                self._reading = reading(self.path)
            return
        self._reading = reading(self.path)
        self._thread = threading.Thread(
            target=self._write, args=(connection,), name="fullrecall-store", daemon=True
        )
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed: it keeps and serves nothing then."""
        return self._closed

    def completion(self, key: bytes) -> Completion | None:
        """Return the completion kept under a key; None where there is none, or a damaged one."""
        row = self._row(
            "SELECT prompt_tokens, completion_tokens, failure, detail, text, sum "
            "FROM completions WHERE key = ?",
            key,
        )
        if row is None:
            return None
        prompt_tokens, completion_tokens, failure, detail, text, checksum = row
        if _sum(key, prompt_tokens, completion_tokens, failure, detail, text) != checksum:
            self._damaged.add(key)
            return None
        return Completion(
            _decoded(text),
            prompt_tokens,
            completion_tokens,
            None if failure is None else Failure(failure),
            _decoded(detail),
        )

    def keep_completion(self, key: bytes, model: str, completion: Completion) -> Future[None]:
        """Keep a completion of the model so named; the future is done when it is on the disk."""
        fields = (
            completion.prompt_tokens or 0,
            completion.completion_tokens or 0,
            None if completion.failure is None else str(completion.failure),
            _encoded(completion.detail),
            _encoded(completion.text),
        )
        row = (key, model, time.time(), *fields, _sum(key, *fields))
        return self._enqueued(_KEEP_COMPLETION, model, row)

    def result(self, key: bytes, method: Method) -> Result | None:
        """Return the result kept under a key, as made by `method`; None where there is none."""
        row = self._row("SELECT result, sum FROM results WHERE key = ?", key)
        if row is None:
            return None
        if _sum(key, row[0]) != row[1]:
            self._damaged.add(key)
            return None
        return ResultRecord.read(json.loads(_decoded(row[0]))).result(method)

    def keep_result(self, key: bytes, result: Result) -> Future[None]:
        """Keep a result; the future is done when it is on the disk."""
        method = result.method
        told = {"scorer": method.name, **method.parameters}
        scorer = json.dumps(told, default=str)
        plain = _encoded(
            json.dumps(plain_result(result), ensure_ascii=False, separators=(",", ":"))
        )
        row = (key, scorer, time.time(), str(result.status), plain, _sum(key, plain))
        return self._enqueued(_KEEP_RESULT, scorer, row)

    def close(self) -> None:
        """Write what waits, and close the file."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            # The writer closes last: only a connection that may write tidies the log away.
            if self._reading is not None:
                self._reading.close()
                self._reading = None
            self._queue.put(None)
        if self._thread is not None:
            self._thread.join()

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

    def _row(self, statement: str, key: bytes) -> Any:
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.path} is closed: open it anew")
            if self._reading is None:
                return None
            try:
                return self._reading.execute(statement, (key,)).fetchone()
            except sqlite3.Error as error:
                self._stop(error)
                return None

    def _enqueued(self, statement: str, name: str, row: tuple[Any, ...]) -> Future[None]:
        if row[0] in self._damaged:
            self._damaged.discard(row[0])
            statement = statement.replace("IGNORE", "REPLACE", 1)
        write = _Write(statement, name, row, Future())
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.path} is closed: open it anew")
            if self._thread is None or self.problem:
                write.done.set_result(None)
            else:
                self._queue.put(write)
        return write.done

    def _write(self, connection: sqlite3.Connection) -> None:
        """Write what is enqueued until the store is closed; the one writer of this process."""
        with closing(connection):
            for writes in _batches(self._queue):
                if not self.problem:
                    try:
                        _commit(connection, writes)
                    except sqlite3.Error as error:
                        self._stop(error)
                for write in writes:
                    write.done.set_result(None)

    def _stop(self, error: sqlite3.Error) -> None:
        """Remember the first reason why nothing is kept any more."""
        self.problem = self.problem or (
            f"the store {self.path} keeps nothing from here on ({_in_words(error)}): the run goes "
            "on, and what it pays for now is in its results alone"
        )


def _batches(waiting: queue.SimpleQueue[_Write | None]) -> Iterator[list[_Write]]:
    """Yield all that waits, together, until there is None."""
    while (first := waiting.get()) is not None:
        batch = [first]
        with suppress(queue.Empty):
            while len(batch) < _MOST_TOGETHER:
                write = waiting.get_nowait()
                if write is None:
                    yield batch
                    return
                batch.append(write)
        yield batch


def _commit(connection: sqlite3.Connection, writes: Iterable[_Write]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for write in writes:
            connection.execute(_KEEP_NAME, (write.name,))
            connection.execute(write.statement, write.row)
        connection.execute("COMMIT")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _in_words(error: sqlite3.Error) -> str:
    """Return what is wrong, in words for whoever does not know SQLite's."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return {
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_READONLY: "it is read-only",
        sqlite3.SQLITE_CANTOPEN: "its directory is read-only",
        sqlite3.SQLITE_IOERR: f"the disk took no more: {error}",
        sqlite3.SQLITE_BUSY: f"another process has held it for {PATIENCE:.0f} s",
        sqlite3.SQLITE_CORRUPT: "it is damaged",
    }.get(code, str(error))


def _encoded(text: str) -> bytes:
    # Half a surrogate pair is legal in JSON, and in what a model wrote.
    return text.encode("utf-8", "surrogatepass")


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")


def _sum(*fields: object) -> int:
    """Return a checksum: SQLite has none of its own for what a row holds."""
    return zlib.crc32(repr(fields).encode())
