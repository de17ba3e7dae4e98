"""What a run may spend: requests are counted before they are sent, and none is sent beyond."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

from fullrecall.errors import ParameterError
from fullrecall.judges.flow import Answer, NotAsked
from fullrecall.judges.protocols import Ask, ChatModel, Completion
from fullrecall.scorers.scorer import Scorer
from fullrecall.usage import Usage

_PER = 1_000_000  # tokens that a price is for
_PER_CHARACTER = 0.3  # tokens, before any answer told better
_ANSWER = 200  # tokens, likewise


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
    - `tokens`: of prompts and answers, as the model counts them; a model that counts none is
      charged a token for four characters.
    - `cost`: what the tokens cost by `prices`, which maps a model's name (`"gpt-4o-mini"`, or a
      `ChatModel.name`) to the prices of a million prompt tokens and a million answer tokens.

    Tokens are known when an answer is there. Until then a request is counted by the most that
    earlier ones of this run took, for its length; a request that takes more than any before may
    overshoot by the difference, and so may the ones beside it. What a store answers costs
    nothing. Raises `ParameterError` for a bound that is no positive number, a cost without
    prices, and a price that is none.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("calls", "tokens"):
            bound = getattr(self, name)
            if bound is not None and (type(bound) is not int or bound < 1):
                raise ParameterError(f"{name} is a whole number >= 1, got {bound!r}")
        if self.cost is not None and not (_is_number(self.cost) and self.cost > 0):
            raise ParameterError(f"cost is a number above 0, got {self.cost!r}")
        if not isinstance(self.prices, Mapping):
            raise ParameterError(
                f"prices maps models to pairs (prompt, completion), got {self.prices!r}"
            )
        for model, price in self.prices.items():
            pair = isinstance(price, Sequence) and len(price) == 2  # noqa: PLR2004 - both prices
            if not pair or not all(_is_number(part) and part >= 0 for part in price):
                raise ParameterError(
                    "prices are pairs for each model, of a million prompt and a million answer "
                    f"tokens, got {price!r} for {model!r}"
                )
        if self.cost is not None and not self.prices:
            raise ParameterError(
                f"cost={self.cost!r} needs prices={{model: (prompt, completion)}}, for a million "
                "tokens each"
            )

    def price(self, model: ChatModel) -> Price | None:
        """Return the price of a model, by its `name` or, where it has one, its `model`."""
        for name in (model.name, getattr(model, "model", None)):
            if isinstance(name, str) and name in self.prices:
                return Price(*self.prices[name])
        return None


def opened(budget: Budget | None, scorers: Iterable[Scorer] = ()) -> Account:
    """Return the account of a run.

    Raises `ParameterError` for what is no budget, and where a cost is bounded and a judge of
    `scorers` asks a model that has no price: before anything is sent.
    """
    if budget is None:
        budget = Budget()
    if not isinstance(budget, Budget):
        raise ParameterError(f"budget is a Budget, such as Budget(calls=100), got {budget!r}")
    if budget.cost is not None:
        for scorer in scorers:
            for model in models_of(scorer):
                if budget.price(model) is None:
                    raise ParameterError(_no_price(model, budget))
    return Account(budget)


def models_of(asked: object) -> list[ChatModel]:
    """Return the models that a scorer, a judge or a panel of judges asks, as far as they show."""
    if isinstance(asked, ChatModel) and not hasattr(asked, "attribute"):
        return [asked]
    parts = [getattr(asked, name, None) for name in ("judge", "by", "model")]
    parts += getattr(asked, "judges", ())
    return [model for part in parts if part is not None for model in models_of(part)]


class _Charge(NamedTuple):
    """What a request is expected to take."""

    tokens: float
    cost: float


class Account:
    """What one run has spent of its budget, in one event loop."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.spent = Usage()
        self._tokens = 0.0  # estimates where a model counted none
        self._cost = 0.0
        self._unpriced = False
        self._on_the_way: dict[int, _Charge] = {}
        self._numbers = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._why: str | None = None
        self._per_character = 0.0
        self._answer = 0.0

    @property
    def cost(self) -> float | None:
        """What was spent; None without prices, or where a model that was asked has none."""
        return None if self._unpriced or not self.budget.prices else self._cost

    def paying(self, answer: Answer) -> Answer:
        """Return `answer`, asked within the budget; raises `BudgetSpent` beyond it."""

        async def paid(ask: Ask) -> Completion:
            number = await self._reserved(ask)
            completion: Completion | None = None
            sent = True
            try:
                completion = await answer(ask)
            except NotAsked:
                sent = False
                raise
            finally:
                self._settle(number, ask, completion, sent=sent)
            return completion

        return paid

    async def _reserved(self, ask: Ask) -> int:
        """Count a request as on its way, once there is room for it."""
        if self.budget.cost is not None and self.budget.price(ask.model) is None:
            raise BudgetSpent(_no_price(ask.model, self.budget))
        while True:
            self._why = self._why or self._used_up()
            if self._why is not None:
                raise BudgetSpent(self._why)
            charge = self._expected(ask)
            beyond = self._beyond(charge)
            if beyond is None:
                self._numbers += 1
                self._on_the_way[self._numbers] = charge
                return self._numbers
            if not self._on_the_way:
                self._why = beyond
                self._wake()
                raise BudgetSpent(beyond)
            # Those on their way may take less than is held for them.
            settled = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled

    def _settle(self, number: int, ask: Ask, completion: Completion | None, *, sent: bool) -> None:
        """Count what a request took: a failed one the request alone, one not sent nothing."""
        del self._on_the_way[number]
        self._wake()
        if not sent:
            return
        prompt = (completion.prompt_tokens or 0) if completion else 0  # some count none
        answered = (completion.completion_tokens or 0) if completion else 0
        self.spent = self.spent.plus(Usage(1, prompt, answered))
        if completion is None:
            return
        characters = _characters(ask)
        if not prompt and not answered and completion.text:
            prompt, answered = characters // 4, len(completion.text) // 4
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

    def _expected(self, ask: Ask) -> _Charge:
        prompt = _characters(ask) * (self._per_character or _PER_CHARACTER)
        answer = self._answer or _ANSWER
        price = self.budget.price(ask.model) or Price(0.0, 0.0)
        return _Charge(prompt + answer, (prompt * price.prompt + answer * price.completion) / _PER)

    def _used_up(self) -> str | None:
        """Return which bound leaves no room for any request, whatever those on their way take."""
        calls = self.budget.calls
        if calls is not None and self.spent.calls + len(self._on_the_way) >= calls:
            return f"the budget of {calls:,} calls is used up"
        return None

    def _beyond(self, charge: _Charge) -> str | None:
        """Return which bound a request of that size would go beyond, with those on their way."""
        held = self._on_the_way.values()
        tokens, cost = self.budget.tokens, self.budget.cost
        if tokens is not None:
            wanted = self._tokens + sum(each.tokens for each in held) + charge.tokens
            if wanted > tokens:
                return f"the budget of {tokens:,} tokens is used up"
        if cost is not None and self._cost + sum(each.cost for each in held) + charge.cost > cost:
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


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
