"""What a run may spend, and has spent: requests are counted before they are sent, none beyond.

Tokens are known when an answer is there. Until then a request holds a reserve: as many as it is
expected to take, and beside others as many as it may take, so that a bad guess costs once and not
as many times as there are requests in flight.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.counts import counted
from fullrecall.errors import ParameterError
from fullrecall.judges.flow import NotAsked
from fullrecall.judges.judge import Ask
from fullrecall.models.chat import ChatModel, Completion
from fullrecall.models.retries import Attempt
from fullrecall.scorers.scorer import Scorer
from fullrecall.usage import Spent

if TYPE_CHECKING:
    import asyncio

_PER = 1_000_000  # tokens that a price is for
_PER_CHARACTER = 0.3  # tokens, before any answer told better
_ANSWER = 200  # tokens, likewise
_UNCOUNTED = 4  # characters that are charged as a token where the model counts none
_PROMPT_AT_MOST = 2.0  # times the tokens for its length that the largest before took
_ANSWER_AT_MOST = 4.0  # times the tokens that the longest answer before took
_PER_MESSAGE = 16  # tokens that mark a message's beginning, role and end
_LONG_ANSWER = 1_000  # tokens that an answer may take, whatever earlier ones took


class BudgetSpent(NotAsked):
    """Nothing more is sent: what was to rest on it is unscored, with this as the reason."""


class Price(NamedTuple):
    """What a million tokens cost, in the currency of your choice."""

    prompt: float
    completion: float


@dataclass(frozen=True)
class Budget:
    """What one run may spend; None sets no bound.

    - `calls`: requests that are sent, those included that fail and are sent again. Never more.
    - `tokens`: of prompts and answers, as the model counts them; a model that counts none, or no
      number, is charged a token for four characters.
    - `cost`: what the tokens cost by `prices`, which maps a model's name (`"gpt-4o-mini"`, or a
      `ChatModel.name`) to the prices of a million prompt tokens and a million answer tokens.

    Tokens are known when an answer is there. The last request may take more than it was expected
    to, by the most that earlier ones took, and overshoot by the difference. Others are sent
    beside it only where there is room for several times the largest before, and at first one,
    then two, then four at a time: as long as none takes more than that, one request's error is
    all that goes beyond the budget. What a store answers costs nothing.

    Raises `ParameterError` for a bound that is not a positive number, a cost without prices, and
    a price that is not a pair of numbers >= 0.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("calls", "tokens"):
            bound = getattr(self, name)
            if bound is not None and (type(bound) is not int or bound < 1):
                raise ParameterError(f"{name} must be a whole number >= 1, got {bound!r}")
        if self.cost is not None and not (_is_number(self.cost) and self.cost > 0):
            raise ParameterError(f"cost must be a number above 0, got {self.cost!r}")
        if not isinstance(self.prices, Mapping):
            raise ParameterError(
                f"prices must map models to pairs (prompt, completion), got {self.prices!r}"
            )
        for model, price in self.prices.items():
            pair = isinstance(price, Sequence) and len(price) == 2  # noqa: PLR2004 - both prices
            if not pair or not all(_is_number(part) and part >= 0 for part in price):
                raise ParameterError(
                    "prices must be pairs of numbers >= 0, for a million prompt and a million "
                    f"answer tokens, got {price!r} for {model!r}"
                )
        if self.cost is not None and not self.prices:
            raise ParameterError(
                f"cost={self.cost!r} needs prices={{model: (prompt, completion)}}, for a million "
                "tokens each"
            )

    def account(self) -> Account:
        """Return an account of this budget that nothing was charged to yet."""
        return Account(self)

    def price(self, model: ChatModel) -> Price | None:
        """Return the price of a model, by its `name` or, where it has one, its `model`."""
        for name in (model.name, getattr(model, "model", None)):
            if isinstance(name, str) and name in self.prices:
                return Price(*self.prices[name])
        return None


