"""Replies are checked, and a request is sent again so often and so late as its rules say."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest

from fullrecall.errors import ParameterError
from fullrecall.judge import flow as flows
from fullrecall.judge.judge import Ask, Verdict, compound
from fullrecall.judge.models import Completion, Failure
from fullrecall.judge.models import retries as rules
from fullrecall.judge.models.chat import ChatRequest, Message
from fullrecall.judge.models.retries import Retries, sound, token_count, tokens_used
from fullrecall.judge.usage import Spent


@pytest.mark.parametrize(
    ("count", "tokens"),
    [
        (0, 0), (1, 1), (100.0, 100), ("100", 100), (10**8, 10**8), (10**8 + 1, 0), (-1, 0),
        (1.5, 0), (True, 0), (None, 0), (inf, 0), (nan, 0), ("1.5", 0), ("-1", 0), ("", 0),
        ("9" * 9, 10**9 - 1), ("1" * 10, 0), ("²", 0), (10**400, 0),
    ],
)  # fmt: skip
def test_token_counts(count: object, tokens: int) -> None:
    """A count is a whole number of at most 100 million, and else 0."""
    assert token_count(count) == tokens


NO_TEXT = "the model gave no Completion with a text, but"


def failure_of(failure: Failure, detail: str) -> Completion:
    """Return a completion without a text."""
    return Completion("", failure=failure, detail=detail)


def test_tokens_used() -> None:
    """The counts under several names are added; a missing usage has none."""
    usage = {"a": 3, "b": "4", "c": None}
    assert tokens_used({"usage": usage}, "a", "b", "c", "d") == 7
    assert [tokens_used(reply, "a") for reply in ({}, {"usage": None}, {"usage": [1]})] == [0] * 3


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Completion("yes"), Completion("yes")),
        (Completion("yes", "3", 4.0), Completion("yes", 3, 4)),
        (Completion("yes", requests=0), Completion("yes", requests=1)),
        (Completion("yes", requests=3), Completion("yes", requests=3)),
        (Completion("yes", requests=None), Completion("yes", requests=1)),
        (Completion("yes", wait=2), Completion("yes", wait=2.0)),
        (Completion("yes", wait=0), Completion("yes", wait=0.0)),
        (Completion("yes", wait=-1), Completion("yes")),
        (Completion("yes", wait=inf), Completion("yes")),
        (Completion("yes", wait=True), Completion("yes")),
        (Completion("yes", wait="2"), Completion("yes")),
        (Completion("yes", detail=7), Completion("yes", detail="7")),
        (Completion("x" * rules.MOST_CHARACTERS), Completion("x" * rules.MOST_CHARACTERS)),
        (
            Completion("x" * (rules.MOST_CHARACTERS + 1)),
            failure_of(Failure.TOO_LARGE, "200,001 characters; at most 200,000 are read"),
        ),
        (
            Completion("yes", failure="down", detail="x"),
            failure_of(Failure.TRANSPORT, "down: x"),
        ),
        (Completion("", failure=Failure.REFUSED), Completion("", failure=Failure.REFUSED)),
        (
            Completion(7),
            failure_of(Failure.MALFORMED, f"{NO_TEXT} Completion"),
        ),
        (
            "yes",
            failure_of(Failure.MALFORMED, f"{NO_TEXT} str"),
        ),
    ],
)  # fmt: skip
def test_a_reply_is_made_sound(reply: Any, expected: Completion) -> None:
    """Values of other types, and texts beyond the limit, never reach a judge."""
    assert sound(reply) == expected


def test_nothing_is_said_of_no_request() -> None:
    """A run without requests and reused answers has no sentence about them."""
    assert not Spent().sentence()
    assert Spent(reused=1).sentence().endswith("1 answer came from the store.")


def test_a_flow_is_closed_after_an_interrupt() -> None:
    """After Ctrl-C in a request, the flow's own clean-up has run."""
    ends: list[str] = []

    class Interrupted(Failing):
        def complete(self, _: ChatRequest) -> Completion:
            raise KeyboardInterrupt

    def asking() -> Any:
        try:
            yield [Ask(Interrupted(0, raises=True), ChatRequest((Message("user", "q"),)))]
        finally:
            ends.append("closed")

    with pytest.raises(KeyboardInterrupt) as caught:
        flows.run(asking())
    assert (ends, caught.type) == (["closed"], KeyboardInterrupt)


def test_a_number_of_retries_is_not_negative() -> None:
    """A negative number of retries is refused."""
    with pytest.raises(ParameterError, match="most must"):
        Retries(-1)


