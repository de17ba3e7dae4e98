"""An account: requests are counted before they are sent, none beyond the budget.

Tokens are known when an answer is there. Until then a request holds a reserve: as many as it is
expected to take, and beside others as many as it may take, so that a bad guess costs once and not
as many times as there are requests in flight.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import ceil
from typing import Any, NamedTuple, TypeAlias, TypeVar

from fullrecall._util.counts import counted
from fullrecall.judge.flow import NotAsked
from fullrecall.judge.judge import Ask
from fullrecall.judge.models.chat import Completion
from fullrecall.judge.usage import Spent
from fullrecall.run.budget import Budget, Price, no_price
from fullrecall.run.ledger import AccountLostError, Ledger
from fullrecall.run.work import Run

T = TypeVar("T")

_PER = 1_000_000  # tokens that a price is for
_PER_CHARACTER = 0.3  # tokens, before any answer told better
_ANSWER = 200  # tokens, likewise
_UNCOUNTED = 4  # characters that are charged as a token where the model counts none
_PROMPT_AT_MOST = 2.0  # times the tokens for its length that the largest before took
_ANSWER_AT_MOST = 4.0  # times the tokens that the longest answer before took
_PER_MESSAGE = 16  # tokens that mark a message's beginning, role and end
_LONG_ANSWER = 1_000  # tokens that an answer may take, whatever earlier ones took


_NANO = 1_000_000_000
"""Costs are counted in billionths: whole numbers add up exactly."""

HOLD_SECONDS = 60.0
"""A hold that was not renewed for so long belongs to a worker that is dead or hangs.