def account_of(budget: Budget | None, scorers: Iterable[Scorer] = ()) -> Account:
    """Return the account of a run.

    Raises `ParameterError` for what is no budget, and where a cost is bounded and a judge of
    `scorers` asks a model that has no price: before anything is sent.
    """
    if budget is None:
        budget = Budget()
    if not isinstance(budget, Budget):
        raise ParameterError(f"budget must be a Budget, such as Budget(calls=100), got {budget!r}")
    if budget.cost is not None:
        for scorer in scorers:
            for model in models_of(scorer):
                if budget.price(model) is None:
                    raise ParameterError(_no_price(model, budget))
    return budget.account()


def models_of(asked: object) -> list[ChatModel]:
    """Return the models that a scorer, a judge or a panel of judges asks, as far as they show."""
    if isinstance(asked, ChatModel) and not hasattr(asked, "attribute"):
        return [asked]
    parts = [getattr(asked, name, None) for name in ("judge", "by", "model")]
    parts += getattr(asked, "judges", ())
    return [model for part in parts if part is not None for model in models_of(part)]


class _Size(NamedTuple):
    """What a request takes, or may take."""

    tokens: float
    cost: float


_NO_SIZE = _Size(0.0, 0.0)


@dataclass(eq=False)
class Charge:
    """One request on its way: what is held for it, and in the end what it was answered."""

    at_most: _Size
    completion: Completion | None = None


