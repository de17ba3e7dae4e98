"""Failures are read from the attributes of any client's exceptions, not from the package."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from fullrecall import ClaimRecall
from fullrecall.judge import LLMJudge
from fullrecall.judge.models import Completion, Failure
from fullrecall.judge.models.failures import failed
from fullrecall.judge.models.retries import Retries
from fullrecall.judge.models.scripted import ScriptedChatModel


def error(name: str, *, base: type[Exception] = Exception, **attributes: Any) -> Exception:
    """Return an exception of a class of this name, with these attributes."""
    made = type(name, (base,), attributes)("as told")
    assert isinstance(made, Exception)
    return made


def response(status: int, **headers: str) -> Any:
    """Return a response as clients keep it."""
    return type("Response", (), {"status_code": status, "headers": headers})()


@pytest.mark.parametrize(
    ("raised", "failure"),
    [
        (error("APIStatusError", status_code=429), Failure.RATE_LIMIT),
        (error("APIStatusError", status_code=429, code="insufficient_quota"), Failure.DENIED),
        (error("HTTPStatusError", response=response(503)), Failure.SERVER),
        (error("OverloadedError", status_code=529), Failure.SERVER),
        (error("OldError", http_status=500), Failure.SERVER),
        (error("GoogleError", code=429), Failure.RATE_LIMIT),
        (
            error("ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 403}}),
            Failure.DENIED,
        ),
        (error("APIError", status_code=404), Failure.UNKNOWN),
        (error("APIError", status_code=400), Failure.INVALID),
        (error("APIError", status_code=400, code="content_filter"), Failure.REFUSED),
        (error("APIError", status_code=400, code="model_not_found"), Failure.UNKNOWN),
        (error("RateLimitError"), Failure.RATE_LIMIT),
        (error("ThrottlingException"), Failure.RATE_LIMIT),
        (error("APITimeoutError", base=ConnectionError), Failure.TIMEOUT),
        (TimeoutError("30 s"), Failure.TIMEOUT),
        (ConnectionRefusedError("nobody"), Failure.CONNECTION),
        (error("RemoteProtocolError"), Failure.CONNECTION),
        (json.JSONDecodeError("no JSON", "x", 0), Failure.MALFORMED),
        (error("AuthenticationError"), Failure.DENIED),
        (KeyError("a mistake of one's own"), Failure.TRANSPORT),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
def test_each_is_known(raised: Exception, failure: Failure) -> None:
    """A failure is known by status, code, or class name, and has the client's message."""
    completion = failed(raised)
    assert completion.failure is failure
    assert completion.detail == f"{type(raised).__name__}: {raised}"


def test_the_cause_tells_where_the_exception_does_not() -> None:
    """A framework's wrapper has the failure of the client's exception inside."""
    wrapped = ValueError("the chain failed")
    wrapped.__cause__ = error("RateLimitError", status_code=429)
    completion = failed(wrapped)
    assert completion.failure is Failure.RATE_LIMIT
    assert completion.detail == "ValueError: the chain failed"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float) -> None:
    """`Retry-After` is read in seconds and in milliseconds."""
    assert failed(error("RateLimitError", response=response(429, **headers))).wait == seconds


DATES = [
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
    "Sun, 06 Nov 1994 09:49:37 +0100",
]
"""One moment in the forms of HTTP (RFC 9110, 5.6.7), and in one of mail."""


@pytest.mark.parametrize("date", DATES)
@pytest.mark.parametrize(
    ("now", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:30 GMT", 7),
        ("Sun, 06 Nov 1994 07:49:37 GMT", 3_600),
        ("Sun, 06 Nov 1994 08:49:37 GMT", None),
        ("Mon, 07 Nov 1994 08:49:37 GMT", None),
    ],
)
def test_a_date_is_waited_for_by_the_clock_of_the_endpoint(
    date: str, now: str, seconds: float | None
) -> None:
    """A date is compared with the endpoint's own time; a past date asks for no wait."""
    for headers in ({"retry-after": date, "date": now}, {"Retry-After": date, "Date": now}):
        assert failed(error("RateLimitError", response=response(429, **headers))).wait == seconds


