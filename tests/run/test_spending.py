"""The rules of an account, one at a time: which request gets room, and what it is charged."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.run import spending
from fullrecall.run.spending import NANO, opened, reserve, settle, size_of

PRICES = (2.0, 10.0)  # for a million tokens of prompts, and of answers
SETTLED = {"calls": 1, "retries": 0, "settled": 1, "tokens": 30, "cost": 5}


def reserved(state: dict[str, Any], now: float = 0.0, **changes: Any) -> dict[str, Any]:
    """Reserve room for a request of 10 expected and at most 40 prompt tokens."""
    options: dict[str, Any] = {
        "name": f"hold {len(state['holds'])}", "bounds": {}, "prompt": (10, 40),
        "prices": PRICES, "seconds": 60.0,
    }  # fmt: skip
    return reserve(state, now, **{**options, **changes})


@pytest.mark.parametrize(
    ("prompt", "answer", "tokens", "cost"),
    [(0, 0, 0, 0), (1, 0, 1, 2_000), (0, 1, 1, 10_000), (3, 4, 7, 46_000),
     (0.2, 0, 1, 400), (0.0001, 0.0, 1, 0), (0.0003, 0.0, 1, 1),
     (10**6, 1, 10**6 + 1, 2 * NANO + 10_000)],
)  # fmt: skip
def test_a_size_rounds_tokens_up_and_cost_to_the_nearest(
    prompt: float, answer: float, tokens: int, cost: int
) -> None:
    """Costs are billionths of the price for a million tokens."""
    assert size_of(prompt, answer, PRICES) == {"calls": 1, "tokens": tokens, "cost": cost}


@pytest.mark.parametrize(
    ("kind", "spent", "bound", "full"),
    [
        ("calls", 4, 5, ""),
        ("calls", 5, 5, "calls"),
        ("tokens", 100, 310, ""),  # 10 of the prompt and 200 of the answer fit
        ("tokens", 101, 310, "tokens"),
        ("cost", 0, 10 * 2_000 + 200 * 10_000, ""),
        ("cost", 1, 10 * 2_000 + 200 * 10_000, "cost"),
    ],
)
def test_a_single_request_needs_room_for_its_expected_size(
    kind: str, spent: int, bound: int, full: str
) -> None:
    """It is refused if its expected size exceeds the bound, and not if it reaches it."""
    state = {**opened(), kind: spent, "cost": spent if kind == "cost" else 7}
    answer = reserved(state, bounds={kind: bound})
    assert answer == ({"full": full, "cost": state["cost"]} if full else {"wait": 0.0})
    assert len(state["holds"]) == (not full)


def test_the_first_exhausted_bound_is_named() -> None:
    """Calls are checked before tokens, and tokens before cost."""
    state = {**opened(), "calls": 1, "tokens": 1, "cost": 1}
    bounds = dict.fromkeys(reversed(spending.BOUNDED), 1)
    for name in spending.BOUNDED:
        assert reserved(state, bounds=bounds)["full"] == name
        del bounds[name]


@pytest.mark.parametrize(
    ("longest", "answer"), [(0, 1_000), (250, 1_000), (251, 1_004), (1_000, 4_000)]
)
def test_a_hold_takes_the_most_that_a_request_may(longest: int, answer: int) -> None:
    """It has four times the longest answer so far, at least 1,000 tokens."""
    state = {**opened(), "longest": longest}
    assert reserved(state, bounds={"tokens": 10**9}) == {"wait": 0.0}
    assert state["tokens"] == 40 + answer
    assert state["cost"] == 40 * 2_000 + answer * 10_000
    assert state["calls"] == 1


def test_calls_alone_reserve_no_tokens() -> None:
    """Without a bound on tokens or cost only the call is counted."""
    state = opened()
    assert reserved(state, bounds={"calls": 2}) == {"wait": 0.0}
    assert {kind: state[kind] for kind in spending.BOUNDED} == {"calls": 1, "tokens": 0, "cost": 0}


@pytest.mark.parametrize(
    ("settled", "in_flight", "goes"), [(0, 0, True), (0, 1, False), (1, 1, True), (1, 2, False)]
)
def test_no_more_are_in_flight_than_have_finished(
    settled: int, in_flight: int, *, goes: bool
) -> None:
    """With a bound on sizes, as many requests are in flight as were settled, and one more."""
    state = {**opened(), "settled": settled}
    state["holds"] = {f"hold {n}": ({"calls": 1}, 60.0) for n in range(in_flight)}
    assert reserved(state, bounds={"cost": NANO}) == ({"wait": 0.0} if goes else {})
    assert reserved(opened() | {"holds": state["holds"]}, bounds={"calls": 9}) == {"wait": 0.0}


@pytest.mark.parametrize(("now", "waits"), [(59.0, True), (60.0, True), (60.1, False)])
def test_nobody_waits_for_an_expired_hold(now: float, *, waits: bool) -> None:
    """A hold counts as in flight up to its last second, and as spent ever after."""
    state = {**opened(), "tokens": 50, "holds": {"dead": ({"tokens": 50}, 60.0)}}
    answer = reserved(state, now, bounds={"tokens": 259})
    assert answer == ({} if waits else {"full": "tokens", "cost": 0})


def test_the_same_request_holds_once() -> None:
    """A repeated reservation, and a repeated settlement, change nothing."""
    state = opened()
    bounds = {"tokens": 10**6, "rate": 2.0}
    assert reserved(state, name="one", bounds=bounds) == {"wait": 0.0}
    before = {**state, "holds": dict(state["holds"])}
    assert reserved(state, name="one", bounds=bounds) == {"wait": 0.0}
    assert state == before
    for _ in range(2):
        assert settle(state, 0.0, name="one", amounts=SETTLED, answer=20) == {}
        assert {kind: state[kind] for kind in SETTLED} == SETTLED
        assert (state["longest"], state["holds"]) == (20, {})
    reserved(state, name="two", bounds=bounds)
    settle(state, 0.0, name="two", amounts=SETTLED, answer=19)
    assert state["longest"] == 20
    assert spending.read(state, 0.0) == {
        **{kind: 2 * number for kind, number in SETTLED.items()},
        "prompt_tokens": 0, "completion_tokens": 0,
    }  # fmt: skip


def test_turns_are_slots_of_time() -> None:
    """With a rate of two per second, turns are half a second apart, and unused ones are lost."""
    state, bounds = opened(), {"rate": 2.0}
    waits = [reserved(state, 10.0, bounds=bounds)["wait"] for _ in range(3)]
    assert waits == [0.0, 0.5, 1.0]
    assert [until for _, until in state["holds"].values()] == [70.0, 70.5, 71.0]
    assert reserved(state, 11.25, bounds=bounds)["wait"] == 0.25
    assert reserved(state, 20.0, bounds=bounds)["wait"] == 0.0
    assert state["turn"] == 20.5