It counts as spent, until its worker settles it after all."""

_POLL_SECONDS = (0.02, 0.25)
"""Pauses between two looks at whether others have made room: the first, and the longest."""

_ASKING = 4
"""Requests of a process that reserve their turns at once. The others queue: a request whose turn is
reserved is sent even if the endpoint asks to wait in the meantime."""


def _nothing(_: Any, __: float) -> None:
    """Change nothing."""


class _Size(NamedTuple):
    """What a request takes, or may take: tokens, and cost in billionths."""

    tokens: int
    cost: int


_State: TypeAlias = dict[str, Any]
"""What an account holds, as plain JSON: counts, what is held by those on their way, turns."""


class _Admission(NamedTuple):
    """Whether a request may go, and in how many seconds; else why not, or None to look again."""

    granted: bool
    wait: float = 0.0
    why: str | None = None


class Account:
    """Whether a run's budget has room for more, beside what it has spent; in one event loop.

    In a `shared` ledger it is the account of a job, which all its workers charge: what is held for
    a request is renewed while its worker lives. Of one that was killed it soon counts as spent.
    """

    def __init__(self, run: Run, ledger: Ledger | None = None) -> None:
        self.spent = run.spent
        self.budget = budget = run.budget
        is_shared = ledger is not None and ledger.job and (budget.has_bounds or budget.prices)
        self._ledger = ledger if is_shared else None
        self._state: _State = {"holds": {}}
        self._settlement = asyncio.Event()
        self._why: str | None = None
        self._hold_names: set[str] = set()
        self._renewing: asyncio.Task[None] | None = None
        self._undoing: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(_ASKING)

    async def hold(self, ask: Ask, sent: int) -> str:
        """Hold what a request may take, for the `sent`th time; return the hold, to be settled.

        Waits for those on their way where it depends on them, and for its turn by the rate.
        Raises `NotAsked` where the budget has no room, and where the account is lost.
        """
        name = ""
        if self._ledger is not None or self.budget.has_bounds:
            async with self._turns:
                name = await self._turn(ask)
        self.spent.calls += 1
        self.spent.retries += sent > 1
        return name

    async def settle(self, ask: Ask, name: str, completion: Completion | None, sent: int) -> None:
        """Count what a request took; of one that failed, or was given up, the request alone."""
        size = _Size(0, 0) if completion is None else self._count(ask, completion)
        if not name:
            return
        amounts = {**size._asdict(), "settled": 0, "retries": int(sent > 1)}
        largest = {}
        if completion is not None:
            amounts["settled"] = 1
            amounts["prompt_tokens"] = completion.prompt_tokens
            amounts["completion_tokens"] = completion.completion_tokens
            prompt, answered = _tokens(ask, completion)
            largest = {"per_character": prompt / max(1, _characters(ask)), "answer": answered}
        # First of all: a hold that is renewed after its end would never expire.
        self._hold_names.discard(name)
        with suppress(NotAsked):  # a lost account counts what was held; the answer is there
            await self._amend(partial(_settled, name=name, amounts=amounts, largest=largest))
        self._wake()

    async def close(self) -> None:
        """Take back what was given up, and renew nothing more."""
        if self._renewing is not None:
            self._renewing.cancel()
        # The ledger is closed next, and what is not undone by then stays counted.
        await asyncio.gather(*self._undoing, return_exceptions=True)

    async def _turn(self, ask: Ask) -> str:
        budget = self.budget
        if budget.cost is not None and budget.price(ask.model) is None:
            raise NotAsked(no_price(ask.model, budget))
        name, pause = f"{secrets.randbits(64):x}", _POLL_SECONDS[0]
        while True:
            if self._why is not None:
                raise NotAsked(self._why)
            # The name is drawn here: a change that the ledger carries out twice finds its own hold.
            reserve = partial(_reserved, name=name, ask=ask, budget=budget)
            answer = await self._amend(reserve, undo=partial(_given_back, name=name))
            # No other process can wake this one: where it is full, it looks again, ever less often.
            if answer.granted:
                break
            if answer.why is not None:
                self._why = answer.why
                self._wake()
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._settlement.wait()
                pause = min(2 * pause, _POLL_SECONDS[1])
        self._hold_names.add(name)
        if self._ledger is not None and self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())
        if answer.wait:
            try:
                await asyncio.sleep(answer.wait)
            except asyncio.CancelledError:
                self._hold_names.discard(name)
                await self._amend(partial(_given_back, name=name))
                raise
        return name

    async def _amend(
        self, change: Callable[[_State, float], T], undo: Callable[[_State, float], Any] = _nothing
    ) -> T:
        """Change the account; `undo` where whoever waits for it is cancelled meanwhile."""
        if self._ledger is None:
            return change(self._state, time.monotonic())
        spending = asyncio.wrap_future(self._ledger.spend(self.budget.owner, change))
        try:
            # A change that is on its way to the ledger cannot be cancelled, only undone after it.
            outcome = await asyncio.shield(spending)
        except asyncio.CancelledError:
            undoing = asyncio.create_task(self._undo(spending, undo))
            self._undoing.add(undoing)
            undoing.add_done_callback(self._undoing.discard)
            raise
        if isinstance(outcome, AccountLostError):
            reason = self._ledger.reason
            raise NotAsked(f"{outcome} ({reason})" if reason else str(outcome))
        return outcome

    async def _undo(
        self, spending: asyncio.Future[Any], undo: Callable[[_State, float], Any]
    ) -> None:
        await asyncio.wait([spending])
        if self._ledger is not None:
            await asyncio.wrap_future(self._ledger.spend(self.budget.owner, undo))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(HOLD_SECONDS / 4)
            with suppress(NotAsked):
                await self._amend(partial(_renewed, names=tuple(self._hold_names)))

    def _wake(self) -> None:
        """Have those who wait for room look again."""
        self._settlement.set()
        # A new event: one that stays set would let those who come later spin.
        self._settlement = asyncio.Event()

    def _count(self, ask: Ask, completion: Completion) -> _Size:
        prompt, answered = completion.prompt_tokens, completion.completion_tokens
        self.spent.prompt_tokens += prompt
        self.spent.completion_tokens += answered
        size = _size(ask, self.budget, *_tokens(ask, completion))
        if self.spent.cost is not None:
            is_priced = self.budget.price(ask.model) is not None
            self.spent.cost = self.spent.cost + size.cost / _NANO if is_priced else None
        return size


def spent_of(ledger: Ledger, budget: Budget) -> Spent:
    """Return what all workers of the ledger's job have spent; raise where nobody knows it."""
    account = ledger.spend(budget.owner, lambda state, _: state).result()
    if isinstance(account, AccountLostError):
        raise account
    names = ("calls", "retries", "prompt_tokens", "completion_tokens")
    counts = {name: account.get(name, 0) for name in names}
    return Spent(**counts, cost=account.get("cost", 0) / _NANO if budget.prices else None)


# --- changes of an account's state: each is done in one step, whoever else charges it


def _reserved(state: _State, now: float, *, name: str, ask: Ask, budget: Budget) -> _Admission:
    """Count a request as on its way if there is room for it."""
    holds: dict[str, list[float]] = state["holds"]
    if name in holds:
        return _Admission(granted=True)  # asked twice: the answer was lost
    _expire(state, now)
    if budget.calls is not None and state.get("calls", 0) >= budget.calls:
        why = f"the budget of {counted(budget.calls, 'call')} is used up"
        return _Admission(granted=False, why=why)
    largest = _largest(ask, budget, state)
    if budget.is_measured:
        may_join = len(holds) <= state.get("settled", 0)  # what few took says little of many
        if not (may_join and _beyond(state, budget, largest) is None):
            if holds:
                return _Admission(granted=False)  # those on their way may take less than is held
            beyond = _beyond(state, budget, _expected(ask, budget, state))
            if beyond is not None:
                return _Admission(granted=False, why=beyond)
    turn = now
    if budget.rate is not None:
        # Turns are slots of time in the shared account: the rate is that of all workers together.
        turn = max(now, state.get("turn", 0.0))
        state["turn"] = turn + 1 / budget.rate
    state["calls"] = state.get("calls", 0) + 1
    holds[name] = [largest.tokens, largest.cost, turn + HOLD_SECONDS]
    return _Admission(granted=True, wait=turn - now)


