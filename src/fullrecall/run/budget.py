"""A run's budget: its calls, tokens, cost, and requests per second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from fullrecall._util.counts import counted
from fullrecall._util.parameters import check_k, check_positive
from fullrecall.errors import ParameterError
from fullrecall.run.spending import NANO
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    from fullrecall.judge.models.chat import ChatModel


class Price(NamedTuple):
    """The price of a million tokens, in the currency of your choice."""

    prompt: float
    completion: float


@dataclass(frozen=True)
class Budget:
    """The limits of one run's spending; None sets no limit.

    - `calls`: requests sent, including those that fail and those sent again. Never exceeded.
    - `tokens`: those of prompts and answers, as the model counts them. A model that does not count
      is charged one token for four characters.
    - `cost`: the cost of the tokens by `prices`, which maps a model's name (`"gpt-4o-mini"`, or a
      `ChatModel.name`) to the prices of a million prompt tokens and a million answer tokens.
    - `rate`: requests per second.

    A request's tokens are known only when its answer has arrived. Before that, they are estimated
    from the largest earlier request. A single request is sent if the budget has room for the
    estimate; if the request takes more, it exceeds the budget by the difference. A concurrent
    request is sent only if the budget has room for several times the estimate. At first one request
    is sent at a time, then two, then four. If no concurrent request takes more than that, only one
    underestimated request can exceed the budget. Answers from a store are free.

    Raises `ParameterError` for a bound that is not a positive number, a cost without prices, and
    a price that is not a pair of numbers >= 0.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rate: float | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "tokens"):
            if getattr(self, name) is not None:
                check_k(getattr(self, name), name)
        for name in ("cost", "rate"):
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name)
        if not isinstance(self.prices, Mapping):
            raise ParameterError(
                f"must map models to pairs (prompt, completion), got {self.prices!r}", "prices"
            )
        for model, price in self.prices.items():
            pair = isinstance(price, Sequence) and len(price) == 2  # noqa: PLR2004 - both prices
            if not pair or not all(_is_number(part) and part >= 0 for part in price):
                raise ParameterError(
                    "must be pairs of numbers >= 0, for a million prompt and a million "
                    f"answer tokens, got {price!r} for {model!r}",
                    "prices",
                )
        if self.cost is not None and not self.prices:
            raise ParameterError(
                f"cost={self.cost!r} needs prices={{model: (prompt, completion)}}, for a million "
                "tokens each"
            )

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds that are set, by name; the cost is in billionths."""
        bounds = {name: getattr(self, name) for name in ("calls", "tokens", "rate")}
        bounds["cost"] = None if self.cost is None else self.cost * NANO
        return {name: bound for name, bound in bounds.items() if bound is not None}

    def exhausted(self, bound: str, cost: float) -> str:
        """Return a message that names the exhausted bound; `cost` is the cost so far."""
        if bound == "cost":
            return f"the budget of {self.cost:g} is used up: the cost so far is {cost:.4g}"
        return f"the budget of {counted(getattr(self, bound), bound[:-1])} is used up"

    def price(self, model: ChatModel) -> Price | None:
        """Return the price of a model, by its `name` or its attribute `model`; None if unknown."""
        if not self.prices:
            return None  # Most runs have no prices; a model's name is slow to compute.
        for name in (model.name, getattr(model, "model", None)):
            if isinstance(name, str) and name in self.prices:
                return Price(*self.prices[name])
        return None


def checked(budget: Budget | None, scorers: Iterable[Scorer] = ()) -> Budget:
    """Return a budget; for None, an unlimited one.

    Raises `ParameterError` for another type. If the budget limits the cost, also raises it for a
    scorer whose model has no price.
    """
    if budget is None:
        budget = Budget()
    if not isinstance(budget, Budget):
        raise ParameterError(
            f"must be a Budget, such as Budget(calls=100), got {budget!r}", "budget"
        )
    if budget.cost is not None:
        for scorer in scorers:
            for model in models_of(scorer):
                if budget.price(model) is None:
                    raise ParameterError(no_price(model, budget))
    return budget


def models_of(part_of_scorer: object) -> list[ChatModel]:
    """Return the models of a scorer, a judge or a panel of judges, found in its attributes."""
    from fullrecall.judge.models.chat import ChatModel

    if isinstance(part_of_scorer, ChatModel) and not hasattr(part_of_scorer, "attribute"):
        return [part_of_scorer]
    parts = [getattr(part_of_scorer, name, None) for name in ("judge", "by", "model")]
    parts += getattr(part_of_scorer, "judges", ())
    return [model for part in parts if part is not None for model in models_of(part)]


def no_price(model: ChatModel, budget: Budget) -> str:
    """Return the error message for a model without a price in a budget that limits the cost."""
    names = ", ".join(map(repr, budget.prices))
    return (
        f"cost={budget.cost!r} needs the price of {model.name!r}: there are prices of {names}; add "
        f"prices={{{getattr(model, 'model', model.name)!r}: (prompt, completion)}}"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
