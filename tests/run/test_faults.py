"""Faults of endpoints, over real HTTP with the official client: no score is ever wrong."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.run.patience import giving_up
from typer.testing import CliRunner

from fullrecall import ClaimRecall, LLMJudge, Report, Sample, evaluate
from fullrecall.errors import RunStopped
from fullrecall.judge import OpenAIChatModel
from fullrecall.judge.models.retries import Retries
from fullrecall.scorers.result import Status

Exchange = FaultyEndpoint = Any  # of conftest.py
Fault = Callable[[Exchange], None]

SAMPLES = [
    Sample(
        user_input=f"Question {number}?",
        retrieved_contexts=[f"This is what the context says of {number}.", "Nothing."],
        reference_claims=[f"Claim {number} is the first.", f"Claim {number} is the second."],
    )
    for number in range(20)
]
HANGS = 0.3
"""Seconds after which a hanging request is given up, and no other request."""


def status(code: int, **headers: str) -> Fault:
    """Answer with an HTTP error."""
    return lambda exchange: exchange.send(code, b'{"error": {"message": "no"}}', **headers)


def hangs(exchange: Exchange) -> None:
    """Send nothing until the test is over."""
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


def twice(answer: str) -> str:
    """Return an answer with a second, contradicting verdict on each claim."""
    verdicts = json.loads(answer)["verdicts"]
    others = [
        {**verdict, "verdict": "partial", "citations": [{"context": 2, "quote": "Nothing."}]}
        for verdict in verdicts
    ]
    return json.dumps({"verdicts": verdicts + others})


class Case(NamedTuple):
    """A fault, and the sample's reason if the fault lasts."""

    fault: Fault
    reason: str


CASES = {
    "429": Case(status(429), "rate limit was exceeded: RateLimitError"),
    "429 with Retry-After": Case(status(429, Retry_After="0.01"), "rate limit was exceeded"),
    "500": Case(status(500), "the endpoint failed: InternalServerError"),
    "503": Case(status(503), "the endpoint failed: InternalServerError"),
    "hang": Case(hangs, "did not answer in time: TimeoutError"),
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
    "no verdicts": Case(
        lambda exchange: exchange.say(exchange.right(more=-2)),
        "2 of 2 not judged: the judge gave no verdict",
    ),
    "too few verdicts": Case(
        lambda exchange: exchange.say(exchange.right(more=-1)),
        "1 of 2 not judged: the judge gave no verdict",
    ),
    "too many verdicts": Case(
        lambda exchange: exchange.say(exchange.right(more=1)),
        "2 of 2 not judged: the judge gave a verdict on '3', which was not asked for",
    ),
    "two verdicts on each": Case(
        lambda exchange: exchange.say(twice(exchange.right())),
        "2 of 2 not judged: the judge gave 2 verdicts",
    ),
    "refusal": Case(
        lambda exchange: exchange.say(None, refusal="I cannot."),
        "the model refused: I cannot.",
    ),
    "400": Case(status(400), "rejected the request: BadRequestError"),
    "401": Case(status(401), "denied access: AuthenticationError"),
    "404": Case(status(404), "does not know the model: NotFoundError"),
}


def judged(
    faulty: FaultyEndpoint, samples: list[Sample] = SAMPLES, hangs: float = 30.0, **options: Any
) -> Report:
    """Return the report of the samples, with short waits."""
    model = giving_up(OpenAIChatModel("m", base_url=faulty.base_url), faulty, hangs)
    options = {"max_concurrency": 8, **options}
    return evaluate(
        samples,
        ClaimRecall(judge=LLMJudge(model)),
        retries=Retries(first_wait=0.005),
        progress=False,
        **options,
    )


@pytest.mark.parametrize("always", [False, True], ids=["once", "persistent"])
@pytest.mark.parametrize("name", CASES)
def test_no_score_is_wrong(faulty: FaultyEndpoint, name: str, *, always: bool) -> None:
    """A passing fault costs no score; a lasting one only those of its samples, with the reason."""
    case = CASES[name]
    struck = frozenset(random.Random(name).sample(range(20), 4))
    faulty.strikes(case.fault, struck, always=always)
    report = judged(faulty, hangs=HANGS if name == "hang" else 600.0, timeout=600.0)
    lost = struck if always else frozenset()
    for number, row in enumerate(report):
        (result,) = row.results
        if number in lost:
            assert (result.status, result.score) == (Status.UNSCORED, None)
            assert case.reason in result.reason
        else:
            assert result.score == (number % 3) / 2
        extra = faulty.requests[number] - 1
        assert extra == 0 if number not in struck else extra <= 4
    assert len(report) == 20
    assert report.spent is not None
    assert report.spent.calls == faulty.requests.total()


@pytest.mark.parametrize("code", [400, 401, 404])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_what_strikes_everybody_stops_the_run(
    faulty: FaultyEndpoint, code: int, concurrency: int
) -> None:
    """A bad key, model, or request stops the run with one message, after a few requests."""
    faulty.strikes(status(code), frozenset(range(20)), always=True)
    with pytest.raises(RunStopped, match=r"openai:m@\S+ does not answer: .* \S+Error: ") as caught:
        judged(faulty, max_concurrency=concurrency)
    # After a denial the model is doubted at once. A rejected request may be the sample's own
    # fault, so the fifth ends the run, with all requests in flight then. Each request is sent once
    # more, and a rejected one also without its schema.
    most = 3 * (4 + concurrency) if code == 400 else 2 * concurrency
    assert faulty.requests.total() <= most
    assert caught.value.report is not None
    assert {row.results[0].status for row in caught.value.report} == {Status.UNSCORED}


@pytest.mark.parametrize("name", ["400", "401", "404", "refusal"])
def test_the_very_first_request_may_be_turned_away(faulty: FaultyEndpoint, name: str) -> None:
    """A first request that is turned away is sent once more before it is given up."""
    faulty.strikes(CASES[name].fault, frozenset({0}), always=False)
    report = judged(faulty, SAMPLES[:4], max_concurrency=1)
    assert [row.results[0].score for row in report] == [0.0, 0.5, 1.0, 0.0]
    assert faulty.requests.total() == 5


@pytest.mark.rooms
@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX systems")
def test_ctrl_c_on_the_command_line_counts_what_was_scored(
    faulty: FaultyEndpoint, tmp_path: Path
) -> None:
    """The sample that was in flight is in the saved report, unscored."""
    from fullrecall.cli import app

    def presses(exchange: Exchange) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        hangs(exchange)

    faulty.strikes(presses, frozenset({6}), always=True)
    file = tmp_path / "samples.jsonl"
    file.write_text("".join(json.dumps(sample.to_dict()) + "\n" for sample in SAMPLES))
    asked = ["evaluate", file, "--judge", "openai:m", "--base-url", faulty.base_url]
    options = ["--max-concurrency", 1, "--output", tmp_path / "report.jsonl"]
    shown = CliRunner().invoke(app, list(map(str, [*asked, *options, "--scorer", "claim_recall"])))
    assert shown.exit_code == 130, shown.output
    assert "interrupted Scored 6 samples before that" in " ".join(shown.output.split())
    assert len(Report.load(tmp_path / "report.jsonl")) == 7
