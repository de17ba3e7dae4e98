"""The ledger of requests to models: their leases, their answers, and a job's spending.

A request is open, leased by the run that will send it, or answered. Each change is one atomic step
of a backend: an SQLite file (`sqlite`), or a Redis server (`redis`).
"""

from __future__ import annotations

import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Self, TypeVar
from weakref import WeakSet

from fullrecall.errors import StoreError

T = TypeVar("T")

LEASE_SECONDS = 15.0
"""The seconds without renewal after which a lease ends: its owner is dead or hangs."""


class AccountLostError(StoreError):
    """The job's spending is unknown, since its account is missing or may be an older one."""


class Ledger(ABC):
    """An open ledger; close it, or use it in a `with`.

    Raises `StoreError` if it cannot be opened. A ledger is lost while reading or writing it fails.
    It then returns the answers that it can still read but stores no new ones; `problem` says why. A
    run continues without it, unless the ledger also counts a job's spending. Answers not stored
    stay in memory; the ledger tries to write them every few seconds, and on closing.
    """

    threads = 1
    """The number of changes that the backend makes at the same time."""

    def __init__(self, path: object, job: str = "") -> None:
        self.path = path
        self.job = job
        self.problem = self.reason = ""
        self.is_final = False
        """Whether no write is tried again, since the file is gone or damaged."""
        self.is_closed = False
        self._begin()
        _OPEN.add(self)

    def _begin(self) -> None:
        """Start without leases and threads; a forked process does not have those of its parent."""
        self._leases: dict[str, str] = {}
        self._unsaved: dict[str, str] = {}
        self._saving = threading.Lock()
        self._renewing: threading.Thread | None = None
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="fullrecall-store")

    @abstractmethod
    def get(self, key: str) -> str | None:
        """Return the answer to a request; None if there is no answer, or a damaged one."""

    def lease(self, key: str) -> tuple[str, Future[bool]]:
        """Try to lease a request; return the lease's token, and a future.

        The result of the future is True if the lease is granted. A lease ends with `put` or
        `forget`, or some seconds after this process dies. A lost ledger grants every lease.
        """
        token = secrets.token_hex(8)
        # Note the lease before it is granted, so that `close` can end it at any time.
        self._leases[token] = key
        if self._renewing is None:
            # Renew leases in a thread: an event loop may be busy until the leases have expired.
            self._renewing = threading.Thread(target=self._renew, daemon=True)
            self._renewing.start()
        granted = self._do(partial(self._lease, key, token), otherwise=True)
        granted.add_done_callback(lambda done: done.result() or self._leases.pop(token, None))
        return token, granted

    def put(self, key: str, value: str, token: str = "") -> Future[str]:
        """Keep an answer unless the request already has one, and end the leases of the request.

        Returns a future of the answer that is kept.
        """
        self._leases.pop(token, None)
        self._unsaved[key] = value
        kept = self._do(partial(self._keep, key, value), otherwise=value)
        kept.add_done_callback(lambda _: self.problem or self._unsaved.pop(key, None))
        return kept

    def forget(self, key: str, token: str) -> Future[None]:
        """End a lease without an answer, so that another run that waits may send the request."""
        self._leases.pop(token, None)
        return self._do(partial(self._forget, key, token), otherwise=None)

    def open_account(self) -> None:
        """Open the account in which all workers of the job count their requests.

        Workers send no requests without it. Raises `StoreError` if it cannot be opened.
        """
        self._do(self._open_account, otherwise=None).result()
        if self.problem:
            raise StoreError(self.problem)

    def spend(
        self, rule: str, arguments: Mapping[str, Any]
    ) -> Future[dict[str, Any] | AccountLostError]:
        """Apply a rule of `spending` to the account in which the job's requests are counted.

        Returns a future of the rule's outcome. If the account is lost, the future's result is an
        `AccountLostError`, which is not raised.
        """

        def spent() -> dict[str, Any] | AccountLostError:
            try:
                return self._spend(rule, arguments)
            except AccountLostError as error:
                return AccountLostError(
                    f"the account of this job in {self.path} {error}; nothing more is sent, and "
                    "what was answered stays"
                )

        lost = AccountLostError(
            f"the budget cannot be counted, and nothing more is sent: the store {self.path} is lost"
        )
        return self._do(spent, otherwise=lost)

    @property
    def account_key(self) -> str:
        """The key of the job's account."""
        return f"{self.job}:account"

    def close(self) -> None:
        """End the leases, and close the connections."""
        if self.is_closed:
            return
        self.save_again()
        for token, key in list(self._leases.items()):
            self.forget(key, token)
        self._ended.set()
        self.is_closed = True
        self._pool.shutdown()
        self._disconnect()

    # --- the steps of a backend, each atomic; they raise if the ledger is lost

    @abstractmethod
    def _lease(self, key: str, token: str) -> bool:
        """Grant or renew a lease, unless the request has an answer or another run's lease."""

    @abstractmethod
    def _keep(self, key: str, value: str) -> str:
        """Keep an answer unless the request has one, and end the leases of the request.

        Returns the answer that is kept.
        """

    @abstractmethod
    def _forget(self, key: str, token: str) -> None:
        """End a lease."""

    def _open_account(self) -> None:
        """Open the account of the job, unless it is open."""
        raise StoreError(f"{self!r} keeps no accounts")

    def _spend(self, rule: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Apply a rule of `spending` to the account; raise `AccountLostError` if it is lost."""
        raise AccountLostError(f"is not kept: {rule}, {arguments}")

    @abstractmethod
    def _probe(self) -> None:
        """Raise if the ledger still cannot be read or written."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close the connections; the next use opens them again."""

    def hold(self) -> None:
        """Hold the locks before a fork, until `let_go`."""
        self._saving.acquire()

    def let_go(self, *, in_child: bool) -> None:
        """Continue after a fork; a child process starts without leases and threads."""
        if in_child:
            self._begin()
        else:
            self._saving.release()

    def save_again(self) -> None:
        """Try again to write the answers that a full disk or a lost server did not keep."""
        if not self.problem or self.is_final:
            return
        with self._saving:
            answers = dict(self._unsaved)
            try:
                self._probe()
                for key, value in answers.items():
                    self._keep(key, value)
            except Exception:  # noqa: BLE001 - of SQLite, of the disk, of the network
                return
            for key in answers:
                self._unsaved.pop(key, None)
            self.problem = self.reason = ""
        # Answers that arrived meanwhile were not written either.
        for key, value in list(self._unsaved.items()):
            self.put(key, value)

    def check_open(self) -> None:
        """Raise `StoreError` if the ledger is closed."""
        if self.is_closed:
            raise StoreError(f"the store {self.path} is closed: open it again")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def stop(self, error: BaseException, *, is_final: bool = False) -> None:
        """Stop keeping answers, for now or for good; remember the first reason."""
        self.is_final = self.is_final or is_final
        self.reason = self.reason or str(error) or type(error).__name__
        later = "" if self.is_final else ", unless they can be written later"
        self.problem = self.problem or (
            f"the store {self.path} keeps nothing from here on ({self.reason}): the run continues, "
            f"and new answers are in its results only{later}"
        )

    def _do(self, step: Callable[[], T], otherwise: T) -> Future[T]:
        """Start a step in a thread; return a future of its result.

        If the ledger is lost, the result is `otherwise`.
        """
        self.check_open()
        done: Future[T] = Future()
        # A running future cannot be canceled: the step completes even if its caller is canceled.
        done.set_running_or_notify_cancel()
        self._pool.submit(lambda: done.set_result(self.tried(step, otherwise)))
        return done

    def tried(self, step: Callable[[], T], otherwise: T) -> T:
        """Return the result of a step, or `otherwise` if the ledger is lost."""
        if not self.problem:
            try:
                return step()
            except Exception as error:  # noqa: BLE001 - of SQLite, of the disk, of the network
                self.stop(error)
        return otherwise

    def _renew(self) -> None:
        renewals: list[Future[Any]] = []
        while not self._ended.wait(LEASE_SECONDS / 4):
            self.save_again()
            if not all(renewal.done() for renewal in renewals):
                continue  # On a slow disk, renewals must not pile up.
            renewals.clear()
            for token, key in list(self._leases.items()):
                with suppress(StoreError, RuntimeError):  # The ledger was closed meanwhile.
                    renewals.append(self._do(partial(self._lease, key, token), otherwise=True))


_OPEN: WeakSet[Ledger] = WeakSet()
_HOLDING: list[Ledger] = []


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
        after_in_parent=partial(_after_fork, in_child=False),
        after_in_child=partial(_after_fork, in_child=True),
    )
