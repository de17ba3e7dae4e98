"""Where a ledger is: a path, the URL of a server, or one that is open already."""

from __future__ import annotations

import re
import secrets
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, urlsplit

from fullrecall._util.parameters import as_path
from fullrecall._util.ports import plugged
from fullrecall.errors import ParameterError
from fullrecall.run.ledger import Ledger

SERVERS = ("redis", "rediss", "unix")
"""The schemes of the URLs of a Redis server."""

_URL = re.compile(r"([a-z][a-z0-9+.-]+):(?=/)", re.IGNORECASE)
"""The scheme of a URL; one letter is a drive. A `Path` has made one slash of two."""


@dataclass(frozen=True)
class Address:
    """Where the workers of a job find its ledger: a path or the URL of a Redis server.

    Picklable, without credentials: a password is read from REDIS_PASSWORD, and a user from
    REDIS_USERNAME, wherever it connects. Raises `ParameterError` for a URL that holds one, for
    that of another kind of server, and for text that cannot be a path.
    """

    url: str
    job: str = field(default_factory=lambda: secrets.token_hex(8))

    def __post_init__(self) -> None:
        as_path(self.url, "store")
        text = self.url.strip()
        scheme = _URL.match(text)
        if scheme is not None:
            object.__setattr__(self, "url", _server_url(scheme[1].lower(), text[scheme.end() :]))

    @property
    def is_server(self) -> bool:
        """Whether it is the URL of a server."""
        return self.url.startswith(tuple(f"{scheme}://" for scheme in SERVERS))

    def open(self) -> Ledger:
        """Open the ledger; raise `StoreError` where it cannot be."""
        if self.is_server:
            server: Callable[[str, str], Ledger] | None = plugged("server")
            if server is None:
                raise ParameterError(
                    "must be a path: this fullrecall has no client for Redis", "store"
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
            f"must be a path, a redis:// URL, a Ledger or None, got {type(store).__name__}", "store"
        )
    with store.open() if isinstance(store, Address) else nullcontext(store) as ledger:
        ledger.check_open()
        if ledger.problem:
            warnings.warn(ledger.problem, UserWarning, stacklevel=3)
        yield ledger


def _server_url(scheme: str, rest: str) -> str:
    """Return the URL of a server from its scheme and the text after the colon."""
    from fullrecall.judge.models.redaction import hide_url, names_secret

    if scheme not in SERVERS:
        raise ParameterError(
            f"must be a path or the URL of a Redis server (redis://, rediss://, unix://), got a "
            f"URL that begins with {scheme}://",
            "store",
        )
    # The path of a socket may have an @; elsewhere it ends the credentials, whatever they hold.
    is_socket = scheme == "unix" and rest.startswith("//")
    if not rest.startswith("//"):
        rest = f"/{rest}" if scheme != "unix" else f"//{rest}"
    url = f"{scheme}:{rest}"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for what is no number
    except ValueError:
        raise ParameterError(
            f"must be a URL with a host and a port, as {scheme}://host:6379/0, got another", "store"
        ) from None
    has_user = "@" in (parts.netloc if is_socket else rest)
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if has_user or any(names_secret(name) or "user" in name.lower() for name in names):
        hide_url(url)
        # Not a part of it is shown: a password may have any character in it.
        raise ParameterError(
            f"must be a URL without a password or a user, got a {scheme}:// URL with one: set "
            "REDIS_PASSWORD and REDIS_USERNAME here and where workers run",
            "store",
        )
    return url
