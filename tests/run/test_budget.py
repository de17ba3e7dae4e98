"""A budget bounds a run, unscored samples have the reason, and the next run resumes."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.paid import VERDICTS

from fullrecall import ClaimRecall, LLMJudge, Report, Sample, evaluate
from fullrecall.errors import ParameterError
from fullrecall.judge import Ask, Panel
from fullrecall.judge.flow import NotAsked
from fullrecall.judge.models import ChatRequest, Completion, Message
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.run.account import Account
from fullrecall.run.budget import Budget
from fullrecall.run.limits import Limits
from fullrecall.run.work import Run

SAMPLES = [
    Sample(user_input=f"q{n}", reference_claims=["A stands."], retrieved_contexts=[f"context {n}"])
    for n in range(20)
]


class Slow(ScriptedChatModel):
    """A model that lets other requests start before it answers, and counts its tokens."""

    def __init__(self, tokens: tuple[int, int] = (100, 20), **told: Any) -> None:
        super().__init__(lambda _: Completion(VERDICTS, *tokens), **told)
        self.at_once = self.most_at_once = 0

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Answer after a moment."""
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.001)
        self.at_once -= 1
        return self.complete(request)


def run(model: Any, budget: Budget | None, *, retries: int = 0, **options: Any) -> Report:
    """Evaluate samples of one claim each, so that each sample takes one request."""
    scorer = ClaimRecall(judge=LLMJudge(model))
    return evaluate(SAMPLES, scorer, budget=budget, retries=retries, progress=False, **options)


@pytest.mark.parametrize("max_concurrency", [1, 3, 16, 64])
def test_never_more_calls_than_the_budget(max_concurrency: int) -> None:
    """With any number of samples in flight, exactly the budget's calls are sent."""
    model = Slow()
    report = run(model, Budget(calls=7), max_concurrency=max_concurrency)
    assert len(model.requests) == 7
    (score,) = report.summary()
    assert (score.scored, score.unscored) == (7, 13)
    assert score.reasons == {"the budget of 7 calls is used up": 13}
    assert score.coverage == pytest.approx(0.35)
    assert len(report) == len(SAMPLES)
    assert report.spent.cost is None


def test_requests_that_are_sent_again_count(tmp_path: Path) -> None:
    """Requests that are sent again count against the budget, if each first attempt fails."""

    def flaky(request: ChatRequest) -> Completion | Exception:
        asked = sum(other == request for other in model.requests)
        return TimeoutError("slow") if asked % 2 else Completion(VERDICTS)

    model = ScriptedChatModel(flaky)
    report = run(model, Budget(calls=5), retries=2, max_concurrency=1)
    assert len(model.requests) == 5
    assert report.summary()[0].scored == 2


@pytest.mark.parametrize("max_concurrency", [1, 16])
def test_a_later_run_goes_on_where_the_budget_ended_the_first(
    tmp_path: Path, max_concurrency: int
) -> None:
    """With a store, three runs of seven calls score twenty samples, and none is paid twice."""
    model = Slow()
    scored = []
    for _ in range(4):
        report = run(model, Budget(calls=7), store=tmp_path / "s", max_concurrency=max_concurrency)
        scored.append(report.summary()[0].scored)
    assert scored == [7, 14, 20, 20]
    assert len(model.requests) == len(SAMPLES)


@pytest.mark.parametrize("max_concurrency", [1, 4, 64])
def test_tokens_are_bounded_by_what_earlier_requests_took(max_concurrency: int) -> None:
    """Tokens stay within the budget if requests have one size, once the first is known."""
    model = Slow((1_000, 100))
    report = run(model, Budget(tokens=8_000), max_concurrency=max_concurrency)
    (score,) = report.summary()
    assert 0 < score.scored < len(SAMPLES)
    assert list(score.reasons) == ["the budget of 8,000 tokens is used up"]
    assert report.spent is not None
    spent = report.spent.prompt_tokens + report.spent.completion_tokens
    assert spent <= 8_000
    if max_concurrency == 1:
        assert spent == 7_700


