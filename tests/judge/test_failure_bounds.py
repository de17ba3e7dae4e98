"""The failure of a reply and of a client's exception, whole, at the bounds of each rule."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import FrozenInstanceError
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from fullrecall.judge.models import Completion, Failure
from fullrecall.judge.models.failures import (
    failed,
    failed_grammar,
    is_server_error,
    links,
    named_field,
)
from fullrecall.judge.models.redaction import hide_url, redacted
from fullrecall.judge.models.transport import MOST_BYTES, MOST_ERROR_BYTES, ReplyError, _content

LIMIT, FILTER = "at the token limit", "content filter"
WINDOW = "by 'model_context_window_exceeded'"


@pytest.mark.parametrize(
    ("text", "reply", "failure", "detail"),
    [
        ("a", {}, None, ""),
        ("a", {"stop": "odd"}, None, ""),
        (" \n", {}, Failure.EMPTY, ""),
        ("", {"stop": "stop"}, Failure.EMPTY, ""),
        ("", {"stop": "odd"}, Failure.EMPTY, "its finish reason is 'odd'"),
        ("", {"stop": 7}, Failure.EMPTY, ""),
        ("a", {"stop": "length"}, Failure.CUT_OFF, LIMIT),
        ("a", {"stop": "MAX_TOKENS"}, Failure.CUT_OFF, LIMIT),
        ("", {"stop": "model_context_window_exceeded"}, Failure.CUT_OFF, WINDOW),
        ("a", {"stop": "content_filter"}, Failure.REFUSED, FILTER),
        ("a", {"refusal": "no_way", "stop": "length"}, Failure.REFUSED, "no way"),
        ("", {"refusal": "", "stop": "refusal"}, Failure.REFUSED, "refusal"),
    ],
)
def test_the_failure_of_a_reply(text: str, reply: Any, failure: Any, detail: str) -> None:
    """A reply may be refused, cut off or empty; its text and its tokens are kept."""
    completion = Completion.of(text, tokens=(3, 4), **reply)
    assert completion == Completion(text, 3, 4, failure, detail)
    problem = "" if failure is None else f"{failure}: {detail}" if detail else str(failure)
    assert completion.problem == problem


def test_a_completion_is_a_value() -> None:
    """Equal completions are one in a set, and none can be changed."""
    assert len({Completion("a", 1, 2), Completion("a", 1, 2), Completion("a", 1, 3)}) == 2
    with pytest.raises(FrozenInstanceError):
        Completion("a").text = "b"  # type: ignore[misc]


def raised(**attributes: Any) -> Exception:
    """Return an exception with these attributes."""
    error = Exception("as told")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("status", "failure"),
    [(299, Failure.TRANSPORT), (300, Failure.MOVED), (399, Failure.MOVED), (400, Failure.INVALID),
     (401, Failure.DENIED), (402, Failure.DENIED), (403, Failure.DENIED), (404, Failure.UNKNOWN),
     (408, Failure.TIMEOUT), (409, Failure.SERVER), (410, Failure.INVALID),
     (425, Failure.RATE_LIMIT), (429, Failure.RATE_LIMIT), (418, Failure.INVALID),
     (499, Failure.INVALID), (500, Failure.SERVER), (599, Failure.SERVER),
     (600, Failure.TRANSPORT), ("500", Failure.TRANSPORT)],
)  # fmt: skip
def test_the_failure_of_a_status(status: Any, failure: Failure) -> None:
    """A status of HTTP from 300 to 599 decides, wherever a client keeps it."""
    for name in ("status_code", "http_status", "status", "code"):
        assert failed(raised(**{name: status})).failure is failure
    for name in ("status_code", "status"):
        response = SimpleNamespace(**{name: status})
        assert failed(raised(response=response)).failure is failure
    stored = {"ResponseMetadata": {"HTTPStatusCode": status}}
    assert failed(raised(response=stored)).failure is failure
    assert failed(raised(response={"ResponseMetadata": 7})).failure is Failure.TRANSPORT


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Fri, 01 Jan 2100 00:00:07 GMT", "date": "Fri, 01 Jan 2100 00:00:00 GMT"},
         7.0),
        ({"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT", "date": "Fri, 01 Jan 2100 00:00:00 GMT"},
         None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_the_wait_that_an_endpoint_asks_for(headers: dict[str, str], wait: float | None) -> None:
    """The wait is in seconds, in milliseconds, or until a date by the endpoint's clock."""
    assert failed(raised(status_code=429, headers=headers)).wait == wait
    response = SimpleNamespace(status_code=429, headers=headers)
    assert failed(raised(response=response)).wait == wait


