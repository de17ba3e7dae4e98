"""The address of a ledger: a path, the URL of a server, or an open ledger."""

from __future__ import annotations

import os
import re
import secrets
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
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
"""Matches the scheme of a URL and its colon, if a slash follows.

A scheme has two letters or more, since a single letter is a drive of Windows. One slash is enough,
since `Path` turns the two slashes of a URL into one.
"""


@dataclass(frozen=True)
class Address:
    """The path or the Redis URL at which the workers of a job find its ledger.

    `job` identifies the job: the requests of all workers with the same `job` are counted together.
    Default: a random ID. An address is picklable and has no credentials: each process that connects
    reads the password from REDIS_PASSWORD, and the user from REDIS_USERNAME. Raises
    `ParameterError` for a URL with a password or a user, for the URL of another kind of server, and
    for a value that cannot be a path.
    """

    url: str
    job: str = field(default_factory=lambda: secrets.token_hex(8), repr=False, compare=False)

    def __post_init__(self) -> None:
        as_path(self.url, "store")
        url = os.fsdecode(self.url)
        scheme = _URL.match(url.strip())
        if scheme is not None:
            url = _server_url(scheme[1].lower(), url.strip()[scheme.end() :])
        object.__setattr__(self, "url", url)

    @property
    def is_server(self) -> bool:
        """Whether the address is the URL of a server."""
        return self.url.startswith(tuple(f"{scheme}://" for scheme in SERVERS))

    def absolute(self) -> Address:
        """Return the address with an absolute path, for processes in another directory.

        The address of a server is returned unchanged.
        """
        return self if self.is_server else replace(self, url=str(Path(self.url).absolute()))

    def open(self) -> Ledger:
        """Return the opened ledger.

        Raises `StoreError` if it cannot be opened, and `ParameterError` for the URL of a server if
        no client for Redis is built in.
        """
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
"""The types of `evaluate`'s `store`."""


@contextmanager
def opened(store: StoreLike | None) -> Iterator[Ledger | None]:
    """Yield the ledger at an address; None if `store` is None.

    The ledger is closed at the end of the block, unless `store` is an open ledger. Warns if the
    ledger cannot keep answers.
    """
    if store is None:
        yield None
        return
    if not isinstance(store, (Address, Ledger)):
        store = Address(store, "")  # type: ignore[arg-type]  # a text or a path
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
    # An @ may be part of a socket's path; elsewhere it ends the credentials.
    is_socket = scheme == "unix" and rest.startswith("//")
    if not rest.startswith("//"):
        rest = f"/{rest}" if scheme != "unix" else f"//{rest}"
    url = f"{scheme}:{rest}"
    with suppress(ValueError):
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for a port that is not a number
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
        has_secret = any(names_secret(name) or "user" in name.lower() for name in names)
        if not has_secret and "@" not in (parts.netloc if is_socket else rest):
            return url
    hide_url(url)
    # The URL is not shown, since a password may contain any character.
    raise ParameterError(
        f"must be a URL without a password or a user, such as {scheme}://host:6379/0: set "
        "REDIS_PASSWORD and REDIS_USERNAME here and where workers run",
        "store",
    )