def test_the_size_of_a_prompt_is_estimated_from_earlier_ones() -> None:
    """A second prompt is expected to take 5,100 tokens as the first did, so it is not sent."""
    model = Slow((5_000, 100))
    report = run(model, Budget(tokens=8_000), max_concurrency=1)
    assert len(model.requests) == 1
    assert report.spent is not None
    assert report.spent.tokens == 5_100


def test_a_model_that_counts_no_tokens_is_charged_by_length() -> None:
    """A model that counts no tokens is charged one token for four characters."""
    model = Slow((0, 0))
    report = run(model, Budget(tokens=1_500), max_concurrency=1)
    assert 0 < report.summary()[0].scored < len(SAMPLES)


def test_cost_is_bounded_and_told() -> None:
    """The cost follows from the user's prices, for a million tokens each."""
    model = Slow((1_000, 100), name="small")
    budget = Budget(cost=0.01, prices={"small": (1.0, 10.0)})  # Each request costs 0.002.
    report = run(model, budget, max_concurrency=1)
    assert report.summary()[0].scored == 5
    assert report.spent is not None
    assert report.spent.cost == pytest.approx(0.01)
    assert "the budget of 0.01 is used up" in next(iter(report.summary()[0].reasons))
    unbounded = run(Slow((1_000, 100), name="small"), Budget(prices={"small": (1.0, 10.0)}))
    assert unbounded.spent is not None
    assert unbounded.spent.cost == pytest.approx(0.04)
    assert run(Slow(), None).spent.cost is None  # type: ignore[union-attr]


def test_what_the_store_answers_costs_nothing(tmp_path: Path) -> None:
    """A budget of one call is enough for a run whose answers are all stored."""
    run(Slow(), None, store=tmp_path / "s")
    report = run(Slow(), Budget(calls=1), store=tmp_path / "s")
    assert report.summary()[0].scored == len(SAMPLES)
    assert report.spent is not None
    assert report.spent.calls == 0


def test_a_model_without_a_price_is_refused_before_the_first_call() -> None:
    """A model without a price is refused before the first call, even inside a panel."""
    model = ScriptedChatModel([VERDICTS], name="large")
    budget = Budget(cost=1.0, prices={"small": (1, 2)})
    panel = Panel([LLMJudge(Slow(name="small")), LLMJudge(model)])
    for judge in (LLMJudge(model), panel):
        with pytest.raises(ParameterError, match="'large': \\(prompt, completion\\)"):
            evaluate(SAMPLES, ClaimRecall(judge=judge), budget=budget, progress=False)
    assert not model.requests


def test_prices_go_by_the_endpoint_s_name_too() -> None:
    """Prices may name a model by `OpenAIChatModel.model`, without the parameters in its `name`."""

    class Named(ScriptedChatModel):
        model = "gpt"

    assert Budget(prices={"gpt": (1, 2)}).price(Named(["x"], name="openai:gpt@x")) == (1, 2)
    assert Budget(prices={"x": (0, 4)}).price(Named(["x"], name="x")) == (0, 4)
    assert Budget(prices={"gpt-4": (1, 2)}).price(Named(["x"])) is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"calls": 0}, "calls"),
        ({"calls": 1.5}, "calls"),
        ({"calls": True}, "calls"),
        ({"tokens": -1}, "tokens"),
        ({"cost": 0}, "cost"),
        ({"cost": float("nan")}, "cost"),
        ({"cost": True}, "cost"),
        ({"rate": 0}, "rate"),
        ({"rate": float("nan")}, "rate"),
        ({"prices": ["m"]}, "must map models to pairs"),
        ({"prices": {"m": (1,)}}, "prices"),
        ({"cost": 1.0}, "needs prices"),
        ({"prices": {"m": 3}}, "prices"),
        ({"prices": {"m": (1, -2)}}, "prices"),
        ({"prices": {"m": "12"}}, "prices"),
    ],
)
def test_a_wrong_bound_is_refused(options: dict[str, Any], problem: str) -> None:
    """A wrong bound is an error that names the parameter."""
    with pytest.raises(ParameterError, match=problem):
        Budget(**options)
    with pytest.raises(ParameterError, match=r"Budget\(calls=100\)"):
        run(Slow(), 100)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=40)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 400), st.integers(0, 90)), min_size=1, max_size=25),
    bound=st.integers(50, 5_000),
    side_by_side=st.integers(1, 8),
)
def test_what_goes_beyond_the_budget_is_one_request_s_error(
    sizes: list[tuple[int, int]], bound: int, side_by_side: int
) -> None:
    """At most one request exceeds the budget, for any number of requests in flight."""
    account = Account(Run((), Limits(budget=Budget(tokens=bound))))
    sent: list[int] = []
    spent_before: list[int] = []

    async def all_of_them() -> None:
        gate = asyncio.Semaphore(side_by_side)

        async def one(size: tuple[int, int]) -> None:
            request = ChatRequest((Message("user", "x" * size[0] * 3),))
            async with gate:
                ask = Ask(ScriptedChatModel(["x"]), request)
                try:
                    hold = await account.hold(ask, is_repeated=False)
                except NotAsked:
                    return
                spent_before.append(account.spent.tokens)
                await asyncio.sleep(0)
                sent.append(sum(size))
                await account.settle(ask, hold, Completion("x", *size), is_repeated=False)

        await asyncio.gather(*map(one, sizes))

    asyncio.run(all_of_them())
    assert all(before < bound for before in spent_before)
    assert sum(sent) <= bound + max(map(sum, sizes))
    assert account.spent.tokens == sum(sent)


