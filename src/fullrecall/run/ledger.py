"""The ledger: what was asked, who is at it, what came of it, and what a job has spent.

One record for each ask: open, leased by whoever is about to pay for it, answered, or failed for
good while others were answered. One more for the account of each job. The rules are here, as pure
changes of one record. A backend reads a record, and amends it in one indivisible step: in a file of
SQLite (`sqlite`), or on a Redis server (`redis`).
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

from fullrecall.errors import StoreError

T = TypeVar("T")

LEASE_SECONDS = 15.0
"""A lease that was not renewed for so long is nobody's: its owner is dead, or as good as that."""


class Lease(NamedTuple):
    """Who is about to pay for an ask: a process somewhere, until some time."""

    token: str
    scope: str
    pid: int
    until: float

    def is_held(self, now: float) -> bool:
        """Whether its owner may still be at it."""
        if not now < self.until <= now + 2 * LEASE_SECONDS:  # beyond: the clock was set back
            return False
        if self.scope != process_scope():
            return True
        return self.token in _HELD if self.pid == os.getpid() else _lives(self.pid)


_HELD: set[str] = set()
"""The leases of this process that have not ended: one that a full disk left in a file has."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The record of one ask.

    `value` is its answer, None while there is none. `failed`: it failed for good while others were
    answered.
    """

    value: str | None = None
    failed: bool = False
    lease: Lease | None = None

    def text(self) -> str:
        """Return the record as text that `of` reads back; it is ASCII."""
        return json.dumps(astuple(self))

    @classmethod
    def of(cls, text: str) -> Entry:
        """Return the record that a text holds; what another program wrote is an empty one."""
        with suppress(ValueError, TypeError):
            value, failed, lease = json.loads(text)
            return cls(value, failed, None if lease is None else Lease(*lease))
        return cls()


class Moment(NamedTuple):
    """When a record is amended, and in which life of a server that may forget what it was told."""

    seconds: float
    life: str = ""


class AccountLostError(StoreError):
    """The account of a job is gone, or another's: nobody knows what was spent."""


EntryChange: TypeAlias = Callable[[Entry, Moment], tuple[Entry, T]]
"""What becomes of a record, and what is returned to whoever amends it."""


def leased(entry: Entry, now: Moment, token: str) -> tuple[Entry, bool]:
    """Grant a lease to one at a time, and to nobody where there is an answer."""
    lease = entry.lease
    is_taken = lease is not None and lease.token != token and lease.is_held(now.seconds)
    if entry.value is not None or is_taken:
        return entry, False
    until = now.seconds + LEASE_SECONDS
    return replace(entry, lease=Lease(token, process_scope(), os.getpid(), until)), True


def renewed(entry: Entry, now: Moment, token: str) -> tuple[Entry, None]:
    """Have a lease hold on."""
    if entry.lease is None or entry.lease.token != token:
        return entry, None
    return replace(entry, lease=entry.lease._replace(until=now.seconds + LEASE_SECONDS)), None


def forgotten(entry: Entry, _: Moment, token: str) -> tuple[Entry, None]:
    """End a lease; whoever waits for it may ask, unless there is an answer."""
    mine = entry.lease is not None and entry.lease.token == token
    return (replace(entry, lease=None) if mine else entry), None


def answered(entry: Entry, _: Moment, value: str) -> tuple[Entry, str]:
    """Keep an answer, and end all leases. The first stays: all who asked go on with the same."""
    if entry.value is not None:
        return replace(entry, lease=None), entry.value
    return Entry(value), value


def failed(entry: Entry, _: Moment) -> tuple[Entry, None]:
    """Remember that an ask failed for good while others were answered."""
    return replace(entry, failed=True), None


def opened(entry: Entry, now: Moment, owner: str) -> tuple[Entry, None]:
    """Open an account."""
    if entry.value is not None:
        return entry, None
    return Entry(json.dumps({"owner": owner, "life": now.life, "holds": {}})), None


