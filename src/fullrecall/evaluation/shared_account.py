"""One budget and one rate for all workers of a job: counted on the server that has their store.

What `Account` decides in one process, a script decides on the server, one request at a time: no
two workers can spend the same call. What is held for a request is renewed while its worker lives;
of one that was killed it soon counts as spent, and nobody waits for it any longer. A script that
the client sends twice, since the connection broke before the answer came, counts once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from fullrecall.counts import counted
from fullrecall.errors import ParameterError
from fullrecall.evaluation.budget import Account, Budget, BudgetSpent, Charge
from fullrecall.evaluation.served_store import JOB_SECONDS, Server
from fullrecall.judges.flow import NotAsked
from fullrecall.judges.judge import Ask
from fullrecall.models.retries import Attempt
from fullrecall.usage import Spent

_NANO = 1_000_000_000
"""Costs are counted in billionths: whole numbers add up exactly."""

_FASTEST = 1e6
"""Requests per second: more are no bound."""

_HOLD_SECONDS = 60
"""A request whose hold was not renewed for so long is of a worker that is dead, or as good as that.

It counts as what was held for it, until its worker settles it after all."""

_POLL_SECONDS = (0.02, 0.25)
"""Between two looks at whether others have made room: at first, and at most."""

_ASKING = 4
"""So many of a process ask for their turns at once, the others queue: who holds a turn that is yet
to come does not hear that the endpoint asks all to wait."""

_RESERVE = """
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local account, holds, pace, expired = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, calls, tokens, cost = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local most_tokens, most_cost = tonumber(ARGV[5]), tonumber(ARGV[6])
local tokens_expected, cost_expected = tonumber(ARGV[7]), tonumber(ARGV[8])
local gap, life, keep = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local held = string.format('%s:%.0f:%.0f', id, most_tokens, most_cost)
local function get(name) return tonumber(redis.call('HGET', account, name) or '0') end
local function add(name, n) redis.call('HINCRBY', account, name, string.format('%.0f', n)) end

if redis.call('ZSCORE', holds, held) then return {1, held, 0} end
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', holds, '-inf', now)) do
  local held_tokens, held_cost = string.match(dead, ':(%d+):(%d+)$')
  redis.call('ZREM', holds, dead); redis.call('SADD', expired, dead)
  add('held_tokens', 0 - held_tokens); add('held_cost', 0 - held_cost)
  add('tokens', held_tokens); add('cost', held_cost)
end
local rests = tonumber(redis.call('HGET', account, 'rests_until') or '0')
if rests > now then return {0, math.ceil((rests - now) / 1000)} end
if calls > 0 and get('calls') >= calls then return {-1, 1} end
local waiting = redis.call('ZCARD', holds)
if tokens > 0 or cost > 0 then
  if waiting > get('settled') then return {0, 0} end
  local room_tokens = tokens == 0 or get('tokens') + get('held_tokens') + most_tokens <= tokens
  local room_cost = cost == 0 or get('cost') + get('held_cost') + most_cost <= cost
  if not (room_tokens and room_cost) then
    if waiting > 0 then return {0, 0} end
    if tokens > 0 and get('tokens') + tokens_expected > tokens then return {-1, 2} end
    if cost > 0 and get('cost') + cost_expected > cost then return {-1, 3} end
  end
end
add('calls', 1); add('held_tokens', most_tokens); add('held_cost', most_cost)
local slot = now
if gap > 0 then
  slot = math.max(now, tonumber(redis.call('GET', pace) or '0'))
  redis.call('SET', pace, string.format('%.0f', slot + gap), 'EX', keep)
end
redis.call('ZADD', holds, slot + life * 1000000, held)
redis.call('EXPIRE', account, keep); redis.call('EXPIRE', holds, keep)
redis.call('EXPIRE', expired, keep)
return {1, held, math.ceil((slot - now) / 1000)}
"""

_RENEW = """
local t = redis.call('TIME')
local until_ = t[1] * 1000000 + t[2] + ARGV[1] * 1000000
for place = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', until_, ARGV[place]) end
"""

_GIVE_BACK = """
if redis.call('ZREM', KEYS[2], ARGV[1]) == 1 then
  local held_tokens, held_cost = string.match(ARGV[1], ':(%d+):(%d+)$')
  for name, n in pairs({calls = 1, held_tokens = held_tokens, held_cost = held_cost}) do
    redis.call('HINCRBY', KEYS[1], name, string.format('%.0f', 0 - n))
  end
