"""An account: requests are counted before they are sent, so that none exceeds the budget.

The rules are in `spending`. This module does the waiting: for requests in flight, and for a turn by
the rate.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from fullrecall.judge.flow import NotAsked
from fullrecall.judge.judge import Ask
from fullrecall.judge.models.chat import Completion
from fullrecall.judge.usage import Spent
from fullrecall.run.budget import Budget, no_price
from fullrecall.run.ledger import AccountLostError, Ledger
from fullrecall.run.spending import NANO, RULES, opened, size_of
from fullrecall.run.work import Run

_UNCOUNTED = 4  # characters charged as one token if the model counts none
_PER_MESSAGE = 16  # tokens that mark a message's beginning, role and end

HOLD_SECONDS = 60.0
"""Seconds without renewal after which the worker of a hold is considered dead or hanging.

The hold counts as spent, unless its worker settles it after all."""

_POLL_SECONDS = (0.02, 0.25)
"""Pauses between two checks whether other workers have made room: the first, and the longest."""

_ASKING = 4
"""Requests of a process that reserve their turns at once. The other requests queue: a request whose
turn is reserved is sent even if the endpoint asks to wait in the meantime."""


class Account:
    """Counts a run's requests against its budget; in one event loop.

    In the ledger of a job, all workers charge the same account. A worker renews the holds of its
    requests while it runs. The holds of a killed worker soon count as spent.
    """

    def __init__(self, run: Run, ledger: Ledger | None = None) -> None:
        self.spent = run.spent
        self.budget = budget = run.budget
        is_shared = ledger is not None and ledger.job and (budget.bounds or budget.prices)
        self._ledger = ledger if is_shared else None
        self._state = opened("")
        self._settlement = asyncio.Event()
        self._why: str | None = None
        self._hold_names: set[str] = set()
        self._renewing: asyncio.Task[None] | None = None
        self._undoing: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(_ASKING)

    async def hold(self, ask: Ask, sent: int) -> str:
        """Reserve the most that a request may take, sent for the `sent`th time.

        Returns the hold's name, for `settle`. Waits for its turn by the rate, and for requests in
        flight if it depends on them. Raises `NotAsked` if the budget has no room, and if the
        account is lost.
        """
        name = ""
        if self._ledger is not None or self.budget.bounds:
            async with self._turns:
                name = await self._turn(ask)
        self.spent.calls += 1
        self.spent.retries += sent > 1
        return name

    async def settle(self, ask: Ask, name: str, completion: Completion | None, sent: int) -> None:
        """Count a request's tokens and cost; if it failed or was given up, count the call."""
        amounts: dict[str, int] = {"retries": int(sent > 1)}
        largest = {}
        if completion is not None:
            amounts["settled"] = 1
            amounts["prompt_tokens"] = completion.prompt_tokens
            amounts["completion_tokens"] = completion.completion_tokens
            prompt, answered = _tokens(ask, completion)
            largest = {"per_character": prompt / max(1, _characters(ask)), "answer": answered}
            size = size_of(prompt, answered, self._prices(ask))
            amounts |= size._asdict()
            self.spent.prompt_tokens += completion.prompt_tokens
            self.spent.completion_tokens += completion.completion_tokens
            if self.spent.cost is not None:
                is_priced = self.budget.price(ask.model) is not None
                self.spent.cost = self.spent.cost + size.cost / NANO if is_priced else None
        if not name:
            return
        # First, since a hold that is renewed after its end would never expire.
        self._hold_names.discard(name)
        with suppress(NotAsked):  # a lost account keeps the hold counted; the answer has arrived
            await self._spend("settle", name=name, amounts=amounts, largest=largest)
        self._wake()

    async def close(self) -> None:
        """Take back the reserves of canceled requests, and stop renewing holds."""
        if self._renewing is not None:
            self._renewing.cancel()
        # The ledger is closed next: a reserve that is not undone by then stays counted.
        await asyncio.gather(*self._undoing, return_exceptions=True)

    async def _turn(self, ask: Ask) -> str:
        budget = self.budget
        if budget.cost is not None and budget.price(ask.model) is None:
            raise NotAsked(no_price(ask.model, budget))
        if self._why is not None:
            raise NotAsked(self._why)
        # Named here, so that a repeated change of the ledger finds its own hold.
        name, pause = f"{secrets.randbits(64):x}", _POLL_SECONDS[0]
        asked = {
            "name": name,
            "bounds": budget.bounds,
            "length": (_characters(ask), _most_tokens(ask)),
            "prices": self._prices(ask),
            "seconds": HOLD_SECONDS,
        }
        # No other process can wake this one: it polls, less and less often, while the account is
        # full.
        while "wait" not in (answer := await self._spend("reserve", **asked)):
            if "full" in answer:
                self._why = budget.exhausted(answer["full"], answer.get("cost", 0) / NANO)
                self._wake()
                raise NotAsked(self._why)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._settlement.wait()
            pause = min(2 * pause, _POLL_SECONDS[1])
        self._hold_names.add(name)
        if self._ledger is not None and self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())
        if answer["wait"]:
            try:
                await asyncio.sleep(answer["wait"])
            except asyncio.CancelledError:
                self._hold_names.discard(name)
                await self._spend("settle", **_undone(name))
                raise
        return name

    async def _spend(self, rule: str, **arguments: Any) -> dict[str, Any]:
        """Change the account by a rule; undo a reserve whose caller is canceled meanwhile."""
        if self._ledger is None:
            return RULES[rule](self._state, time.monotonic(), **arguments)
        spending = self._ledger.spend(self.budget.owner, rule, arguments)
        try:
            outcome = await asyncio.wrap_future(spending)
        except asyncio.CancelledError:
            if rule == "reserve":
                undoing = asyncio.create_task(self._undo(spending, arguments["name"]))
                self._undoing.add(undoing)
                undoing.add_done_callback(self._undoing.discard)
            raise
        if isinstance(outcome, AccountLostError):
            reason = self._ledger.reason
            raise NotAsked(f"{outcome} ({reason})" if reason else str(outcome))
        return outcome

    async def _undo(self, spending: Future[Any], name: str) -> None:
        # A change that is sent to the ledger cannot be canceled, only undone afterwards.
        await asyncio.wrap_future(spending)
        await self._spend("settle", **_undone(name))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(HOLD_SECONDS / 4)
            with suppress(NotAsked):
                await self._spend("renew", names=list(self._hold_names), seconds=HOLD_SECONDS)

    def _wake(self) -> None:
        """Make the requests that wait for room check again."""
        self._settlement.set()
        # A new event: if the old one stayed set, later requests would spin.
        self._settlement = asyncio.Event()

    def _prices(self, ask: Ask) -> tuple[float, float]:
        return self.budget.price(ask.model) or (0.0, 0.0)