class Ledger(ABC):
    """A ledger, open; close it, or use it in a `with`.

    Raises `StoreError` for one that cannot be opened. One that is lost later serves what it can:
    `problem` says why it keeps nothing, and is empty while all is well. Runs go on without it,
    except where it holds the account of a `job`. The answers that it did not take are kept here,
    and written once it takes them again: every few seconds it is tried, and when it is closed.
    """

    def __init__(self, path: object, job: str = "") -> None:
        self.path = path
        self.job = job
        self.problem = self.reason = ""
        self.is_final = False
        """Whether nothing is tried any more: its file is gone."""
        self.is_closed = False
        self._leases: dict[str, str] = {}
        self._unsaved: dict[str, str] = {}
        self._saving = threading.Lock()
        self._renewing: threading.Thread | None = None
        self._ended = threading.Event()

    @abstractmethod
    def get(self, key: str) -> Entry:
        """Return the record of an ask, an empty one where there is none or it is damaged."""

    @abstractmethod
    def amend(self, key: str, change: EntryChange[T], *, otherwise: T) -> Future[T]:
        """Change a record; once it is kept, the future is done with what the change returns.

        It is `otherwise` where the ledger is lost.
        """

    def lease(self, key: str) -> tuple[str, Future[bool]]:
        """Ask to be the one who pays for an ask: return a token, and whether it is granted.

        A lease ends with `put` or `forget`, or some seconds after the death of this process.
        """
        token = secrets.token_hex(8)
        # Before it is granted: `close` ends it, whenever it comes.
        self._leases[token] = key
        _HELD.add(token)
        if self._renewing is None or not self._renewing.is_alive():
            # A thread: an event loop that is busy for seconds would let its leases run out.
            self._renewing = threading.Thread(target=self._renew, daemon=True)
            self._renewing.start()
        granted = self.amend(key, partial(leased, token=token), otherwise=True)
        granted.add_done_callback(partial(self._drop_refused, token))
        return token, granted

    def put(self, key: str, value: str, token: str = "") -> Future[str]:
        """Keep the answer to an ask, and end its lease; return the answer that is kept."""
        self._leases.pop(token, None)
        self._unsaved[key] = value
        kept = self.amend(key, partial(answered, value=value), otherwise=value)
        kept.add_done_callback(partial(self._end, token, key))
        return kept

    def forget(self, key: str, token: str) -> Future[None]:
        """End a lease without an answer."""
        self._leases.pop(token, None)
        ended = self.amend(key, partial(forgotten, token=token), otherwise=None)
        ended.add_done_callback(lambda _: _HELD.discard(token))
        return ended

    def remember_failure(self, key: str) -> Future[None]:
        """Remember that an ask failed for good while others were answered."""
        return self.amend(key, failed, otherwise=None)

    def open_account(self, owner: str) -> None:
        """Open the account of the job: who works on it finds it there, or sends nothing."""
        self.amend(self.account_key, partial(opened, owner=owner), otherwise=None).result()
        if self.problem:
            raise StoreError(self.problem)

    def spend(
        self, owner: str, change: Callable[[dict[str, Any], float], T]
    ) -> Future[T | AccountLostError]:
        """Change the job's account, and return the outcome; or that the account is lost."""

        def amended(entry: Entry, now: Moment) -> tuple[Entry, T | AccountLostError]:
            account = None if entry.value is None else json.loads(entry.value)
            why = self._why_lost(account, owner, now)
            if why or account is None:
                return entry, AccountLostError(why)
            outcome = change(account, now.seconds)
            return replace(entry, value=json.dumps(account)), outcome

        lost = AccountLostError(
            f"the budget cannot be counted, and nothing more is sent: the store {self.path} is lost"
        )
        return self.amend(self.account_key, amended, otherwise=lost)

    @property
    def account_key(self) -> str:
        """The key of the job's account."""
        return f"{{{self.job}}}:account"

    def close(self) -> None:
        """End the leases, and close what is open."""
        if self.is_closed:
            return
        self.save_again()
        for token, key in list(self._leases.items()):
            self.forget(key, token)
        self._ended.set()
        self.is_closed = True
        self._close()

    @abstractmethod
    def _close(self) -> None:
        """Write what waits, and close what is open."""

    @abstractmethod
    def _save(self, answers: Mapping[str, str]) -> None:
        """Write answers to a ledger that took none before; raise where it takes none still."""

    def save_again(self) -> None:
        """Write the answers that a full disk or a lost server did not take, if it does now."""
        if not self.problem or self.is_final:
            return
        with self._saving:
            answers = dict(self._unsaved)
            try:
                self._save(answers)
            except Exception:  # noqa: BLE001 - of SQLite, of the disk, of the network
                return
            for key in answers:
                self._unsaved.pop(key, None)
            self.problem = self.reason = ""
        for key, value in list(self._unsaved.items()):  # those that came meanwhile
            self.put(key, value)

    def check_open(self) -> None:
        """Raise `StoreError` once it is closed."""
        if self.is_closed:
            raise StoreError(f"the store {self.path} is closed: open it again")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def stop(self, why: str, *, is_final: bool = False) -> None:
        """Remember the first reason why nothing is kept, for now or for good."""
        self.is_final = self.is_final or is_final
        self.reason = self.reason or why
        later = "" if is_final else ", unless they can be written later"
        self.problem = self.problem or (
            f"the store {self.path} keeps nothing from here on ({why}): the run continues, and new "
            f"answers are in its results only{later}"
        )

    def _end(self, token: str, key: str, _: object) -> None:
        """End a lease; an answer is saved unless there is a problem."""
        _HELD.discard(token)
        if not self.problem:
            self._unsaved.pop(key, None)

    def _drop_refused(self, token: str, granted: Future[bool]) -> None:
        if not granted.result():
            self._leases.pop(token, None)
            _HELD.discard(token)

    def _renew(self) -> None:
        while not self._ended.wait(LEASE_SECONDS / 4):
            self.save_again()
            for token, key in list(self._leases.items()):
                with suppress(StoreError):  # closed meanwhile
                    self.amend(key, partial(renewed, token=token), otherwise=None)

    def _why_lost(self, account: dict[str, Any] | None, owner: str, now: Moment) -> str:
        where = f"the account of this job in {self.path}"
        if account is None:
            why = "is gone: it was evicted, deleted, or has expired"
        elif account["owner"] != owner:
            why = "is another's: its budget is not the one that this job was given"
        elif account["life"] != now.life:
            why = "may have lost what was spent last: the server was restarted, or is another one"
        else:
            return ""
        return f"{where} {why}; nothing more is sent, and what was answered stays"


@cache
def process_scope() -> str:
    """Return where a process ID is unique: the names of this machine and of its container."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{platform.node()} {space}"


def _lives(pid: int) -> bool:
    if os.name != "posix":
        return True  # there is no harmless way to ask: the lease ends by itself
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is another user's, or this system does not tell more
    # A dead one, whose parent has not yet asked how it ended, is a zombie.
    return status.rpartition(")")[2].split()[:1] not in (["Z"], ["X"])
