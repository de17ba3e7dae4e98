"""The account of a run or job: it counts requests before they are sent, so that a budget holds.

The rules are in `spending`. This module waits for requests in flight, and, if the budget limits the
rate, for a request's turn.
"""

from __future__ import annotations

import asyncio
import secrets
import time
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

_UNCOUNTED = 4  # characters per token, if the model counts no tokens
_PER_MESSAGE = 16  # tokens for a message's beginning, role and end

_PER_CHARACTER = 0.3  # the expected tokens per character of a prompt, before the first answer
_PROMPT_AT_MOST = 2.0  # a prompt may take this many times the highest tokens per character so far

HOLD_SECONDS = (10.0, 3_600.0)
"""The seconds that a request's reservation lasts: the request's timeout plus the first number; or,
for a request without a timeout, the second number. The worker that made the reservation is then
considered dead or hanging, so no other request waits for it. The reserved amounts still count as
spent, unless the worker settles them later.
"""

_POLL_SECONDS = (0.02, 0.25)
"""The first and the longest pause, in seconds, between two checks whether the budget has room."""

_ASKING = 4
"""The most requests of a process that may reserve their turns at the same time; the rest queue. Few
turns are reserved ahead, since a request with a reserved turn is sent even if the endpoint asks to
wait in the meantime.
"""


class Account:
    """Counts a run's requests against its budget, in one event loop.

    If the ledger belongs to a job, and the budget has bounds or prices, all workers of the job
    charge the same account.
    """

    def __init__(self, run: Run, ledger: Ledger | None = None) -> None:
        self.spent = run.spent
        self.budget = budget = run.budget
        is_shared = ledger is not None and ledger.job and (budget.bounds or budget.prices)
        self._ledger = ledger if is_shared else None
        self._state = opened()
        self._why: str | None = None
        self._per_character = 0.0
        timeout, (after, most) = run.limits.timeout, HOLD_SECONDS
        self._seconds = most if timeout is None else timeout + after
        self._turns = asyncio.Semaphore(_ASKING)

    async def hold(self, ask: Ask, *, is_repeated: bool) -> str:
        """Count a request, and reserve the largest amounts that it may take.

        Returns the name of the reservation, for `settle`; "" for an unlimited budget. Waits for the
        request's turn if the budget limits the rate, and for requests in flight if their outcome
        decides whether there is room. Raises `NotAsked` if the budget has no room, if it limits the
        cost and has no price of the model, or if the account is lost.
        """
        name = ""
        if self._ledger is not None or self.budget.bounds:
            async with self._turns:
                name = await self._turn(ask)
        self.spent.calls += 1
        self.spent.retries += is_repeated
        return name

    async def settle(
        self, ask: Ask, name: str, completion: Completion | None, *, is_repeated: bool
    ) -> None:
        """Replace the reservation `name` of a request by the tokens and the cost of its completion.

        `completion` is None for an abandoned request, which counts as a call without tokens.
        """
        spent, answered = self.spent, 0
        amounts = {"calls": 1, "retries": int(is_repeated)}
        if completion is not None:
            prompt, answered = _tokens(ask, completion)
            per_character = prompt / max(1, _characters(ask))
            self._per_character = max(self._per_character, per_character)
            amounts |= size_of(prompt, answered, self._prices(ask))
            amounts["settled"] = 1
            amounts["prompt_tokens"] = completion.prompt_tokens
            amounts["completion_tokens"] = completion.completion_tokens
            spent.prompt_tokens += completion.prompt_tokens
            spent.completion_tokens += completion.completion_tokens
            if spent.cost is not None:
                is_priced = self.budget.price(ask.model) is not None
                spent.cost = spent.cost + amounts["cost"] / NANO if is_priced else None
        if name:
            # Do not raise if the account is lost: the answer has arrived, and the reservation still
            # counts.
            with suppress(NotAsked):
                await self._spend("settle", name=name, amounts=amounts, answer=answered)

    async def _turn(self, ask: Ask) -> str:
        budget = self.budget
        if budget.cost is not None and budget.price(ask.model) is None:
            raise NotAsked(no_price(ask.model, budget))
        if self._why is not None:
            raise NotAsked(self._why)
        # The name identifies the reservation, so that the ledger recognizes it if it is sent twice.
        name, pause = f"{secrets.randbits(64):x}", _POLL_SECONDS[0]
        expected = _characters(ask) * (self._per_character or _PER_CHARACTER)
        most = _most_tokens(ask) * max(1.0, _PROMPT_AT_MOST * self._per_character)
        asked = {
            "name": name,
            "bounds": budget.bounds,
            "prompt": (expected, most),
            "prices": self._prices(ask),
            "seconds": self._seconds,
        }
        try:
            # Poll, less and less often, since no other process can wake this one.
            while "wait" not in (answer := await self._spend("reserve", **asked)):
                if "full" in answer:
                    self._why = budget.exhausted(answer["full"], answer["cost"] / NANO)
                    raise NotAsked(self._why)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _POLL_SECONDS[1])
            if answer["wait"]:
                await asyncio.sleep(answer["wait"])
        except asyncio.CancelledError:
            await self._spend("settle", name=name, amounts={}, answer=0)
            raise
        return name

    async def _spend(self, rule: str, **arguments: Any) -> dict[str, Any]:
        """Apply a rule of `spending` to the account; return the rule's outcome.

        If the caller is canceled meanwhile, the change is completed first. Raises `NotAsked` if the
        account is lost.
        """
        if self._ledger is None:
            return RULES[rule](self._state, time.monotonic(), **arguments)
        spending = asyncio.wrap_future(self._ledger.spend(rule, arguments))
        try:
            outcome = await asyncio.shield(spending)
        except asyncio.CancelledError:
            # Wait: a change that was sent to the ledger cannot be canceled, only undone afterwards.
            await asyncio.wait([spending])
            raise
        if isinstance(outcome, AccountLostError):
            reason = self._ledger.reason
            raise NotAsked(f"{outcome} ({reason})" if reason else str(outcome))
        return outcome

    def _prices(self, ask: Ask) -> tuple[float, float]:
        return self.budget.price(ask.model) or (0.0, 0.0)


def spent_of(ledger: Ledger, budget: Budget) -> Spent:
    """Return the spending of all workers of the ledger's job; without prices, the cost is None.

    Raises `AccountLostError` if the account is lost.
    """
    account = ledger.spend("read", {}).result()
    if isinstance(account, AccountLostError):
        raise account
    names = ("calls", "retries", "prompt_tokens", "completion_tokens")
    counts = {name: account[name] for name in names}
    return Spent(**counts, cost=account["cost"] / NANO if budget.prices else None)


def _tokens(ask: Ask, completion: Completion) -> tuple[int, int]:
    """Return the tokens of prompt and answer.

    If there is an answer, a count that the endpoint omits is estimated from the length.
    """
    prompt, answered = completion.prompt_tokens, completion.completion_tokens
    if completion.text:  # an endpoint may omit one of the two counts
        prompt = prompt or _characters(ask) // _UNCOUNTED
        answered = answered or len(completion.text) // _UNCOUNTED
    return prompt, answered


def _characters(ask: Ask) -> int:
    return sum(len(message.content) for message in ask.request.messages)


def _most_tokens(ask: Ask) -> int:
    """Return an upper limit of a prompt's tokens: one per byte, plus some per message."""
    request = ask.request
    texts = [message.content for message in request.messages]
    texts.append(str(request.schema) if request.schema is not None else "")
    return sum(len(text.encode("utf-8", "surrogatepass")) + _PER_MESSAGE for text in texts)
