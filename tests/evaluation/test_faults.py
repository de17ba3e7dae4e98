"""Everything that endpoints do, over real HTTP with the official client: no score is ever wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from fullrecall import ClaimRecall, LLMJudge, Report, Sample, Status, evaluate
from fullrecall.judges.openai import OpenAIChatModel
from fullrecall.judges.retrying import Retries

Exchange = FaultyEndpoint = Any  # of conftest.py
Fault = Callable[[Exchange], None]

SAMPLES = [
    Sample(
        user_input=f"Question {number}?",
        retrieved_contexts=[f"This is what the context says of {number}.", "Nothing."],
        reference_claims=[f"Claim {number} is the first.", f"Claim {number} is the second."],
    )
    for number in range(40)
]
TIMEOUT = 1.0
"""Seconds after which a request that hangs is given up; the others are not to come near it."""


def status(code: int, **headers: str) -> Fault:
    """Answer with an HTTP error."""
    return lambda exchange: exchange.send(code, b'{"error": {"message": "no"}}', **headers)


def hangs(exchange: Exchange) -> None:
    """Say nothing until the test is over."""
    exchange.endpoint.released.wait(10)
    exchange.close_connection = True


def breaks_off(exchange: Exchange) -> None:
    """Close the connection in the middle of the body."""
    body = exchange.completion(exchange.right())
    exchange.send_response(200)
    exchange.send_header("Content-Type", "application/json")
    exchange.send_header("Content-Length", str(len(body)))
    exchange.end_headers()
    exchange.wfile.write(body[: len(body) // 2])
    exchange.close_connection = True


class Case(NamedTuple):
    """A fault, what a sample's reason says if it lasts, and whether asking again can mend it."""

    fault: Fault
    reason: str
    passing: bool = True


CASES = {
    "429": Case(status(429), "rate limit was exceeded: RateLimitError"),
    "429 with Retry-After": Case(status(429, Retry_After="0.01"), "rate limit was exceeded"),
    "500": Case(status(500), "the endpoint failed: InternalServerError"),
    "503": Case(status(503), "the endpoint failed: InternalServerError"),
    "hang": Case(hangs, "did not answer in time: no answer within 1 s"),
    "disconnect": Case(breaks_off, "the connection to the endpoint failed"),
    "a body that is no JSON": Case(
        lambda exchange: exchange.send(200, b"<html>busy</html>"), "could not be read"
    ),
    "a body that is cut off": Case(
        lambda exchange: exchange.send(200, exchange.completion("{}")[:60]), "could not be read"
    ),
    "malformed JSON": Case(
        lambda exchange: exchange.say('{"verdicts": [{"id": 1, "verdict" "supported"}]}'),
        "2 of 2 not judged: the judge gave no verdict",
    ),
    "truncated JSON": Case(
        lambda exchange: exchange.say(exchange.right()[:30], finish="length"),
        "the model's reply was cut off",
    ),
    "too few verdicts": Case(
        lambda exchange: exchange.say(exchange.right(verdicts=0)),
        "2 of 2 not judged: the judge gave no verdict",
    ),
    "refusal": Case(
        lambda exchange: exchange.say(None, refusal="I cannot."),
        "the model refused: I cannot.",
        passing=False,
    ),
    "400": Case(status(400), "rejected the request: BadRequestError", passing=False),
    "401": Case(status(401), "denied access: AuthenticationError", passing=False),
}


def judged(faulty: FaultyEndpoint, samples: list[Sample] = SAMPLES, **options: Any) -> Report:
    """Return the report of the samples, with short waits."""
    # Without a schema, since a 400 would lead the model to ask again without.
    model = OpenAIChatModel("m", base_url=faulty.base_url, schema=False)
    options = {"max_concurrency": 8, **options}
    return evaluate(
        samples,
        ClaimRecall(judge=LLMJudge(model)),
        retries=Retries(first_wait=0.005),
        progress=False,
        **options,
    )


@pytest.mark.parametrize("share", [0.2, 0.1], ids=["20%", "10%"])
@pytest.mark.parametrize("always", [False, True], ids=["once", "persistent"])
@pytest.mark.parametrize("name", CASES)
def test_no_score_is_wrong(
    faulty: FaultyEndpoint, name: str, share: float, *, always: bool
) -> None:
    """What passes is mended; what lasts costs exactly the struck samples, with the reason."""
    case = CASES[name]
    struck = frozenset(random.Random(name).sample(range(40), int(40 * share)))
    faulty.strikes(case.fault, struck, always=always)
    report = judged(faulty, timeout=TIMEOUT if name == "hang" else 30.0)
    lost = struck if always or not case.passing else frozenset()
    for number, row in enumerate(report):
        (result,) = row.results
        if number in lost:
            assert (result.status, result.score) == (Status.UNSCORED, None)
            assert case.reason in result.reason
        else:
            assert result.score == (number % 3) / 2
        extra = faulty.requests[number] - 1
        assert extra == 0 if number not in struck else extra <= 4
    assert len(report) == 40
    assert report.spent is not None
    assert report.spent.calls == faulty.requests.total()
