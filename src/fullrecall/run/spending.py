"""The rules by which requests are charged to an account; each changes the account's state.

An account has the sums of a run's or a job's requests; its state is plain JSON.

`batches.redis` has the same rules as a server script; a test checks that they agree.

A request's tokens are known only when its answer has arrived. Until then, a request has a
reservation of the largest amount that it may take. A concurrent request is sent only if the budget
has room for its reservation; a single request is sent if the budget has room for its expected
tokens. So a wrong estimate exceeds the budget once, not once for each request in flight. A
reservation counts as spent until it is settled. The reservation of a dead worker stays counted, but
after it expires no request waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, TypeAlias

ANSWER = 200  # the expected tokens of an answer, before the first answer
ANSWER_AT_MOST = 4.0  # an answer may take this many times the tokens of the longest earlier one
LONG_ANSWER = 1_000  # the fewest tokens that are reserved for an answer

NANO = 1_000_000_000
"""Costs are counted in billionths, so that sums are exact whole numbers."""

_PER = 1_000_000  # a price is for this many tokens

GONE = "is gone: it was evicted, deleted, or has expired"
FORGETFUL = "may have lost what was spent last: the server was restarted, or is another one"

State: TypeAlias = dict[str, Any]

COUNTS = ("calls", "retries", "prompt_tokens", "completion_tokens", "settled", "tokens", "cost")
"""The sums of an account; its state also has the longest answer, the next turn, and the
reservations.
"""

BOUNDED = ("calls", "tokens", "cost")
"""The sums that a budget limits, in the order in which they are checked."""


def opened() -> State:
    """Return a new account, with all sums at 0."""
    return {**dict.fromkeys(COUNTS, 0), "longest": 0, "turn": 0.0, "holds": {}}


def size_of(prompt: float, answer: float, prices: Sequence[float]) -> dict[str, int]:
    """Return the amounts that one request adds to an account: a call, its tokens and its cost.

    `prompt` and `answer` are tokens; `prices` are those of a million prompt and answer tokens.
    """
    cost = (prompt * prices[0] + answer * prices[1]) * (NANO // _PER)
    return {"calls": 1, "tokens": ceil(prompt + answer), "cost": int(cost + 0.5)}


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
    """Reserve room for a request; return {"wait": seconds until its turn} if the request fits.

    Returns {"full": name of the bound, "cost": cost so far} if the request will never fit, and {}
    if it may fit once requests in flight have settled. `prompt` is a pair: the expected and the
    largest possible number of prompt tokens. After `seconds`, the worker that made the reservation
    is considered dead or hanging.
    """
    holds: dict[str, tuple[dict[str, int], float]] = state["holds"]
    if name in holds:
        return {"wait": 0.0}  # the same request again, after the ledger's answer was lost
    hold = {"calls": 1}
    is_sized = "tokens" in bounds or "cost" in bounds
    if is_sized:
        longest = max(LONG_ANSWER, ANSWER_AT_MOST * state["longest"])
        hold = size_of(prompt[1], longest, prices)
    full = _full(state, bounds, hold)
    alive = sum(until >= now for _, until in holds.values())
    # While requests are in flight, wait if the tokens or the cost do not fit, or if fewer requests
    # have been settled than are in flight: a few do not predict the sizes of many.
    if is_sized and full != "calls" and (full or alive > state["settled"]):
        if alive:
            return {}  # requests in flight may take less than their reserves
        full = _full(state, bounds, size_of(prompt[0], state["longest"] or ANSWER, prices))
    if full:
        return {"full": full, "cost": state["cost"]}
    turn = now
    if "rate" in bounds:
        # Turns are time slots of the shared account: all workers together keep the rate.
        turn = max(now, state["turn"])
        state["turn"] = turn + 1 / bounds["rate"]
    _add(state, hold)
    holds[name] = hold, turn + seconds
    return {"wait": turn - now}


def settle(
    state: State, _: float, *, name: str, amounts: Mapping[str, int], answer: int
) -> dict[str, Any]:
    """Replace a request's reservation by its actual amounts; a repetition has no further effect."""
    if name in state["holds"]:
        hold, _ = state["holds"].pop(name)
        _add(state, hold, -1)
        _add(state, amounts)
        state["longest"] = max(state["longest"], answer)
    return {}


def read(state: State, _: float) -> dict[str, Any]:
    """Return the sums of an account, by the names in `COUNTS`."""
    return {kind: state[kind] for kind in COUNTS}


def _full(state: State, bounds: Mapping[str, float], size: Mapping[str, int]) -> str:
    """Return the bound that a request of this size would exceed, or ""."""
    kinds = (kind for kind in BOUNDED if kind in bounds)
    return next((kind for kind in kinds if state[kind] + size[kind] > bounds[kind]), "")


def _add(state: State, amounts: Mapping[str, int], sign: int = 1) -> None:
    for kind, number in amounts.items():
        state[kind] += sign * number


RULES: Mapping[str, Callable[..., dict[str, Any]]] = {
    "reserve": reserve,
    "settle": settle,
    "read": read,
}
"""The rules by their names."""
