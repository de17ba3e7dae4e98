"""Hostile replies and transports, over real HTTP with the official client: one sample is struck.

Whatever the endpoint does to it, the other samples are right, the event loop is never blocked,
memory is bounded, and the run ends.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import resource
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fullrecall import ClaimRecall, LLMJudge, Report, Sample, evaluate
from fullrecall.models.anthropic import AnthropicChatModel
from fullrecall.models.openai import OpenAIChatModel
from fullrecall.models.remote_model import RemoteModel
from fullrecall.models.retries import Retries

Exchange = FaultyEndpoint = Any  # of conftest.py
Fault = Callable[[Exchange], None]

STRUCK = 4
SAMPLES = [
    Sample(
        user_input=f"Question {number}?",
        retrieved_contexts=[f"This is what the context says of {number}.", "Nothing."],
        reference_claims=[f"Claim {number} is the first.", f"Claim {number} is the second."],
    )
    for number in range(9)
]
RIGHT = [(number % 3) / 2 for number in range(9)]
PATIENCE = 3.0
"""Seconds for one request of a fault that hangs; on a busy machine the others need some too."""

TIMEOUT = 60.0
"""Seconds for one request of any other."""

LONGEST_BLOCK = 0.05
"""Seconds of CPU that the loop's thread may spend in one turn of the loop, with all its callbacks.
CPU, since of the clock others take a part."""

GRACE = 1.0
"""Seconds that a run may go on after the timeout of its last request."""

TRIES = 3
"""How often a case is tried until it keeps to its bounds: what a reply costs, it costs each time,
and whoever else runs takes a part of the caches, and not the same one each time."""

MOST_MEMORY = 100 << 20
"""Bytes that one hostile reply may add to the process."""


class Case(NamedTuple):
    """A fault; whether it hangs; whether it is odd but answers, so that the sample is right."""

    fault: Fault
    hangs: bool = False
    answers: bool = False


def says(text: str, **told: Any) -> Case:
    """Answer with this text."""
    return Case(lambda exchange: exchange.say(text, **told))


def replies(body: object, *, answers: bool = False) -> Case:
    """Answer with this JSON body."""
    return Case(lambda exchange: exchange.send(200, json.dumps(body).encode()), answers=answers)


def sends(payload: bytes, **headers: str) -> Case:
    """Answer with these bytes."""
    return Case(lambda exchange: exchange.send(200, payload, **headers))


def explodes(code: int, encoding: str, size: int) -> Case:
    """Answer with this status and so many zeros, compressed."""
    return Case(
        lambda exchange: exchange.send(code, bomb(encoding, size), Content_Encoding=encoding)
    )


def status(code: int, body: bytes = b'{"error": {"message": "no"}}', **headers: str) -> Case:
    """Answer with an HTTP status."""
    return Case(lambda exchange: exchange.send(code, body, **headers))


def raw(*pieces: bytes, forever: bool = False, pause: float = 0.0) -> Case:
    """Write bytes as they are, the last one again and again if it is forever; then close."""

    def fault(exchange: Exchange) -> None:
        exchange.close_connection = True
        try:
            for piece in pieces:
                exchange.wfile.write(piece)
                exchange.wfile.flush()
            while forever and not exchange.endpoint.released.wait(pause):
                exchange.wfile.write(pieces[-1])
                exchange.wfile.flush()
        except OSError:
            return  # the client has had enough

    return Case(fault, hangs=forever and pause > 0)


def right_but(**changes: Any) -> Case:
    """Answer rightly in an odd envelope."""

    def fault(exchange: Exchange) -> None:
        body = json.loads(exchange.completion(exchange.right()))
        exchange.send(200, json.dumps({**body, **changes}).encode())

    return Case(fault, answers=True)


def encoded(encoding: str, encode: Callable[[bytes], bytes], *, answers: bool = True) -> Case:
    """Answer rightly, in a content encoding."""

    def fault(exchange: Exchange) -> None:
        body = encode(exchange.completion(exchange.right()))
        exchange.send(200, body, Content_Encoding=encoding)

    return Case(fault, answers=answers)


def typed(kind: str) -> Case:
    """Answer rightly, under another content type."""

    def fault(exchange: Exchange) -> None:
        payload = exchange.completion(exchange.right())
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(payload)}\r\n\r\n"
        exchange.wfile.write(head.encode() + payload)

    return Case(fault, answers=True)


def hangs(exchange: Exchange) -> None:
    """Say nothing until the test is over."""
    exchange.close_connection = True
    exchange.endpoint.released.wait(60)


def chunked(exchange: Exchange) -> None:
    """Answer rightly, in chunks of seven bytes."""
    payload = exchange.completion(exchange.right())
    pieces = [payload[n : n + 7] for n in range(0, len(payload), 7)]
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    exchange.wfile.write(head + body)


def until_closed(exchange: Exchange) -> None:
    """Answer rightly, without a length: the end is where the connection ends."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    exchange.wfile.write(head + exchange.completion(exchange.right()))
    exchange.close_connection = True


