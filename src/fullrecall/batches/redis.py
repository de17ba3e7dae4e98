"""The ledger on a Redis server, for the workers of many machines.

A record is one value. It is amended by a compare-and-set: read, changed here, and written if it is
still what was read. A command that the client sends twice, since the connection broke before the
answer came, finds its own token and changes nothing.

What is reported as kept is with the server; whether it outlives the server is up to its settings
(`appendonly yes`). A server that may forget and was restarted ends the job whose account it has.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from random import Random
from typing import Any, TypeVar

from fullrecall._util.extras import imported
from fullrecall.errors import StoreError
from fullrecall.judge.models.redaction import public_url
from fullrecall.run.ledger import Entry, EntryChange, Ledger, Moment, answered

T = TypeVar("T")

_KEEP_SECONDS = 7 * 24 * 3_600
"""How long a server remembers what is no answer, if nobody amends it."""

_THREADS = 4
_PATIENCE = 10.0  # seconds to wait for the server
_PROBING = 1.0  # likewise, of one that was lost before
_RETRIES = 5  # of a command, and of a connection for each: a server may take ten seconds to restart

_SET = """
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1])
elseif ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end
return 1
"""


@lru_cache(maxsize=8)
def _client(url: str, pid: int, *, probes: bool = False) -> Any:  # noqa: ARG001 - a fork's own
    """Return a client of a server; one that only probes it gives up at once."""
    redis = imported("redis", "redis", "redis", "a store on a server")
    from redis.backoff import ExponentialBackoff
    from redis.retry import Retry

    patience = _PROBING if probes else _PATIENCE
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        socket_timeout=patience,
        socket_connect_timeout=patience,
        health_check_interval=30,
        retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), 0 if probes else _RETRIES),
        retry_on_error=[redis.ConnectionError, redis.TimeoutError],
        username=os.environ.get("REDIS_USERNAME") or None,
        password=os.environ.get("REDIS_PASSWORD") or None,
    )


class RedisLedger(Ledger):
    """A ledger on the server at `url`; raises `StoreError` where it cannot be reached."""

    def __init__(self, url: str, job: str = "") -> None:
        super().__init__(public_url(url), job)
        self._url = url
        self._client = _client(url, os.getpid())
        self._set = self._client.register_script(_SET)
        self._chance = Random()  # noqa: S311 - how long to wait is no secret
        self._life: tuple[str, str] | None = None
        try:
            self._client.ping()
        except Exception as error:  # noqa: BLE001 - of the client, of the network
            raise StoreError(f"the store {self.path} cannot be reached: {error}") from None
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="fullrecall-store")

    def get(self, key: str) -> Entry:
        """Return the record of an ask, an empty one where there is none or the server is lost."""
        self.check_open()
        return self._tried(lambda: Entry.of(self._client.get(name_of(key)) or ""), Entry())

    def amend(self, key: str, change: EntryChange[T], *, otherwise: T) -> Future[T]:
        """Change a record; the future is done when the server has it."""
        self.check_open()
        return self._pool.submit(self._tried, lambda: self._amended(key, change), otherwise)

    def _amended(self, key: str, change: EntryChange[T]) -> T:
        name = name_of(key)
        longest_wait = 0.002
        while True:
            # The time is the server's: the clocks of many machines disagree.
            pipeline = self._client.pipeline(transaction=False)
            before, (seconds, micros), server = pipeline.get(name).time().info("server").execute()
            entry = Entry.of(before or "")
            now = Moment(int(seconds) + int(micros) / 1e6, self._life_of(server["run_id"]))
            changed, outcome = change(entry, now)
            if changed == entry:
                return outcome
            keeps = changed.value is not None and not key.startswith("{")
            after = "" if changed == Entry() else changed.text()
            arguments = [before or "", after, "" if keeps else _KEEP_SECONDS]
            if self._set(keys=[name], args=arguments):
                return outcome
            # Others may be faster, again and again: whoever was late waits a little, at random.
            time.sleep(longest_wait * self._chance.random())
            longest_wait = min(0.05, 2 * longest_wait)

    def _life_of(self, run: str) -> str:
        """Return the ID of the server's current run, empty where it forgets nothing."""
        if self._life is None or self._life[0] != run:
            settings = {}
            with suppress(Exception):  # a hosted server may not tell: then it may forget
                settings = self._client.config_get("append*")
            durable = settings.get("appendonly"), settings.get("appendfsync")
            self._life = run, "" if durable == ("yes", "always") else run
        return self._life[1]

    def _tried(self, act: Callable[[], T], otherwise: T) -> T:
        if self.problem:
            return otherwise
        from redis.exceptions import RedisError

        try:
            return act()
        except (RedisError, OSError) as error:
            self.stop(f"the server cannot be reached: {error}")
            return otherwise

    def _save(self, answers: Mapping[str, str]) -> None:
        _client(self._url, os.getpid(), probes=True).ping()
        for key, value in answers.items():
            self._amended(key, partial(answered, value=value))

    def _close(self) -> None:
        self._pool.shutdown()


def name_of(key: str) -> str:
    """Return the name of a record on a server; what is in braces decides the node of a cluster."""
    return f"fullrecall:{key}" if key.startswith("{") else f"fullrecall:{{{key}}}"
