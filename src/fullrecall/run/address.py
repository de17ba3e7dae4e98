"""Where a ledger is: a path, the URL of a server, or one that is open already."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from fullrecall._util.ports import plugged
from fullrecall.errors import ParameterError
from fullrecall.run.ledger import Ledger

SCHEMES = ("redis://", "rediss://", "unix://")
"""How the URL of a server begins."""


@dataclass(frozen=True)
class Address:
    """Where the workers of a job find its ledger: a path or the URL of a Redis server.

    Picklable, with no password: that is read from REDIS_PASSWORD, and a user from REDIS_USERNAME,
    wherever it connects. Raises `ParameterError` for a URL that holds one.
    """

    url: str
    job: str = field(default_factory=lambda: secrets.token_hex(8))

    def __post_init__(self) -> None:
        if not self.url.startswith(SCHEMES):
            return
        parts = urlsplit(self.url)
        if parts.password or parts.username:
            from fullrecall.judge.models.redaction import hide_url, public_url

            hide_url(self.url)
            raise ParameterError(
                f"must be a URL without a password, got {public_url(self.url)!r} with one: "
                "set REDIS_PASSWORD here and where workers run",
                "store",
            )

    def open(self) -> Ledger:
        """Open the ledger; raise `StoreError` where it cannot be."""
        if self.url.startswith(SCHEMES):
            server: Callable[[str, str], Ledger] | None = plugged("server")
            if server is None:
                raise ParameterError(
                    f"must be a path: this fullrecall has no {self.url[:5]} client", "store"
                )
            return server(self.url, self.job)
        from fullrecall.run.sqlite import SQLiteLedger

        return SQLiteLedger(self.url, self.job)


StoreLike: TypeAlias = Ledger | Address | str | Path
"""What `evaluate` takes as its `store`."""


@contextmanager
def opened(store: StoreLike | None) -> Iterator[Ledger | None]:
    """Yield the ledger that a run was given, if any; one that is open stays open.

    Raises `StoreError` for what cannot be opened, and `ParameterError` for what is none.
    """
    if store is None:
        yield None
        return
    if isinstance(store, (str, Path)):
        store = Address(str(store), "")
    if not isinstance(store, (Address, Ledger)):
        raise ParameterError(
            f"must be a path, a redis:// URL, a Ledger or None, got {store!r}", "store"
        )
    with store.open() if isinstance(store, Address) else nullcontext(store) as ledger:
        ledger.check_open()
        if ledger.problem:
            warnings.warn(ledger.problem, UserWarning, stacklevel=3)
        yield ledger