def shortened(exchange: Exchange) -> None:
    """Answer rightly, and say that it is shorter than it is."""
    payload = exchange.completion(exchange.right())
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n" + payload)
    exchange.close_connection = True


@cache
def bomb(encoding: str, size: int) -> bytes:
    """Return so many zeros, as gzip or deflate: seconds of work, so only when a test needs them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, {"gzip": 31, "deflate": 15}[encoding])
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(size >> 20)) + packer.flush()


def verdicts(citations: int, quote: str) -> str:
    """Return verdicts on both claims, each with so many citations of this quote."""
    cited = [{"context": n % 2 + 1, "quote": f"{quote}{n}"} for n in range(citations)]
    return json.dumps(
        {
            "verdicts": [
                {"id": n, "verdict": "not_supported", "together": False, "citations": cited}
                for n in (1, 2)
            ]
        }
    )


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BOMBS = {"gzip": 400 << 20, "deflate": 200 << 20}
VERDICT = '{"id": 1, "verdict": "supported", "together": false, "citations": []}'

TEXTS = {
    "6,000 brackets": says("[1," * 6_000),
    "20,000 braces": says('{"a":' * 20_000),
    "nested by twos": says("[1,[1," * 4_000),
    "a bracket storm": says("{[" * 90_000),
    "commas and brackets": says('{"verdicts": [' + "1,]" * 50_000),
    "objects after braces": says('{{"id":1}' * 20_000),
    "lists in open objects": says("[{}</think>{" * 7_000),
    "commas before brackets": says("[1,]" * 40_000),
    "a long quote": says(verdicts(1, "what the context says of " * 7_000)),
    "many quotes": says(verdicts(400, "what the context says of, too ")),
    "many long quotes": says(verdicts(100, "what the contexts say of " * 14)),
    "5,000 verdicts": says('{"verdicts": [' + ", ".join([VERDICT] * 2_500) + "]}"),
    "5,000 different verdicts": says(
        json.dumps({"verdicts": [{"id": n, "verdict": "supported"} for n in range(4_000)]})
    ),
    "200,000 verdicts": says('{"verdicts": [' + ", ".join([VERDICT] * 200_000) + "]}"),
    "a long text": says("word " * 38_000),
    "a text beyond the bound": says("word " * 60_000),
    "spaces": says(" " * 190_000 + "x"),
    "backslashes": says('{"verdicts": "' + "\\" * 180_001),
    "quotation marks": says('"' * 190_000),
    "fences": says("```json\n" * 20_000),
    "thoughts in thoughts": says("<think>" * 25_000),
    "thoughts without end": says("<think>" + "hm " * 60_000),
    "NUL and controls": says("".join(map(chr, range(32))) * 1_000),
    "half a surrogate pair": says("\ud800" * 1_000),
    "bidirectional marks": says("\u202e\u2066\u200b" * 10_000),
    "no numbers": says('{"verdicts": [{"id": NaN, "verdict": "supported"}, {"id": Infinity}]}'),
    "a number of 100,000 digits": says('{"verdicts": [{"id": ' + "9" * 100_000 + "}]}"),
    "ids of every kind": says(
        json.dumps(
            {"verdicts": [{"id": i} for i in (1.5, "1", True, None, [], {}, -1, 0, 10**30, "x")]}
        )
    ),
    "citations of every kind": says(
        json.dumps(
            {
                "verdicts": [
                    {"id": n, "verdict": "supported", "citations": cited}
                    for n, cited in ((1, "all"), (2, {"context": 1}))
                ]
            }
        )
    ),
    "10,000 citations": says(
        json.dumps({"verdicts": [{"id": 1, "citations": [{"context": 1}] * 8_000}]})
    ),
    "a web page": says("<html><body>busy</body></html>" * 1_000),
    "entities": says('<!DOCTYPE x [<!ENTITY a "' + "&b;" * 10_000 + '">]>'),
}

ENVELOPES = {
    "a top level of brackets": sends(b"[" * 100_000),
    "a deep top level": sends(b'{"choices":' * 50_000),
    "2 MB of empty lists": sends(b"[" + b"[]," * 690_000 + b"0]"),
    "a number too long": sends(b'{"choices": ' + b"9" * 10_000 + b"}"),
    "no choices": replies({"choices": []}),
    "choices by name": replies({"choices": {"0": 1}}),
    "no message": replies({"choices": [{"message": None}]}),
    "a content of parts": replies({"choices": [{"message": {"content": [{"text": "x"}]}}]}),
    "a stop of another kind": replies(
        {"choices": [{"message": {"content": "{}"}, "finish_reason": ["stop"]}]}
    ),
    "a long refusal": replies(
        {"choices": [{"message": {"content": "", "refusal": "no " * 100_000}}]}
    ),
    "an error with status 200": replies({"error": {"message": "x" * 100_000}}),
    "UTF-16": sends('{"choices": []}'.encode("utf-16")),
    "usage in words": right_but(usage={"prompt_tokens": "many", "completion_tokens": "5"}),
    "usage as a list": right_but(usage=[1, 2]),
    "negative usage": right_but(usage={"prompt_tokens": -5, "completion_tokens": -5}),
    "usage that is no number": right_but(
        usage={"prompt_tokens": float("nan"), "completion_tokens": float("inf")}
    ),
    "huge usage": right_but(usage={"prompt_tokens": 2**63, "completion_tokens": 10**300}),
    "usage as floats": right_but(usage={"prompt_tokens": 100.0, "completion_tokens": 5.0}),
}

TRANSPORTS = {
    "a gzip bomb": explodes(200, "gzip", BOMBS["gzip"]),
    "a gzip bomb of members": sends(gzip.compress(bytes(1 << 20)) * 300, Content_Encoding="gzip"),
    "a deflate bomb": explodes(200, "deflate", BOMBS["deflate"]),
    "100 MB": raw(OK + b"Content-Length: 104857600\r\n\r\n", b"x" * 65_536, forever=True),
    "chunks without end": raw(
        OK + b"Transfer-Encoding: chunked\r\n\r\n",
        b"1000\r\n" + b"x" * 4096 + b"\r\n",
        forever=True,
    ),
    "a body that drips": raw(OK + b"Content-Length: 9999\r\n\r\n", b" ", forever=True, pause=0.05),
    "headers that drip": raw(OK, b"X-A: b\r\n", forever=True, pause=0.05),
    "a status line that drips": raw(b"HTTP/1.1 200 ", b"O", forever=True, pause=0.05),
    "silence": Case(hangs, hangs=True),
    "a body that stops": Case(
        lambda exchange: (
            exchange.wfile.write(OK + b"Content-Length: 9999\r\n\r\n{"),
            hangs(exchange),
        )[0],
        hangs=True,
    ),
    "nothing": raw(b""),
    "no HTTP": raw(b"\x16\x03\x01\x02\x00" * 100),
    "half a header": raw(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "a broken body": raw(OK + b"Content-Length: 9999\r\n\r\n{"),
    "a negative length": raw(OK + b"Content-Length: -1\r\n\r\n{}"),
    "two lengths": raw(OK + b"Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}"),
    "a length of words": raw(OK + b"Content-Length: many\r\n\r\n{}"),
    "a bad chunk": raw(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    "a huge chunk": raw(OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}"),
    "a header of 1 MB": raw(OK + b"X-A: " + b"b" * (1 << 20) + b"\r\n\r\n"),
    "30,000 headers": raw(OK + b"X-A: b\r\n" * 30_000 + b"\r\n"),
    "1,000 times 100 Continue": raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000),
    "status 999": raw(b"HTTP/1.1 999 What\r\nContent-Length: 2\r\n\r\n{}"),
    "status 204": raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "too short a length": Case(shortened),
    "gzip that is none": encoded("gzip", lambda body: body, answers=False),
    "gzip cut off": encoded("gzip", lambda body: gzip.compress(body)[:-20], answers=False),
    "gzip damaged": encoded(
        "gzip", lambda body: gzip.compress(body)[:30] + b"\xff" * 60, answers=False
    ),
    "an encoding nobody asked for": encoded("br", lambda body: body, answers=False),
    "gzip": encoded("gzip", gzip.compress),
    "gzip in two members": encoded(
        "gzip", lambda body: gzip.compress(body[:50]) + gzip.compress(body[50:])
    ),
    "deflate": encoded("deflate", zlib.compress),
    "raw deflate": encoded("deflate", lambda body: zlib.compress(body)[2:-4]),
    "chunked": Case(chunked, answers=True),
    "until the end": Case(until_closed, answers=True),
    "JSON as text": typed("text/plain"),
    "JSON as a web page": typed("text/html; charset=utf-8"),
    "JSON of another charset": typed("application/json; charset=utf-16"),
    "JSON without a type": typed(""),
}

STATUSES = {
    "400 at length": status(400, json.dumps({"error": {"message": "x" * (1 << 20)}}).encode()),
    "500 with a bomb": explodes(500, "gzip", BOMBS["gzip"]),
    "500 as a page": status(500, b"<html>" * 100_000),
    "418": status(418),
    "301 to itself": status(301, b"", Location="/v1/chat/completions"),
    "302 to a file": status(302, b"", Location="file:///etc/passwd"),
    "303 without a place": status(303, b""),
    "429 for ages": status(429, b"{}", Retry_After="1e308"),
    "429 for less than nothing": status(429, b"{}", Retry_After="-1"),
    "429 for no number": status(429, b"{}", Retry_After="NaN"),
    "429 until the year 9999": status(429, b"{}", Retry_After="Fri, 31 Dec 9999 23:59:59 GMT"),
    "an error of another kind": status(400, b'["not", {"an": "object"}]'),
    "an error that is no UTF-8": status(400, b"\xff\xfe\xfd" * 100),
}

CASES = TEXTS | ENVELOPES | TRANSPORTS | STATUSES


BY_ANTHROPIC = (
    "a gzip bomb", "100 MB", "chunks without end", "a body that drips", "silence", "nothing",
    "too short a length", "gzip damaged", "gzip in two members", "chunked", "JSON as a web page",
    "2 MB of empty lists", "a deep top level", "a number too long", "no choices", "many quotes",
    "objects after braces", "400 at length", "500 with a bomb", "301 to itself", "429 for ages",
)  # fmt: skip
"""What the other client meets, too: it goes through the same door."""


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note the CPU that each turn of an event loop takes of its thread."""
    blocks: list[float] = []
    turn = asyncio.BaseEventLoop._run_once  # type: ignore[attr-defined]

    def timed(loop: asyncio.BaseEventLoop) -> None:
        began = time.thread_time()
        try:
            turn(loop)
        finally:
            blocks.append(time.thread_time() - began)

    monkeypatch.setattr(asyncio.BaseEventLoop, "_run_once", timed)
    return blocks