def test_an_exception_is_read_with_its_causes() -> None:
    """Eight causes of an exception are read, and a suppressed context is not."""
    chain = [Exception(str(n)) for n in range(10)]
    for outer, inner in pairwise(chain):
        outer.__cause__ = inner
    assert [str(each) for each in links(chain[0])] == list("01234567")
    outer, inner = Exception("outer"), Exception("inner")
    outer.__context__ = inner
    assert [*links(outer)] == [outer, inner]
    outer.__suppress_context__ = True
    assert [*links(outer)] == [outer]
    assert [*links(None)] == []
    wrapped = Exception("wrapped")
    wrapped.__cause__ = raised(status_code=500)
    assert is_server_error(wrapped)
    assert failed(wrapped) == Completion("", failure=Failure.SERVER, detail="Exception: wrapped")
    assert not is_server_error(raised(status_code=503))
    assert not failed_grammar(wrapped)


@pytest.mark.parametrize(
    ("attributes", "field"),
    [
        ({"param": "temperature"}, "temperature"),
        ({"param": "messages[0].content"}, "messages"),
        ({"param": "other"}, ""),
        ({"param": None, "body": "'top_p' is not supported"}, "top_p"),
        ({"body": "the other field"}, ""),
    ],
)
def test_the_field_that_an_error_names(attributes: Any, field: str) -> None:
    """An error names a field of the request by its parameter, or in its message."""
    assert named_field(raised(**attributes), ("temperature", "messages", "top_p")) == field


def body_of(size: int, status: int = 200, encoding: str = "identity") -> bytes:
    """Return the body that is read of a reply of some bytes."""

    class Response:
        status_code = status
        headers: ClassVar = {"content-encoding": encoding}

        async def aiter_raw(self) -> AsyncIterator[bytes]:
            yield b"x" * (size - 1)
            yield b"y"

    return asyncio.run(_content(Response()))


def test_the_size_of_a_reply_is_bounded() -> None:
    """A reply of the most bytes is read, a larger one is refused, and an error's body is cut."""
    assert len(body_of(MOST_BYTES)) == MOST_BYTES
    with pytest.raises(ReplyError) as raised:
        body_of(MOST_BYTES + 1)
    assert raised.value.failure is Failure.TOO_LARGE
    assert str(raised.value) == f"it has more than {MOST_BYTES:,} bytes"
    assert body_of(MOST_ERROR_BYTES, 500)[-1:] == b"y"
    assert body_of(MOST_ERROR_BYTES + 1, 500) == b"x" * MOST_ERROR_BYTES
    assert body_of(9, 400, "gzip") == b""
    with pytest.raises(ReplyError, match="its encoding was not asked for: gzip"):
        body_of(9, 200, "GZIP")


def test_a_parameter_without_a_value_may_be_a_secret() -> None:
    """The values of an address's parameters are hidden; without a value, the name is."""
    hide_url("https://h.example/x?zq8s3cretvalue77")
    hide_url("https://h.example/x?key=zq9s3cretvalue77&word")
    assert redacted("zq8s3cretvalue77 zq9s3cretvalue77 key word") == (
        "[redacted] [redacted] key word"
    )