class Account:
    """What one run has spent, and whether its budget has room for more; in one event loop."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.spent = Spent()
        self._is_bounded = budget.tokens is not None or budget.cost is not None
        self._began = time.monotonic()
        self._tokens = 0.0  # estimates where a model counted none
        self._cost = 0.0
        self._unpriced = False
        self._on_the_way: set[Charge] = set()
        self._settled = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._why: str | None = None
        self._per_character = 0.0  # the most that any prompt took
        self._answer = 0.0  # the most that any answer took

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.monotonic() - self._began

    def so_far(self) -> Spent:
        """Return what was spent until now."""
        priced = bool(self.budget.prices) and not self._unpriced
        return replace(self.spent, cost=self._cost if priced else None, seconds=self.seconds)

    @asynccontextmanager
    async def charged(self, ask: Ask, sent: int) -> AsyncIterator[Charge]:
        """Hold what a request may take, for the `sent`th time; settle what it took.

        Waits for those on their way where it depends on them. Raises `BudgetSpent` where the
        budget has no room.
        """
        charge = await self._reserved(ask)
        self.spent.calls += 1
        self.spent.retries += sent > 1
        try:
            yield charge
        finally:
            self._settle(ask, charge)

    async def hears(self, attempt: Attempt) -> None:
        """Take note of what came of a request; one process has nobody to tell."""

    async def _reserved(self, ask: Ask) -> Charge:
        """Count a request as on its way, once there is room for it."""
        from asyncio import get_running_loop  # whoever asks nobody does not load it

        if self.budget.cost is not None and self.budget.price(ask.model) is None:
            raise BudgetSpent(_no_price(ask.model, self.budget))
        while True:
            self._why = self._why or self._used_up()
            if self._why is not None:
                raise BudgetSpent(self._why)
            charge = Charge(self._at_most(ask))
            if self._has_room_beside_others(charge):
                self._on_the_way.add(charge)
                return charge
            if not self._on_the_way:
                beyond = self._beyond(self._expected(ask))
                if beyond is None:
                    self._on_the_way.add(charge)
                    return charge
                self._why = beyond
                self._wake()
                raise BudgetSpent(beyond)
            # Those on their way may take less than is held for them.
            settled = get_running_loop().create_future()
            self._waiting.append(settled)
            await settled

    def _settle(self, ask: Ask, charge: Charge) -> None:
        """Count what a request took; of one that failed, or was given up, the request alone."""
        self._on_the_way.discard(charge)
        completion = charge.completion
        if completion is not None:
            self._settled += 1
            self._count(ask, completion)
        self._wake()

    def _count(self, ask: Ask, completion: Completion) -> None:
        prompt, answered = completion.prompt_tokens, completion.completion_tokens
        self.spent.prompt_tokens += prompt
        self.spent.completion_tokens += answered
        if not (self._is_bounded or self.budget.prices):
            return  # nothing rests on how much it was
        characters = _characters(ask)
        if completion.text:  # each count by itself: an endpoint may leave out either
            prompt = prompt or characters // _UNCOUNTED
            answered = answered or len(completion.text) // _UNCOUNTED
        self._tokens += prompt + answered
        price = self.budget.price(ask.model)
        if price is None:
            self._unpriced = True
        else:
            self._cost += (prompt * price.prompt + answered * price.completion) / _PER
        self._per_character = max(self._per_character, prompt / max(1, characters))
        self._answer = max(self._answer, answered)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for settled in waiting:
            if not settled.done():
                settled.set_result(None)

    def _expected(self, ask: Ask) -> _Size:
        """Return what a request takes if it is like the largest before."""
        prompt = _characters(ask) * (self._per_character or _PER_CHARACTER)
        return self._size(ask, prompt, self._answer or _ANSWER)

    def _at_most(self, ask: Ask) -> _Size:
        """Return what a request may take: a token has a byte at least, unless earlier ones had."""
        if not self._is_bounded:
            return _NO_SIZE
        per_character = max(1.0, _PROMPT_AT_MOST * self._per_character)
        answer = max(_LONG_ANSWER, _ANSWER_AT_MOST * self._answer)
        return self._size(ask, per_character * _bytes(ask), answer)

    def _size(self, ask: Ask, prompt: float, answer: float) -> _Size:
        price = self.budget.price(ask.model) or Price(0.0, 0.0)
        return _Size(prompt + answer, (prompt * price.prompt + answer * price.completion) / _PER)

    def _used_up(self) -> str | None:
        """Return which bound leaves no room for any request, whatever those on their way take."""
        calls = self.budget.calls
        if calls is not None and self.spent.calls >= calls:
            return f"the budget of {counted(calls, 'call')} is used up"
        return None

    def _has_room_beside_others(self, charge: Charge) -> bool:
        """Whether a request may go whatever those on their way take, each at most what is held."""
        if not self._is_bounded:
            return True
        if len(self._on_the_way) > self._settled:
            return False  # what few took says little of what many may take
        return self._beyond(charge.at_most) is None

    def _beyond(self, size: _Size) -> str | None:
        """Return which bound a request of that size would go beyond, with those on their way."""
        held = [charge.at_most for charge in self._on_the_way]
        tokens, cost = self.budget.tokens, self.budget.cost
        if tokens is not None:
            wanted = self._tokens + sum(each.tokens for each in held) + size.tokens
            if wanted > tokens:
                return f"the budget of {tokens:,} tokens is used up"
        if cost is not None and self._cost + sum(each.cost for each in held) + size.cost > cost:
            return f"the budget of {cost:g} is used up: the cost so far is {self._cost:.4g}"
        return None


def _no_price(model: ChatModel, budget: Budget) -> str:
    known = ", ".join(map(repr, budget.prices))
    return (
        f"cost={budget.cost!r} needs the price of {model.name!r}: there are prices of {known}; add "
        f"prices={{{getattr(model, 'model', model.name)!r}: (prompt, completion)}}"
    )


def _characters(ask: Ask) -> int:
    return sum(len(message.content) for message in ask.request.messages)


def _bytes(ask: Ask) -> int:
    request = ask.request
    texts = [message.content for message in request.messages]
    texts.append(str(request.schema) if request.schema is not None else "")
    return sum(len(text.encode("utf-8", "surrogatepass")) + _PER_MESSAGE for text in texts)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