def _settled(
    state: _State, _: float, *, name: str, amounts: dict[str, int], largest: dict[str, float]
) -> None:
    """Replace what was held for a request by what it took; late is not too late."""
    expired = state.get("expired", {}).pop(name, None)
    if expired is None and state["holds"].pop(name, None) is None:
        return
    for kind, number in amounts.items():
        state[kind] = state.get(kind, 0) + number
    if expired is not None:
        state["tokens"] -= expired[0]
        state["cost"] -= expired[1]
    for kind, size in largest.items():
        state[kind] = max(state.get(kind, 0), size)


def _given_back(state: _State, _: float, *, name: str) -> None:
    """End a hold of which nothing was sent."""
    if state["holds"].pop(name, None) is not None:
        state["calls"] -= 1


def _renewed(state: _State, now: float, *, names: Sequence[str]) -> None:
    for name in names:
        if name in state["holds"]:
            state["holds"][name][2] = now + HOLD_SECONDS


def _expire(state: _State, now: float) -> None:
    """Count what dead workers held as spent, until they settle it after all."""
    for name, hold in list(state["holds"].items()):
        if hold[2] < now:
            # Kept by name: a worker that was only slow still settles, and is not counted twice.
            state.setdefault("expired", {})[name] = state["holds"].pop(name)
            for kind, number in (("tokens", hold[0]), ("cost", hold[1])):
                state[kind] = state.get(kind, 0) + number


def _beyond(state: _State, budget: Budget, size: _Size) -> str | None:
    """Return which bound a request of that size would go beyond, with those on their way."""
    holds = state["holds"].values()
    tokens, cost = budget.tokens, budget.cost
    spent = state.get("tokens", 0), state.get("cost", 0)
    if tokens is not None and spent[0] + sum(hold[0] for hold in holds) + size.tokens > tokens:
        return f"the budget of {tokens:,} tokens is used up"
    if cost is not None and spent[1] + sum(hold[1] for hold in holds) + size.cost > cost * _NANO:
        return f"the budget of {cost:g} is used up: the cost so far is {spent[1] / _NANO:.4g}"
    return None


def _expected(ask: Ask, budget: Budget, state: _State) -> _Size:
    """Return what a request takes if it is like the largest before."""
    prompt = _characters(ask) * (state.get("per_character") or _PER_CHARACTER)
    return _size(ask, budget, prompt, state.get("answer") or _ANSWER)


def _largest(ask: Ask, budget: Budget, state: _State) -> _Size:
    """Return the most that a request may take: a token a byte, or as many as earlier ones had."""
    if not budget.is_measured:
        return _Size(0, 0)
    per_character = max(1.0, _PROMPT_AT_MOST * state.get("per_character", 0.0))
    answer = max(_LONG_ANSWER, _ANSWER_AT_MOST * state.get("answer", 0.0))
    return _size(ask, budget, per_character * _bytes(ask), answer)


def _size(ask: Ask, budget: Budget, prompt: float, answer: float) -> _Size:
    price = budget.price(ask.model) or Price(0.0, 0.0)
    cost = (prompt * price.prompt + answer * price.completion) * (_NANO // _PER)
    return _Size(ceil(prompt + answer), round(cost))


def _tokens(ask: Ask, completion: Completion) -> tuple[int, int]:
    """Return the tokens of prompt and answer, by their length where the model counted none."""
    prompt, answered = completion.prompt_tokens, completion.completion_tokens
    if completion.text:  # each count by itself: an endpoint may leave out either
        prompt = prompt or _characters(ask) // _UNCOUNTED
        answered = answered or len(completion.text) // _UNCOUNTED
    return prompt, answered


def _characters(ask: Ask) -> int:
    return sum(len(message.content) for message in ask.request.messages)


def _bytes(ask: Ask) -> int:
    request = ask.request
    texts = [message.content for message in request.messages]
    texts.append(str(request.schema) if request.schema is not None else "")
    return sum(len(text.encode("utf-8", "surrogatepass")) + _PER_MESSAGE for text in texts)
