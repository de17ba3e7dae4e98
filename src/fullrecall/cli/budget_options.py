"""The budget that the `--budget-…` options set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from fullrecall.errors import ParameterError

if TYPE_CHECKING:
    from fullrecall.run.budget import Budget


def budget_of(
    *,
    calls: int | None,
    tokens: int | None,
    cost: float | None,
    price: str | None,
    judge: str | None,
) -> Budget | None:
    """Return the budget, None where no option sets one.

    `price` is "PROMPT,COMPLETION", for a million tokens each of the model that `judge` names.
    Raises `typer.BadParameter` for values out of range.
    """
    if calls is None and tokens is None and cost is None and price is None:
        return None
    from fullrecall.run.budget import Budget

    kind, _, model = (judge or "").partition(":")
    if kind not in ("openai", "anthropic"):
        raise typer.BadParameter(
            "needs --judge openai:MODEL or anthropic:MODEL", param_hint="--budget-…, --price"
        )
    if cost is not None and price is None:
        raise typer.BadParameter(
            "needs --price PROMPT,COMPLETION",
            param_hint="--budget-cost",
        )
    prices = {} if price is None else {model: _price(price)}
    try:
        return Budget(calls=calls, tokens=tokens, cost=cost, prices=prices)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from None


def _price(text: str) -> tuple[float, float]:
    try:
        prompt, answer = (float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(
            f"must be PROMPT,COMPLETION such as 0.15,0.60, got {text!r}", param_hint="--price"
        ) from None
    return prompt, answer
