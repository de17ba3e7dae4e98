"""A store on a Redis server, for the workers of many machines: what one was answered, all have.

It has what `Store` has, under the same keys: completions and results, of which the first stays,
and leases, so that one of all workers asks. It keeps besides what a job is not to ask again:
replies that could not be used. What is reported as kept is with the server; whether it outlives
the server is up to the server's settings (`appendonly yes`).
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from fullrecall.errors import MissingExtraError, ParameterError, StoreError
from fullrecall.evaluation.lease import LEASE_SECONDS
from fullrecall.evaluation.store import completion_of, plain_completion
from fullrecall.models.chat import Completion
from fullrecall.models.redaction import hide_url, public_url
from fullrecall.records import ResultRecord, plain_result
from fullrecall.result import Method, Result

SCHEMES = ("redis://", "rediss://", "unix://")
"""How the address of a server begins."""

JOB_SECONDS = 7 * 24 * 3_600
"""How long a server remembers a job that nobody works on."""

_PREFIX = "fullrecall:"
_LEASE_MS = int(1_000 * LEASE_SECONDS)
_THREADS = 4
_PATIENCE = 10.0  # seconds to wait for the server
_RETRIES = 5  # of a command, and of a connection for each: a server may take ten seconds to restart

_CLAIM = """
if redis.call('EXISTS', KEYS[1]) == 1 or (ARGV[3] ~= '' and redis.call('EXISTS', KEYS[3]) == 1) then
  return 0
end
if redis.call('GET', KEYS[2]) == ARGV[1] then return 1 end  -- sent twice: the answer was lost
return redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0
"""
_RENEW = """
return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0
"""
_RELEASE = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"


@dataclass(frozen=True)
class Server:
    """Where a store is served, and for which job; picklable, with no password.

    `url` is a Redis server's. A password is read from REDIS_PASSWORD, and a user from
    REDIS_USERNAME, wherever it connects. Raises `ParameterError` for a URL that holds one.
    """

    url: str
    job: str = field(default_factory=lambda: secrets.token_hex(8))

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.password or parts.username:
            hide_url(self.url)
            raise ParameterError(
                f"store must be a URL without a password, got {public_url(self.url)!r} with one: "
                "set REDIS_PASSWORD here and where workers run"
            )

    def client(self) -> Any:
        """Return this process's client; raises `MissingExtraError` without redis."""
        return _client(self.url, os.getpid())

    def key(self, kind: str, name: bytes | str = "") -> str:
        """Return the key of something that all jobs share."""
        return f"{_PREFIX}{kind}:{name.hex() if isinstance(name, bytes) else name}"

    def job_key(self, kind: str, name: bytes | str = "") -> str:
        """Return the key of something of this job."""
        return self.key(f"job:{self.job}:{kind}", name)


@lru_cache(maxsize=8)
def _client(url: str, pid: int) -> Any:  # noqa: ARG001 - connections do not cross a fork
    try:
        import redis
    except ImportError:
        raise MissingExtraError("redis", "redis", "a store on a server") from None
    from redis.backoff import ExponentialBackoff
    from redis.retry import Retry

    given = {name: os.environ.get(f"REDIS_{name.upper()}") for name in ("username", "password")}
    return redis.Redis.from_url(
        url,
        socket_timeout=_PATIENCE,
        socket_connect_timeout=_PATIENCE,
        health_check_interval=30,
        retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), _RETRIES),
        retry_on_error=[redis.ConnectionError, redis.TimeoutError],
        **{name: value for name, value in given.items() if value},
    )


