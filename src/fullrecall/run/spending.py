"""The rules by which an account is charged, as changes of its state, which is plain JSON.

`batches.redis` has the same rules as a script of the server; a test checks that both agree.

A request's tokens are known only when its answer has arrived. Until then it holds a reserve of the
most that it may take. A concurrent request is sent only if the budget has room for its reserve, a
single one if the budget has room for its expected tokens. So a bad estimate costs once, and not
once for each request in flight. A reserve counts as spent until it is settled. The reserve of a
dead worker stays, but no other request waits for it after it expires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple, TypeAlias

ANSWER = 200  # expected tokens of an answer, before the first answer
ANSWER_AT_MOST = 4.0  # times the tokens of the longest earlier answer
LONG_ANSWER = 1_000  # tokens that any answer may take

NANO = 1_000_000_000
"""Costs are counted in billionths: whole numbers add up exactly."""

_PER = 1_000_000  # a price is for this many tokens

GONE = "is gone: it was evicted, deleted, or has expired"
FORGETFUL = "may have lost what was spent last: the server was restarted, or is another one"

State: TypeAlias = dict[str, Any]


class Size(NamedTuple):
    """The size of a request, actual or expected: tokens, and cost in billionths."""

    tokens: int
    cost: int


COUNTS = ("calls", "retries", "prompt_tokens", "completion_tokens", "settled", "tokens", "cost")
"""The sums of an account, beside its longest answer, the next turn, and the reserves."""


def opened() -> State:
    """Return a new account, with all sums at 0."""
    return {**dict.fromkeys(COUNTS, 0), "longest": 0, "turn": 0.0, "holds": {}}


def size_of(prompt: float, answer: float, prices: Sequence[float]) -> Size:
    """Return the size of a request with these tokens, by the prices of a million tokens."""
    cost = (prompt * prices[0] + answer * prices[1]) * (NANO // _PER)
    return Size(ceil(prompt + answer), int(cost + 0.5))


def reserve(
    state: State,
    now: float,
    *,
    name: str,
    bounds: Mapping[str, float],
    prompt: Sequence[float],
    prices: Sequence[float],
    seconds: float,
) -> dict[str, Any]:
    """Reserve room for a request: return the seconds until its turn, as `wait`.

    Without room, return the exhausted bound as `full` (for tokens and cost, with the `cost` so
    far), or an empty mapping if the caller should try again. `prompt` has the prompt's expected
    tokens, and the most that it may have. After `seconds`, the reserve's owner is dead or hangs.
    """
    holds: dict[str, list[float]] = state["holds"]
    if name in holds:
        return {"wait": 0.0}  # This is the same request again, after the ledger's answer was lost.
    if "calls" in bounds and state["calls"] >= bounds["calls"]:
        return {"full": "calls"}
    most = Size(0, 0)
    if "tokens" in bounds or "cost" in bounds:
        most = size_of(prompt[1], max(LONG_ANSWER, ANSWER_AT_MOST * state["longest"]), prices)
        alive = sum(hold[2] >= now for hold in holds.values())
        # The sizes of a few requests do not predict those of many.
        if alive > state["settled"] or _beyond(state, bounds, most):
            if alive:
                return {}  # Requests in flight may take less than their reserves.
            beyond = _beyond(state, bounds, size_of(prompt[0], state["longest"] or ANSWER, prices))
            if beyond:
                return {"full": beyond, "cost": state["cost"]}
    turn = now
    if "rate" in bounds:
        # Turns are time slots of the shared account: the rate is that of all workers together.
        turn = max(now, state["turn"])
        state["turn"] = turn + 1 / bounds["rate"]
    state["calls"] += 1
    state["tokens"] += most.tokens
    state["cost"] += most.cost
    holds[name] = [most.tokens, most.cost, turn + seconds]
    return {"wait": turn - now}


def settle(
    state: State, _: float, *, name: str, amounts: Mapping[str, int], answer: int = 0
) -> dict[str, Any]:
    """Replace a request's reserve by its actual amounts; a repetition changes nothing."""
    hold = state["holds"].pop(name, None)
    if hold is not None:
        state["tokens"] -= hold[0]
        state["cost"] -= hold[1]
        for kind, number in amounts.items():
            state[kind] += number
        state["longest"] = max(state["longest"], answer)
    return {}


def read(state: State, _: float) -> dict[str, Any]:
    """Return the sums of an account."""
    return {kind: state[kind] for kind in COUNTS}


def _beyond(state: State, bounds: Mapping[str, float], size: Size) -> str:
    """Return the bound that a request of this size would exceed; empty without one."""
    if "tokens" in bounds and state["tokens"] + size.tokens > bounds["tokens"]:
        return "tokens"
    if "cost" in bounds and state["cost"] + size.cost > bounds["cost"] * NANO:
        return "cost"
    return ""


RULES: Mapping[str, Callable[..., dict[str, Any]]] = {
    "reserve": reserve,
    "settle": settle,
    "read": read,
}
"""The rules by their names."""