@pytest.mark.parametrize("failure", [None, *Failure])
def test_how_often_a_request_is_sent(failure: Failure | None) -> None:
    """Passing failures are sent again `most` times, a timeout once, and others never."""
    completion = Completion("", failure=failure)
    for most in (0, 1, 3):
        retries = Retries(most, first_wait=0.0)
        waits = [retries.wait(sent, completion) for sent in range(1, 6)]
        again = 0
        if failure is not None and failure.is_passing:
            again = min(most, 1) if failure is Failure.TIMEOUT else most
        assert waits == [0.0] * again + [None] * (5 - again)


@pytest.mark.parametrize(
    ("sent", "told", "low", "high"),
    [(1, None, 1.0, 2.0), (2, None, 2.0, 4.0), (3, None, 4.0, 8.0), (4, None, 5.0, 10.0),
     (2000, None, 5.0, 10.0), (3, 7.0, 7.0, 8.0), (3, 0.0, 0.0, 1.0), (1, 10.0, 10.0, 11.0)],
)  # fmt: skip
def test_how_long_it_waits(
    sent: int, told: float | None, low: float, high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waits double up to the longest, and an endpoint's wait is never shortened."""
    retries = Retries(5000, first_wait=2.0, longest_wait=10.0)
    completion = Completion("", failure=Failure.SERVER, wait=told)
    for end, expected in ((0, low), (1, high)):
        monkeypatch.setattr("random.uniform", lambda *ends, end=end: ends[end])
        assert retries.wait(sent, completion) == expected
    assert retries.gives_up(replace(completion, wait=10.1))
    assert retries.wait(sent, replace(completion, wait=10.1)) is None


class Failing:
    """A model whose first requests fail, by an exception or in a completion."""

    name = "failing"

    def __init__(self, failures: int, *, raises: bool) -> None:
        self.failures, self.raises, self.sent = failures, raises, 0

    def complete(self, _: ChatRequest) -> Completion:
        """Fail, or answer."""
        self.sent += 1
        if self.sent > self.failures:
            return Completion("yes")
        if self.raises:
            raise ConnectionResetError
        return Completion("", failure=Failure.SERVER)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Fail, or answer."""
        return self.complete(request)


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize(("failures", "sent"), [(0, 1), (1, 2), (4, 5), (5, 5)])
def test_a_single_call_tries_again(
    failures: int, sent: int, *, raises: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of runs a request is sent five times at most, and each time is counted."""
    monkeypatch.setattr(flows, "Retries", lambda: Retries(first_wait=0.0))
    request = ChatRequest((Message("user", "?"),))

    def flow(ask: Ask) -> flows.Flow[Completion]:
        (completion,) = yield [ask]
        return completion

    for run in (flows.run, lambda flow: asyncio.run(flows.arun(flow))):
        model = Failing(failures, raises=raises)
        completion, usage = run(flow(Ask(model, request)))
        assert (model.sent, completion.requests, usage.calls) == (sent, sent, sent)
        assert completion.text == ("yes" if failures < 5 else "")
        known = Completion("known")
        completion, usage = run(flow(Ask(model, request, known=known)))
        assert (completion.text, model.sent) == ("known", sent)


FACT = Verdict("supported")
PART = Verdict("partial")
MISSING = Verdict("not_supported")


@pytest.mark.parametrize(
    ("facts", "label"),
    [
        ([FACT], "supported"), ([FACT, FACT], "supported"), ([FACT, PART], "partial"),
        ([FACT, MISSING], "partial"), ([PART, MISSING], "partial"), ([MISSING], "not_supported"),
        ([MISSING, MISSING], "not_supported"), ([FACT, Verdict(None, problem="void")], None),
    ],
)  # fmt: skip
def test_a_claim_of_several_facts(facts: list[Verdict], label: str | None) -> None:
    """A claim is supported if all of its facts are, and partly if one is at least in part."""
    verdict = compound(facts)
    assert verdict.label == label
    assert verdict.problem == ("" if label else "void")
    assert verdict.facts == (tuple(facts) if label else ())


def test_a_claim_is_as_certain_as_its_least_certain_fact() -> None:
    """The least support and agreement count, and whether any fact was contested or referred."""
    facts = [replace(FACT, support=0.9, agreement=0.8), replace(FACT, support=0.7, contested="c")]
    verdict = compound([*facts, replace(FACT, agreement=1.0, referred=True), FACT])
    assert (verdict.support, verdict.agreement) == (0.7, 0.8)
    assert (verdict.contested, verdict.referred) == ("c", True)
    plain = compound([FACT, FACT])
    assert (plain.support, plain.agreement, plain.contested) == (None, None, "")
    assert not plain.referred