def test_a_date_without_the_time_of_the_reply() -> None:
    """Without the reply's time, a date is compared with this machine's clock."""
    soon = datetime.now(UTC) + timedelta(hours=2)
    headers = {"retry-after": format_datetime(soon, usegmt=True)}
    wait = failed(error("RateLimitError", response=response(429, **headers))).wait
    assert wait is not None
    assert 3_600 < wait <= 7_200


@pytest.mark.parametrize(
    "told",
    [
        {},
        *(
            {"retry-after": text}
            for text in (
                *("Wed, 21 Oct 2015 07:28:00 GMT", "-3", "", "soon", "nan", "inf", "1e999"),
                *("Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT", "9" * 400),
            )
        ),
        {"retry-after": DATES[0], "date": "soon"},
    ],
)
def test_no_wait_is_asked_for(told: dict[str, str]) -> None:
    """Without the header, or with neither a number of seconds nor a date, no wait is read."""
    assert failed(error("RateLimitError", response=response(429, **told))).wait is None


@pytest.mark.parametrize(
    ("raised", "times"),
    [(TimeoutError(), 2), (ConnectionResetError(), 5), (error("APIError", status_code=400), 1)],
)
def test_how_often_it_is_tried(raised: Exception, times: int) -> None:
    """A passing failure is sent again four times, a timeout once, other failures never."""
    completion = failed(raised)
    waits = [Retries(first_wait=0.0).wait(sent, completion) for sent in range(1, 10)]
    assert waits == [0.0] * (times - 1) + [None] * (10 - times)


@pytest.mark.parametrize("sent", [1, 3])
def test_an_endpoint_gets_the_wait_that_it_asks_for(sent: int) -> None:
    """The wait is never shorter than the endpoint asks for, after any number of requests."""
    completion = failed(error("RateLimitError", response=response(429, **{"retry-after": "7"})))
    wait = Retries(first_wait=0.5).wait(sent, completion)
    assert wait is not None
    assert 7.0 <= wait <= 7.25
    assert Retries(longest_wait=6.0).wait(sent, completion) is None


FINISHED = [
    ("yes", None, None, ""),
    ("yes", "STOP", None, ""),
    ("yes", "tool_use", None, ""),
    ("yes", "a new reason", None, ""),
    ("", None, None, f"{Failure.EMPTY}"),
    (" \n", "end_turn", None, f"{Failure.EMPTY}"),
    ("", "other", None, f"{Failure.EMPTY}: its finish reason is 'other'"),
    ("half", "length", None, f"{Failure.CUT_OFF}: at the token limit"),
    ("half", "MAX_TOKENS", None, f"{Failure.CUT_OFF}: at the token limit"),
    ("half", "abort", None, f"{Failure.CUT_OFF}: by 'abort'"),
    ("", "SAFETY", None, f"{Failure.REFUSED}: safety"),
    ("", "content_filter", None, f"{Failure.REFUSED}: content filter"),
    ("text", "stop", "I cannot do that", f"{Failure.REFUSED}: I cannot do that"),
]


@pytest.mark.parametrize(("text", "stop", "refusal", "problem"), FINISHED)
def test_a_reply_shows_by_its_finish_reason_whether_it_is_whole(
    text: str, stop: str | None, refusal: str | None, problem: str
) -> None:
    """A whole reply has no problem; one that was cut off, refused or empty names it."""
    completion = Completion.of(text, tokens=(3, 4), stop=stop, refusal=refusal)
    assert completion.problem == problem
    assert (completion.failure is None) == (problem == "")
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == (text, 3, 4)


@pytest.mark.parametrize(
    ("replies", "problem"),
    [
        (["prose"], "the model's reply is not a JSON list of items"),
        (['{"items": []}'], "the model's reply lists nothing"),
        ([Completion("", failure=Failure.EMPTY)], f"{Failure.EMPTY}"),
    ],
)
def test_a_reference_that_no_reply_splits_is_unscored_with_the_problem(
    replies: list[Any], problem: str
) -> None:
    """The reason names the last reply's failure, or how it differs from a list of claims."""
    judge = LLMJudge(ScriptedChatModel(replies * 9))
    result = ClaimRecall(judge=judge).score(retrieved_contexts=["c"], reference="r")
    assert result.reason == f"the text could not be split into claims: {problem}"