@pytest.mark.parametrize("bound", [20_000, 60_000, 200_000])
@pytest.mark.parametrize("seed", range(5))
def test_whatever_sizes_come_side_by_side_one_request_overshoots(bound: int, seed: int) -> None:
    """At most one request exceeds the budget, with unpredictable sizes and a slow endpoint."""
    chance = random.Random(seed)
    sizes = [(chance.randint(100, 3_000), chance.randint(10, 3_000)) for _ in range(200)]

    class Erratic(Slow):
        def complete(self, request: ChatRequest) -> Completion:
            self.requests.append(request)
            return Completion(VERDICTS, *sizes[len(self.requests) - 1])

    for budget in (Budget(tokens=bound), Budget(cost=bound / 1e6, prices={"m": (1.0, 1.0)})):
        model = Erratic(name="m")
        samples = [Sample(reference_claims=["A."], retrieved_contexts=[f"{n}"]) for n in range(150)]
        scorer = ClaimRecall(judge=LLMJudge(model, reasks=0))
        report = evaluate(samples, scorer, budget=budget, progress=False, max_concurrency=32)
        assert report.spent is not None
        assert report.spent.tokens <= bound + 6_000
        assert report.spent.tokens >= min(bound - 7_000, sum(map(sum, sizes[:150])))


@pytest.mark.parametrize(
    "usage", [(-5_000, -5_000), (float("nan"), 1.5), ("many", None), ([], {}), (10**30, 2**63)]
)
def test_a_usage_that_is_none_switches_no_budget_off(usage: Any) -> None:
    """A request with an invalid usage is charged by length, and only counted tokens are totaled."""
    model = Slow(usage)
    report = run(model, Budget(tokens=1_500), max_concurrency=4)
    assert 0 < len(model.requests) < len(SAMPLES)
    assert report.spent is not None
    assert report.spent.tokens == 0


def test_far_from_the_bound_as_many_are_sent_as_without_one() -> None:
    """Far from the bound, the reserve delays requests only until the first are answered."""
    began: list[tuple[int, int]] = []  # requests in flight, and answered before

    class Patient(Slow):
        """A model that answers once all allowed requests are in flight."""

        async def acomplete(self, request: ChatRequest) -> Completion:
            self.at_once += 1
            answered = len(self.requests)
            began.append((self.at_once, answered))
            async with asyncio.timeout(60):
                while self.at_once < min(4, 1 + answered) and len(began) < len(SAMPLES):  # noqa: ASYNC110 - a test
                    await asyncio.sleep(0.001)
            # These turns of the loop give a request time that should not be sent.
            for _ in range(10):
                await asyncio.sleep(0)
            self.at_once -= 1
            return self.complete(request)

    run(Patient((1_000, 100)), Budget(tokens=10_000_000), max_concurrency=4)
    assert max(began)[0] == 4
    assert all(at_once <= 1 + answered for at_once, answered in began)