def spent_of(ledger: Ledger, budget: Budget) -> Spent:
    """Return the spending of all workers of the ledger's job.

    Raises `AccountLostError` if the account is lost.
    """
    account = ledger.spend(budget.owner, "read", {}).result()
    if isinstance(account, AccountLostError):
        raise account
    names = ("calls", "retries", "prompt_tokens", "completion_tokens")
    counts = {name: account[name] for name in names}
    return Spent(**counts, cost=account["cost"] / NANO if budget.prices else None)


def _undone(name: str) -> Mapping[str, Any]:
    """Return the arguments of `settle` for a reserve whose request was never sent."""
    return {"name": name, "amounts": {"calls": -1}, "largest": {}}


def _tokens(ask: Ask, completion: Completion) -> tuple[int, int]:
    """Return the tokens of prompt and answer, estimated from their lengths if not counted."""
    prompt, answered = completion.prompt_tokens, completion.completion_tokens
    if completion.text:  # each count alone: an endpoint may omit either
        prompt = prompt or _characters(ask) // _UNCOUNTED
        answered = answered or len(completion.text) // _UNCOUNTED
    return prompt, answered


def _characters(ask: Ask) -> int:
    return sum(len(message.content) for message in ask.request.messages)


def _most_tokens(ask: Ask) -> int:
    """Return the most tokens that a prompt may have: one per byte, plus some per message."""
    request = ask.request
    texts = [message.content for message in request.messages]
    texts.append(str(request.schema) if request.schema is not None else "")
    return sum(len(text.encode("utf-8", "surrogatepass")) + _PER_MESSAGE for text in texts)
