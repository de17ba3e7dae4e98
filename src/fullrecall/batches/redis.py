"""The ledger on a Redis server, for the workers of many machines.

The server makes each change by one script, in one step. If the connection breaks before the reply
comes, the client sends the command again; the script then finds that its change was made, and
changes nothing.

An answer reported as kept is on the server. Whether it survives a restart of the server depends on
the server's settings. With other settings than `appendonly yes` and `appendfsync always`, a restart
may lose the last changes to a job's account. So a job with a budget ends when such a server
restarts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from string import Template
from typing import Any

from fullrecall._util.extras import imported
from fullrecall._util.values import shown
from fullrecall.errors import ParameterError, StoreError
from fullrecall.judge.models.redaction import public_url
from fullrecall.run import ledger, spending
from fullrecall.run.address import Address
from fullrecall.run.ledger import AccountLostError, Ledger

_KEEP_SECONDS = 7 * 24 * 3_600
"""The seconds for which a server keeps an account that no worker uses."""

_PATIENCE = 10.0  # seconds to wait for the server's reply
_PROBING = 1.0  # seconds to wait for the reply of a server that did not answer before
_RETRIES = 5  # retries of a command and its connection; a restart may take ten seconds
# The oldest supported version of Redis. Earlier versions keep loaded scripts when they restart, so
# the script with the ID of the earlier run would still be called, and lost data would go unnoticed.
_VERSION = 7

_LEASE = """
local holder = redis.call('GET', KEYS[2])
if redis.call('EXISTS', KEYS[1]) == 1 or (holder and holder ~= ARGV[1]) then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1
"""
_FORGET = "if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end"
_KEEP = """
redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('DEL', KEYS[2])
return redis.call('GET', KEYS[1])
"""

_SPEND = """
local account, alive, a = KEYS[1], KEYS[2], cjson.decode(ARGV[2])
local life = redis.call('HGET', account, 'life')
if not life then return '{"lost": "GONE"}' end
if life ~= '$LIFE' then return '{"lost": "FORGETFUL"}' end
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6

local function get(kind) return tonumber(redis.call('HGET', account, kind) or 0) end
local function put(kind, number)
  redis.call('HSET', account, kind, string.format('%.17g', number))
end
local function add(amounts, sign) -- plus 0, since -0 is no integer there
  for kind, number in pairs(amounts) do
    redis.call('HINCRBY', account, kind, string.format('%.0f', sign * number + 0))
  end
end
local function size(prompt, answer)
  local cost = (prompt * a.prices[1] + answer * a.prices[2]) * 1000
  return {calls = 1, tokens = math.ceil(prompt + answer), cost = math.floor(cost + 0.5)}
end
local function full(sizes)
  for _, kind in ipairs({'calls', 'tokens', 'cost'}) do
    local bound = a.bounds[kind]
    if bound and get(kind) + sizes[kind] > bound then return kind end
  end
end

local rules = {}
function rules.reserve()
  if redis.call('HEXISTS', account, 'hold:' .. a.name) == 1 then return {wait = 0} end
  local hold, is_sized, longest = {calls = 1}, a.bounds.tokens or a.bounds.cost, get('longest')
  if is_sized then
    hold = size(a.prompt[2], math.max($LONG_ANSWER, $ANSWER_AT_MOST * longest))
  end
  local kind, others = full(hold), redis.call('ZCOUNT', alive, now, '+inf')
  if is_sized and kind ~= 'calls' and (kind or others > get('settled')) then
    if others > 0 then return {again = true} end
    if longest == 0 then longest = $ANSWER end
    kind = full(size(a.prompt[1], longest))
  end
  if kind then return {full = kind, cost = get('cost')} end
  local turn = now
  if a.bounds.rate then
    turn = math.max(now, get('turn'))
    put('turn', turn + 1 / a.bounds.rate)
  end
  add(hold, 1)
  redis.call('HSET', account, 'hold:' .. a.name, cjson.encode(hold))
  redis.call('ZADD', alive, turn + a.seconds, a.name)
  return {wait = turn - now}
end
function rules.settle()
  local hold = redis.call('HGET', account, 'hold:' .. a.name)
  if hold then
    redis.call('HDEL', account, 'hold:' .. a.name)
    redis.call('ZREM', alive, a.name)
    add(cjson.decode(hold), -1)
    add(a.amounts, 1)
    put('longest', math.max(get('longest'), a.answer))
  end
  return {}
end
function rules.read()
  local counts = {}
  for _, kind in ipairs(a.kinds) do counts[kind] = get(kind) end
  return counts
end

