"""The rules by which an account is charged, as changes of its state, which is plain JSON.

`batches.redis` has the same rules as a script of the server's; a test holds that both agree.

Tokens are known when an answer is there. Until then a request holds a reserve: as many as it is
expected to take, and beside others as many as it may take, so that a bad guess costs once and not
as many times as there are requests in flight. A reserve counts as spent until it is settled. That
of a worker that has died stays so, and keeps no other request waiting once its time is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple, TypeAlias

PER_CHARACTER = 0.3  # tokens, before any answer told better
ANSWER = 200  # tokens, likewise
PROMPT_AT_MOST = 2.0  # times the tokens for its length that the largest before took
ANSWER_AT_MOST = 4.0  # times the tokens that the longest answer before took
LONG_ANSWER = 1_000  # tokens that an answer may take, whatever earlier ones took

NANO = 1_000_000_000
"""Costs are counted in billionths: whole numbers add up exactly."""

_PER = 1_000_000  # tokens that a price is for

GONE = "is gone: it was evicted, deleted, or has expired"
ANOTHERS = "is another's: its budget is not the one that this job was given"
FORGETFUL = "may have lost what was spent last: the server was restarted, or is another one"

State: TypeAlias = dict[str, Any]


class Size(NamedTuple):
    """What a request takes, or may take: tokens, and cost in billionths."""

    tokens: int
    cost: int


COUNTS = ("calls", "retries", "prompt_tokens", "completion_tokens", "settled", "tokens", "cost")
"""What an account counts, beside the largest sizes so far, the next turn, and the reserves."""


def opened(owner: str) -> State:
    """Return an account of which nothing is spent."""
    largest = {"per_character": 0.0, "answer": 0.0, "turn": 0.0}
    return {"owner": owner, **dict.fromkeys(COUNTS, 0), **largest, "holds": {}}


def size_of(prompt: float, answer: float, prices: Sequence[float]) -> Size:
    """Return the size of a request that takes so many tokens, by the prices of a million."""
    cost = (prompt * prices[0] + answer * prices[1]) * (NANO // _PER)
    return Size(ceil(prompt + answer), int(cost + 0.5))


def reserve(
    state: State,
    now: float,
    *,
    name: str,
    bounds: Mapping[str, float],
    length: Sequence[int],
    prices: Sequence[float],
    seconds: float,
) -> dict[str, Any]:
    """Count a request as on its way if there is room: return in how many seconds it may go.

    Else return which of its `bounds` is used up, or neither where it is to look again. `length` is
    that of the prompt, in characters and at most in tokens.
    """
    holds: dict[str, list[float]] = state["holds"]
    if name in holds:
        return {"wait": 0.0}  # asked twice: the answer was lost
    if "calls" in bounds and state["calls"] >= bounds["calls"]:
        return {"full": "calls"}
    most = Size(0, 0)
    if "tokens" in bounds or "cost" in bounds:
        per_character = max(1.0, PROMPT_AT_MOST * state["per_character"])
        answer = max(LONG_ANSWER, ANSWER_AT_MOST * state["answer"])
        most = size_of(per_character * length[1], answer, prices)
        alive = sum(hold[2] >= now for hold in holds.values())
        # The sizes of a few requests do not predict those of many.
        if alive > state["settled"] or _beyond(state, bounds, most):
            if alive:
                return {}  # those on their way may take less than is held
            prompt = length[0] * (state["per_character"] or PER_CHARACTER)
            expected = size_of(prompt, state["answer"] or ANSWER, prices)
            beyond = _beyond(state, bounds, expected)
            if beyond:
                return {"full": beyond, "cost": state["cost"]}
    turn = now
    if "rate" in bounds:
        # Turns are slots of time in the shared account: the rate is that of all workers together.
        turn = max(now, state["turn"])
        state["turn"] = turn + 1 / bounds["rate"]
    state["calls"] += 1
    state["tokens"] += most.tokens
    state["cost"] += most.cost
    holds[name] = [most.tokens, most.cost, turn + seconds]
    return {"wait": turn - now}


def settle(
    state: State, _: float, *, name: str, amounts: Mapping[str, int], largest: Mapping[str, float]
) -> dict[str, Any]:
    """Replace the reserve of a request by what it took, however late; once."""
    hold = state["holds"].pop(name, None)
    if hold is not None:
        state["tokens"] -= hold[0]
        state["cost"] -= hold[1]
        for kind, number in amounts.items():
            state[kind] += number
        for kind, size in largest.items():
            state[kind] = max(state[kind], size)
    return {}


def renew(state: State, now: float, *, names: Sequence[str], seconds: float) -> dict[str, Any]:
    """Have the reserves of requests last for so many seconds more."""
    for name in names:
        if name in state["holds"]:
            state["holds"][name][2] = now + seconds
    return {}


def read(state: State, _: float) -> dict[str, Any]:
    """Return what is counted."""
    return {kind: state[kind] for kind in COUNTS}


def _beyond(state: State, bounds: Mapping[str, float], size: Size) -> str:
    """Return the bound that a request of that size goes beyond, empty for none."""
    if "tokens" in bounds and state["tokens"] + size.tokens > bounds["tokens"]:
        return "tokens"
    if "cost" in bounds and state["cost"] + size.cost > bounds["cost"] * NANO:
        return "cost"
    return ""


RULES: Mapping[str, Callable[..., dict[str, Any]]] = {
    "reserve": reserve,
    "settle": settle,
    "renew": renew,
    "read": read,
}
"""The rules by their names."""
