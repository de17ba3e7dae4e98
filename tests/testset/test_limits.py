"""Batches of a plan share one budget and one deadline; repeated texts and kinds have limits."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Budget
from fullrecall.errors import ParameterError
from fullrecall.judge.usage import Spent
from fullrecall.run.evaluate import EvaluateOptions
from fullrecall.run.limits import Limits
from fullrecall.testset.draft import KINDS
from fullrecall.testset.duplicates import Questions, groups
from fullrecall.testset.execution import FlowOutcome, _left, _sum, _Tasks
from fullrecall.testset.generation import DEFAULT_KINDS, _shares

PRICES = {"m": (1.0, 1.0)}


@pytest.mark.parametrize(
    ("deadline", "budget", "spent", "left"),
    [
        (None, None, {"calls": 9, "seconds": 9.0}, (None, None)),
        (10.0, None, {"seconds": 9.0}, (1.0, None)),
        (10.0, None, {"seconds": 10.0}, None),
        (10.0, None, {"seconds": 11.0}, None),
        (None, {"calls": 5}, {"calls": 4}, (None, {"calls": 1})),
        (None, {"calls": 5}, {"calls": 5}, None),
        (None, {"calls": 5}, {"calls": 6}, None),
        (None, {"tokens": 5}, {"prompt_tokens": 3, "completion_tokens": 1}, (None, {"tokens": 1})),
        (None, {"tokens": 5}, {"prompt_tokens": 3, "completion_tokens": 2}, None),
        (None, {"cost": 2.0, "prices": PRICES}, {"cost": 0.5}, (None, {"cost": 1.5})),
        (None, {"cost": 2.0, "prices": PRICES}, {"cost": None}, (None, {"cost": 2.0})),
        (None, {"cost": 2.0, "prices": PRICES}, {"cost": 2.0}, None),
        (3.0, {"calls": 5, "tokens": 7}, {"calls": 2, "prompt_tokens": 3, "seconds": 1.0},
         (2.0, {"calls": 3, "tokens": 4})),
    ],
)  # fmt: skip
def test_what_is_left_for_the_next_batch(
    deadline: float | None, budget: Any, spent: dict[str, Any], left: Any
) -> None:
    """Earlier batches' requests, tokens, cost and time are subtracted; None if one is used up."""
    limits = Limits(deadline=deadline, budget=None if budget is None else Budget(**budget))
    options = _left(EvaluateOptions(limits, progress=False), Spent(**spent))
    if left is None:
        assert options is None
        return
    assert options is not None
    assert options.progress is False
    assert options.limits.deadline == left[0]
    expected = None if budget is None else Budget(**{**budget, **left[1]})
    assert options.limits.budget == expected


def test_the_cost_of_several_batches() -> None:
    """Counts are added; the cost is unknown if no batch has one."""
    first = Spent(calls=2, prompt_tokens=3, seconds=1.5)
    both = _sum(first, Spent(calls=1, completion_tokens=4, seconds=0.5))
    assert (both.calls, both.prompt_tokens, both.completion_tokens) == (3, 3, 4)
    assert (both.seconds, both.cost) == (2.0, None)
    assert _sum(first, Spent(cost=0.5)).cost == 0.5
    assert _sum(Spent(cost=0.25), Spent(cost=0.5)).cost == 0.75


def test_flows_that_were_not_run_say_so() -> None:
    """Each flow has a value or a reason, in order, even without any report."""
    tasks = _Tasks([iter(()), iter(()), iter(())], values={1: "value"})  # type: ignore[list-item]
    unsent = "the run's budget or deadline left nothing for it"
    assert tasks.outcomes(None) == [
        FlowOutcome(None, unsent),
        FlowOutcome("value"),
        FlowOutcome(None, unsent),
    ]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("old mill roof gate wall bell tower", "old mill roof gate wall", True),
        ("old mill roof gate wall bell tower door", "old mill roof gate wall", False),
        ("mill roof gate wall bell oak elm ash", "mill roof gate wall bell oak elm fir yew", True),
        ("old mill roof of 7", "old mill roof of 8", False),
        ("old mill roof of 7", "old mill roof", True),
        ("the old mill", "the old barn", False),
        ("what is it", "what is it", True),
        ("what is it", "what is it not for", False),
        ("when was Acme sold", "when was Acme sold in May", True),
        ("when was Acme sold", "when was Apex sold", False),
    ],
)
def test_questions_that_ask_the_same(first: str, second: str, *, same: bool) -> None:
    """Seven tenths of the words are enough, but no replaced word, number or name."""
    asked = Questions()
    assert asked.match(first) is None
    assert asked.match(second) == (first if same else None)
    again = Questions()
    assert again.match(second) is None
    assert (again.match(first) is not None) == same


@pytest.mark.parametrize(
    ("size", "other", "same"),
    [(10, 12, True), (10, 13, False), (22, 27, True), (22, 28, False), (1, 1, True), (0, 0, False)],
)
def test_texts_that_are_nearly_equal(size: int, other: int, *, same: bool) -> None:
    """Four fifths of the runs of three words are enough: 8 of 10 are, 8 of 11 are not."""
    texts = [" ".join(f"w{n}" for n in range(end)) for end in (size, other)]
    assert (groups(texts) == [[0, 1]]) == same


def test_groups_of_equal_texts_are_joined() -> None:
    """A text joins the group of any member, and texts apart stay apart."""
    texts = ["a b c d", "x y z", "a b c d", "q", "x y z", "a b c d", ""]
    assert groups(texts) == [[0, 2, 5], [1, 4]]
    assert groups(["a b c d"] * 40) == [[*range(40)]]
    assert groups([]) == []


@pytest.mark.parametrize(
    ("kinds", "shares"),
    [
        (DEFAULT_KINDS, {"one_fact": 0.7, "several_facts": 0.2, "across_documents": 0.1}),
        (["one_fact", "several_facts"], {"one_fact": 1.0, "several_facts": 1.0}),
        ({"one_fact": 2, "several_facts": 0}, {"one_fact": 2}),
    ],
)
def test_the_shares_of_kinds(kinds: Any, shares: dict[str, float]) -> None:
    """Kinds have equal shares, or those given; a kind without a share is not asked for."""
    assert _shares(kinds) == shares


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["one"], f"unknown kind 'one': choose one of {', '.join(KINDS)}"),
        ({"one_fact": -1}, "the share of one_fact must be at least 0, got -1"),
        ({"one_fact": float("inf")}, "the share of one_fact must be at least 0, got inf"),
        ({"one_fact": 0}, "must have one with a share above 0"),
        ([], "must have one with a share above 0"),
    ],
)
def test_shares_that_are_refused(kinds: Any, message: str) -> None:
    """Unknown kinds, shares that are no amounts, and kinds without any share are refused."""
    with pytest.raises(ParameterError) as raised:
        _shares(kinds)
    assert str(raised.value).endswith(message)