end
"""

_SETTLE = """
local function add(name, n)
  redis.call('HINCRBY', KEYS[1], name, string.format('%.0f', n))
end
local held_tokens, held_cost = string.match(ARGV[1], ':(%d+):(%d+)$')
local was_held = redis.call('ZREM', KEYS[2], ARGV[1]) == 1
local had_expired = redis.call('SREM', KEYS[3], ARGV[1]) == 1
if was_held then
  add('held_tokens', 0 - held_tokens); add('held_cost', 0 - held_cost)
elseif had_expired then
  add('tokens', 0 - held_tokens); add('cost', 0 - held_cost)
end
if was_held or had_expired then
  add('tokens', ARGV[2]); add('cost', ARGV[3]); add('settled', ARGV[6])
  add('prompt_tokens', ARGV[4]); add('completion_tokens', ARGV[5]); add('retries', ARGV[7])
end
for place, name in ipairs({'per_character', 'answer'}) do
  local known = tonumber(redis.call('HGET', KEYS[1], name) or '0')
  if tonumber(ARGV[7 + place]) > known then
    redis.call('HSET', KEYS[1], name, ARGV[7 + place])
  end
end
return redis.call('HMGET', KEYS[1], 'per_character', 'answer')
"""

_REST = """
local t = redis.call('TIME')
local until_ = t[1] * 1000000 + t[2] + tonumber(ARGV[1])
if until_ > tonumber(redis.call('HGET', KEYS[1], 'rests_until') or '0') then
  redis.call('HSET', KEYS[1], 'rests_until', string.format('%.0f', until_))
end
"""


@dataclass(frozen=True)
class JobBudget(Budget):
    """What all workers of a job may spend together, and how fast they may ask.

    `rate` is how many requests per second go to models, from all of them; None sets no bound.
    """

    server: Server = field(kw_only=True)
    rate: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = self.rate
        if rate is not None and (
            isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate <= _FASTEST
        ):
            raise ParameterError(f"rate must be a number of requests per second > 0, got {rate!r}")

    def account(self) -> SharedAccount:
        """Return the job's account, as this process sees it."""
        return SharedAccount(self)

    def spent(self) -> Spent:
        """Return what all workers have spent so far."""
        names = ("calls", "retries", "prompt_tokens", "completion_tokens", "cost")
        key = self.server.job_key("account")
        told = [int(each or 0) for each in self.server.client().hmget(key, names)]
        calls, retries, prompt_tokens, completion_tokens, nano = told
        cost = nano / _NANO if self.prices else None
        return Spent(calls, retries, prompt_tokens, completion_tokens, cost)