local outcome = rules[ARGV[1]]()
redis.call('EXPIRE', account, $KEEP_SECONDS)
redis.call('EXPIRE', alive, $KEEP_SECONDS)
return cjson.encode(outcome)
"""

_NUMBERS = ("LONG_ANSWER", "ANSWER_AT_MOST", "ANSWER")


@lru_cache(maxsize=8)
def _client(url: str, pid: int, *, probes: bool = False) -> Any:  # noqa: ARG001 - one for a process
    """Return a client of a server; with `probes`, it waits only a second and does not retry."""
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
    """A ledger on the Redis server at `url`.

    Raises `ParameterError` for any other address, and `StoreError` if the server cannot be reached.
    """

    threads = 4

    def __init__(self, url: str, job: str = "") -> None:
        address = Address(url, job)
        if not address.is_server:
            raise ParameterError(f"must be the URL of a Redis server, got {shown(url)}", "store")
        self._url = url = address.url
        client = self._client = _client(url, os.getpid())
        self._spending = ""
        super().__init__(public_url(url), job)
        try:
            client.ping()
        except Exception as error:  # noqa: BLE001 - of the client, of the network
            raise StoreError(f"the store {self.path} cannot be reached: {error}") from None

    def get(self, key: str) -> str | None:
        """Return the saved answer to a request, or None if there is none.

        Returns None too if the server cannot be reached.
        """
        self.check_open()
        kept: str | None = self.tried(lambda: self._client.get(name_of(key)), None)
        return kept

    def _lease(self, key: str, token: str) -> bool:
        return bool(self._step(_LEASE, key, token, round(ledger.LEASE_SECONDS * 1000)))

    def _forget(self, key: str, token: str) -> None:
        self._step(_FORGET, key, token)

    def _keep(self, key: str, value: str) -> str:
        return str(self._step(_KEEP, key, value))

    def _step(self, script: str, key: str, *arguments: object) -> Any:
        # Send the script's text, not its digest: a server forgets its scripts when it restarts.
        return self._client.eval(script, 2, *_names(key, "lease"), *arguments)

    def _open_account(self) -> None:
        name = name_of(self.account_key)
        self._client.hsetnx(name, "life", self._life())
        self._client.expire(name, _KEEP_SECONDS)

    def _spend(self, rule: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from redis.exceptions import NoScriptError

        names = _names(self.account_key, "alive")
        values = [rule, json.dumps({**arguments, "kinds": spending.COUNTS})]
        try:
            outcome: dict[str, Any] = json.loads(
                self._client.evalsha(self._spending, 2, *names, *values)
            )
        except NoScriptError:  # load the script at the first call, and after a server's restart
            self._tell()
            return self._spend(rule, arguments)
        if "lost" in outcome:
            raise AccountLostError(getattr(spending, outcome["lost"]))
        return outcome

    def _tell(self) -> None:
        """Load the budget's script into Redis, with the ID of the server's current run in it."""
        # Ask for the ID again after loading: if the server restarted meanwhile, load the script
        # anew, since the loaded one has the ID of the earlier run.
        life = self._life()
        while True:
            numbers = {name: getattr(spending, name) for name in _NUMBERS}
            numbers |= {"LIFE": life, "KEEP_SECONDS": _KEEP_SECONDS}
            self._spending = self._client.script_load(Template(_SPEND).substitute(numbers))
            before, life = life, self._life()
            if life == before:
                return

    def _life(self) -> str:
        """Return the ID of the server's current run; "" if the server loses no data by a restart.

        Raises `StoreError` for a version of Redis that is too old.
        """
        server = self._client.info("server")
        if int(server["redis_version"].split(".")[0]) < _VERSION:
            raise StoreError(f"a budget needs Redis {_VERSION}, got {server['redis_version']}")
        settings = {}
        # A hosted server may refuse to show its settings: then assume that it may lose data.
        with suppress(Exception):
            settings = self._client.config_get("append*")
        durable = settings.get("appendonly"), settings.get("appendfsync")
        return "" if durable == ("yes", "always") else str(server["run_id"])

    def _probe(self) -> None:
        _client(self._url, os.getpid(), probes=True).ping()

    def _disconnect(self) -> None:
        """Leave the connections open: all ledgers on one server share them."""


def name_of(key: str) -> str:
    """Return the name of a key's record on the server.

    The part in braces chooses the node of a cluster, so that a record and its companion are on the
    same node.
    """
    return f"fullrecall:{{{key}}}"


def _names(key: str, beside: str) -> list[str]:
    """Return the names of a key's record and of its companion; the latter ends in `beside`."""
    return [name_of(key), f"{name_of(key)}:{beside}"]