def clock() -> float:
    """Return seconds in which this thread ran or waited for something other than a processor.

    Where the system does not say how long it waited for one, these are the seconds of the clock.
    """
    try:
        queued = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        queued = 0
    return time.monotonic() - queued / 1e9


def model_of(faulty: FaultyEndpoint, client: type[RemoteModel] = OpenAIChatModel) -> RemoteModel:
    """Return a model of the endpoint."""
    own = faulty.base_url.removesuffix("/v1") if client is AnthropicChatModel else faulty.base_url
    return client("m", base_url=own)


def timeout_of(case: Case) -> float:
    """Return the seconds that one request of a case may take."""
    return PATIENCE if case.hangs else TIMEOUT


def judged(model: RemoteModel, case: Case) -> Report:
    """Return the report of all samples, with short waits."""
    retries = Retries(0 if case.hangs else 2, first_wait=0.001, longest_wait=0.05)
    return evaluate(
        SAMPLES, ClaimRecall(judge=LLMJudge(model, reasks=1)), retries=retries,
        timeout=timeout_of(case), progress=False,
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _everything_at_hand() -> Iterator[None]:
    """What a first request imports is imported before any is timed, and bombs are made.

    What the tests before left in memory is no garbage that these ones make: collecting it takes
    longer than any of them.
    """
    for model in (
        OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1"),
        AnthropicChatModel("m", base_url="http://127.0.0.1:9"),
    ):
        ClaimRecall(judge=LLMJudge(model)).score(SAMPLES[0])
        model.close()
    for encoding, size in BOMBS.items():
        bomb(encoding, size)
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_there_are_enough_cases() -> None:
    """The battery is what it says."""
    assert len(CASES) >= 60


@pytest.mark.parametrize(
    ("client", "name"),
    [(OpenAIChatModel, name) for name in CASES]
    + [(AnthropicChatModel, name) for name in BY_ANTHROPIC],
)
def test_only_the_struck_sample_suffers(
    faulty: FaultyEndpoint, blocks: list[float], client: type[RemoteModel], name: str
) -> None:
    """The others are right; the loop turns, memory is bounded, the reason is short."""
    case = CASES[name]
    faulty.strikes(case.fault, frozenset({STRUCK}), always=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(TRIES):
        blocks.clear()
        began = clock()
        report = judged(model_of(faulty, client), case)
        over = clock() - began - timeout_of(case)
        scores = [row.results[0].score for row in report]
        others = [score for number, score in enumerate(scores) if number != STRUCK]
        assert others == RIGHT[:STRUCK] + RIGHT[STRUCK + 1 :]
        result = report.rows[STRUCK].results[0]
        assert result.score == (RIGHT[STRUCK] if case.answers else None), result.reason
        assert len(result.reason) < 1_000
        if max(blocks) < LONGEST_BLOCK and over < GRACE:
            break
    assert max(blocks) < LONGEST_BLOCK
    assert over < GRACE
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert grown * (1 if sys.platform == "darwin" else 1024) < MOST_MEMORY


def test_a_redirect_takes_neither_question_nor_key_elsewhere(faulty: FaultyEndpoint) -> None:
    """Nobody is asked but the endpoint that the user named; the reason says what happened."""
    elsewhere: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            elsewhere.append(str(self.headers))

        do_GET = do_POST  # noqa: N815 - the server's name for it

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        for code in (301, 302, 303, 307, 308):
            place = f"http://127.0.0.1:{server.server_port}/v1/chat/completions?key={code}"
            case = status(code, b"", Location=place)
            faulty.strikes(case.fault, frozenset({STRUCK}), always=True)
            report = judged(model_of(faulty), case)
            assert "redirects to another address" in report.rows[STRUCK].results[0].reason
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert elsewhere == []


@pytest.mark.parametrize("name", ["a body that drips", "headers that drip", "silence"])
def test_score_keeps_to_the_timeout_too(faulty: FaultyEndpoint, name: str) -> None:
    """The sync path has the same bound on the whole request, however the bytes come."""
    faulty.strikes(CASES[name].fault, frozenset({STRUCK}), always=True)
    model = OpenAIChatModel("m", base_url=faulty.base_url, timeout=0.3)
    began = time.monotonic()
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLES[STRUCK])
    model.close()
    assert "timed out: no answer within 0.3 s" in result.reason
    assert time.monotonic() - began < 20, "twice its timeout, on a busy machine; a drip has no end"


@pytest.mark.parametrize("odd", [n for n, case in ENVELOPES.items() if "usage" in n])
def test_odd_usages_are_stored_and_served(faulty: FaultyEndpoint, tmp_path: Any, odd: str) -> None:
    """Whatever an endpoint says that it counted, an answer is paid once."""
    faulty.strikes(ENVELOPES[odd].fault, frozenset(range(9)), always=True)
    calls = []
    for _ in range(3):
        model = OpenAIChatModel("m", base_url=faulty.base_url)
        scorer = ClaimRecall(judge=LLMJudge(model), name=f"run{len(calls)}")
        report = evaluate(SAMPLES, scorer, store=tmp_path / "s", progress=False)
        assert [row.results[0].score for row in report] == RIGHT
        assert report.spent is not None
        calls.append(report.spent.calls)
    assert calls == [9, 0, 0]