class SharedAccount(Account):
    """An account that is kept on a server, so that all workers of a job charge the same one."""

    def __init__(self, budget: JobBudget) -> None:
        super().__init__(budget)
        server = budget.server
        client = server.client()
        self._rate = budget.rate
        self._asking = asyncio.Semaphore(_ASKING)
        self._settled_here = asyncio.Event()
        self._used_up_for: str | None = None
        self._lost: str | None = None
        self._held_here: set[bytes] = set()
        self._renewing: asyncio.Task[None] | None = None
        kinds = ("account", "holds", "pace", "expired")
        self._account, self._holds, self._pace, self._expired = map(server.job_key, kinds)
        self._reserve, self._renew, self._back, self._settled_on, self._rest = map(
            client.register_script, (_RESERVE, _RENEW, _GIVE_BACK, _SETTLE, _REST)
        )

    @asynccontextmanager
    async def charged(self, ask: Ask, sent: int) -> AsyncIterator[Charge]:
        """Hold what a request may take, for the `sent`th time; settle what it took.

        Waits for the job's turn. Raises `BudgetSpent` where the budget has no room, and `NotAsked`
        where the server is lost: what is spent without it, nobody bounds.
        """
        async with self._asking:
            held = await self._held(ask)
        self.spent.calls += 1
        self.spent.retries += sent > 1
        charge = Charge(self._at_most(ask))
        try:
            with self._renewed(held):
                yield charge
        finally:
            # Shielded: a request that was given up is settled all the same. Where the server is
            # lost, it counts as what was held for it; the answer is there.
            with suppress(NotAsked):
                await asyncio.shield(self._settle_on_server(ask, charge, held, sent))
            self._settled_here.set()

    async def hears(self, attempt: Attempt) -> None:
        """Have all workers wait where the endpoint asks for it."""
        trouble = attempt.trouble
        if trouble is not None and trouble.wait is not None:
            micros = int(1e6 * trouble.wait)
            with suppress(NotAsked):
                await self._ask_server(self._rest, [self._account], [micros])

    async def _held(self, ask: Ask) -> bytes:
        name, pause = secrets.token_hex(8), _POLL_SECONDS[0]
        budget = self.budget
        while True:
            if self._used_up_for is not None:
                raise BudgetSpent(self._used_up_for)
            self._settled_here.clear()
            most, expected = self._at_most(ask), self._expected(ask)
            arguments = [
                name,
                budget.calls or 0,
                budget.tokens or 0,
                ceil((budget.cost or 0) * _NANO),
                ceil(most.tokens) if self._is_bounded else 0,
                ceil(most.cost * _NANO) if self._is_bounded else 0,
                ceil(expected.tokens),
                ceil(expected.cost * _NANO),
                ceil(1e6 / self._rate) if self._rate else 0,
                _HOLD_SECONDS,
                JOB_SECONDS,
            ]
            answer, told, *wait = await self._reserved_on_server(arguments)
            if answer == 1:
                held: bytes = told
                try:
                    await asyncio.sleep(wait[0] / 1_000)  # until its turn by the rate
                except asyncio.CancelledError:
                    await self._give_back(held)
                    raise
                return held
            if answer == -1:
                self._used_up_for = self._over(told)
            elif told:
                await asyncio.sleep(told / 1_000)
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._settled_here.wait(), pause)
                pause = min(2 * pause, _POLL_SECONDS[1])

    async def _reserved_on_server(self, arguments: list[Any]) -> list[Any]:
        keys = [self._account, self._holds, self._pace, self._expired]
        asking = asyncio.ensure_future(self._ask_server(self._reserve, keys, arguments))
        try:
            told: list[Any] = await asyncio.shield(asking)
        except asyncio.CancelledError:
            with suppress(NotAsked):
                answer, held, *_ = await asking
                if answer == 1:
                    await self._give_back(held)
            raise
        return told

    async def _give_back(self, held: bytes) -> None:
        """End a hold of which nothing was sent: it was given up before."""
        with suppress(NotAsked):
            await self._ask_server(self._back, [self._account, self._holds], [held])

    @contextmanager
    def _renewed(self, held: bytes) -> Iterator[None]:
        """Renew a hold as long as its request is on its way."""
        self._held_here.add(held)
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_holds())
        try:
            yield
        finally:
            self._held_here.discard(held)
            if not self._held_here:
                self._renewing.cancel()
                self._renewing = None

    async def _renew_holds(self) -> None:
        while True:
            await asyncio.sleep(_HOLD_SECONDS / 4)
            with suppress(NotAsked):
                arguments = [_HOLD_SECONDS, *self._held_here]
                await self._ask_server(self._renew, [self._holds], arguments)

    async def _settle_on_server(self, ask: Ask, charge: Charge, held: bytes, sent: int) -> None:
        before = self._tokens, self._cost
        told = self.spent.prompt_tokens, self.spent.completion_tokens
        if charge.completion is not None:
            self._count(ask, charge.completion)
        arguments = [
            held,
            ceil(self._tokens - before[0]),
            round((self._cost - before[1]) * _NANO),
            self.spent.prompt_tokens - told[0],
            self.spent.completion_tokens - told[1],
            int(charge.completion is not None),
            int(sent > 1),
            self._per_character,
            self._answer,
        ]
        keys = [self._account, self._holds, self._expired]
        known = await self._ask_server(self._settled_on, keys, arguments)
        self._per_character, self._answer = (float(each or 0) for each in known)

    def _over(self, which: int) -> str:
        budget = self.budget
        if which == 1:
            return f"the budget of {counted(budget.calls or 0, 'call')} is used up"
        if which == 2:  # noqa: PLR2004 - as the script numbers them
            return f"the budget of {budget.tokens or 0:,} tokens is used up"
        return f"the budget of {budget.cost or 0:g} is used up"

    async def _ask_server(self, script: Any, keys: list[str], arguments: list[Any]) -> Any:
        from redis.exceptions import RedisError

        if self._lost is not None:
            raise NotAsked(self._lost)
        try:
            return await asyncio.to_thread(script, keys=keys, args=arguments)
        except (RedisError, OSError) as error:
            # The client has tried again by then: what is to come does not wait for it too.
            self._lost = f"the server that counts the budget cannot be reached: {error}"
            raise NotAsked(self._lost) from None