class ServedStore:
    """A store on a server, open; close it, or use it in a `with`.

    Raises `StoreError` where the server cannot be reached. One that is lost later serves nothing
    from then on: `problem` says so, and is empty while all is well.
    """

    def __init__(self, server: Server) -> None:
        self.path = public_url(server.url)
        self.problem = ""
        self._server = server
        self._client = server.client()
        self._closed = False
        self._leases: dict[bytes, bytes] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        try:
            self._client.ping()
        except Exception as error:  # noqa: BLE001 - of the client, of the network
            raise StoreError(f"the store {self.path} cannot be reached: {error}") from None
        self._claim, self._renew, self._release = map(
            self._client.register_script, (_CLAIM, _RENEW, _RELEASE)
        )
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="fullrecall-store")
        self._renewing = threading.Thread(target=self._renew_leases, daemon=True)
        self._renewing.start()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed: it keeps and serves nothing then."""
        return self._closed

    def completion(self, key: bytes) -> Completion | None:
        """Return what is kept under a key, or what this job is not to ask again; else None."""
        keys = (self._server.key("completion", key), self._server.job_key("unusable", key))
        found = self._read(lambda: self._client.mget(keys)) or ()
        text = next((each for each in found if each is not None), None)
        if text is None:
            return None
        plain = json.loads(text)
        plain.pop("model", None)
        return completion_of(plain)

    def claim(self, key: bytes) -> tuple[bytes, Future[bool]]:
        """Ask for the lease of a key: return its token, and whether it is granted."""
        token = secrets.token_bytes(8)

        def act() -> bool:
            server = self._server
            names = (("completion", key), ("lease", key))
            keys = [server.key(*name) for name in names] + [server.job_key("unusable", key)]
            granted = bool(self._claim(keys=keys, args=[token, _LEASE_MS, server.job]))
            if granted:
                with self._lock:
                    self._leases[token] = key
            return granted

        return token, self._done(act, otherwise=True)

    def release(self, key: bytes, token: bytes) -> Future[None]:
        """End a lease without an answer: whoever waits for it may ask."""
        return self._done(lambda: self._end(key, token))

    def keep_completion(
        self, key: bytes, model: str, completion: Completion, lease: bytes | None = None
    ) -> Future[None]:
        """Keep a completion of the model so named; the future is done when the server has it."""
        text = json.dumps({"model": model, **plain_completion(completion)})

        def act() -> None:
            # What was kept first stays: workers that asked the same go on with the same answer.
            self._client.set(self._server.key("completion", key), text, nx=True)
            if lease is not None:
                self._end(key, lease)

        return self._done(act)

    def keep_unusable(self, key: bytes, completion: Completion) -> Future[None]:
        """Remember a reply that could not be used, so that this job does not ask for it again."""
        text = json.dumps(plain_completion(completion))
        name = self._server.job_key("unusable", key)
        return self._done(lambda: self._client.set(name, text, nx=True, ex=JOB_SECONDS))

    def result(self, key: bytes, method: Method) -> Result | None:
        """Return the result kept under a key, as made by `method`; None where there is none."""
        text = self._read(lambda: self._client.get(self._server.key("result", key)))
        if text is not None:
            with suppress(ValueError):  # not this version's form: it is made anew
                return ResultRecord.read(json.loads(text)).result(method)
        return None

    def keep_result(self, key: bytes, result: Result) -> Future[None]:
        """Keep a result; the future is done when the server has it."""
        text = json.dumps(plain_result(result))
        return self._done(lambda: self._client.set(self._server.key("result", key), text, nx=True))

    def has_failed(self, key: bytes) -> bool:
        """Whether an ask failed for good in an earlier run, while others were answered."""
        return bool(self._read(lambda: self._client.exists(self._server.key("failure", key))))

    def keep_failure(self, key: bytes) -> Future[None]:
        """Remember that an ask failed for good while others were answered."""
        return self._done(lambda: self._client.set(self._server.key("failure", key), 1))

    def close(self) -> None:
        """Send what waits, and end the leases."""
        if self._closed:
            return
        with self._lock:
            leases = list(self._leases.items())
        for token, key in leases:
            self.release(key, token)
        self._closed = True
        self._ended.set()
        self._pool.shutdown()
        self._renewing.join()

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
        return f"ServedStore({self.path!r})"

    def _end(self, key: bytes, token: bytes) -> None:
        with self._lock:
            self._leases.pop(token, None)
        self._release(keys=[self._server.key("lease", key)], args=[token])

    def _renew_leases(self) -> None:
        while not self._ended.wait(LEASE_SECONDS / 4):
            with self._lock:
                held = list(self._leases.items())
            for token, key in held:
                with suppress(Exception):  # the next request to the server says what is wrong
                    self._renew(keys=[self._server.key("lease", key)], args=[token, _LEASE_MS])

    def _read(self, act: Callable[[], Any]) -> Any:
        if self._closed:
            raise StoreError(f"the store {self.path} is closed: open it again")
        if self.problem:
            return None
        try:
            return act()
        except Exception as error:  # noqa: BLE001 - likewise
            self._stop(error)
            return None

    def _done(self, act: Callable[[], Any], otherwise: Any = None) -> Future[Any]:
        if self._closed:
            raise StoreError(f"the store {self.path} is closed: open it again")

        def done() -> Any:
            if self.problem:
                return otherwise
            try:
                return act()
            except Exception as error:  # noqa: BLE001 - likewise
                self._stop(error)
                return otherwise

        return self._pool.submit(done)

    def _stop(self, error: Exception) -> None:
        self.problem = self.problem or (
            f"the store {self.path} keeps nothing from here on ({error}): the run continues, and "
            "new answers are in its results only"
        )
