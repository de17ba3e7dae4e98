"""Faults of an endpoint for one request: in texts, envelopes, transports, and statuses."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

Exchange = Any  # of conftest.py
Fault = Callable[[Exchange], None]


class Case(NamedTuple):
    """A fault, whether it hangs, and whether it is an odd but right answer."""

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
    """Answer with this status and `size` zeros, compressed."""
    return Case(
        lambda exchange: exchange.send(code, bomb(encoding, size), Content_Encoding=encoding)
    )


def status(code: int, body: bytes = b'{"error": {"message": "no"}}', **headers: str) -> Case:
    """Answer with an HTTP status."""
    return Case(lambda exchange: exchange.send(code, body, **headers))


def raw(*pieces: bytes, forever: bool = False, pause: float = 0.0) -> Case:
    """Write raw bytes, with `forever` the last piece again and again; then close."""

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
            return  # The client stopped reading.

    return Case(fault, hangs=forever and pause > 0)


def right_but(**changes: Any) -> Case:
    """Answer correctly in an odd envelope."""

    def fault(exchange: Exchange) -> None:
        body = json.loads(exchange.completion(exchange.right()))
        exchange.send(200, json.dumps({**body, **changes}).encode())

    return Case(fault, answers=True)


def encoded(encoding: str, encode: Callable[[bytes], bytes]) -> Case:
    """Answer correctly, in a content encoding that was not requested."""

    def fault(exchange: Exchange) -> None:
        body = encode(exchange.completion(exchange.right()))
        exchange.send(200, body, Content_Encoding=encoding)

    return Case(fault)


def typed(kind: str) -> Case:
    """Answer correctly, with another content type."""

    def fault(exchange: Exchange) -> None:
        payload = exchange.completion(exchange.right())
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(payload)}\r\n\r\n"
        exchange.wfile.write(head.encode() + payload)

    return Case(fault, answers=True)


def hangs(exchange: Exchange) -> None:
    """Send nothing until the test is over."""
    exchange.close_connection = True
    exchange.endpoint.released.wait(60)


def chunked(exchange: Exchange) -> None:
    """Answer correctly, in chunks of seven bytes."""
    payload = exchange.completion(exchange.right())
    pieces = [payload[n : n + 7] for n in range(0, len(payload), 7)]
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    exchange.wfile.write(head + body)


def until_closed(exchange: Exchange) -> None:
    """Answer correctly, without a length: the body ends with the connection."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    exchange.wfile.write(head + exchange.completion(exchange.right()))
    exchange.close_connection = True


def shortened(exchange: Exchange) -> None:
    """Answer correctly, with too short a length."""
    payload = exchange.completion(exchange.right())
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n" + payload)
    exchange.close_connection = True


@cache
def bomb(encoding: str, size: int) -> bytes:
    """Return `size` zeros, as gzip or deflate: seconds of work, so only when a test needs them."""
    packer = zlib.compressobj(1, zlib.DEFLATED, {"gzip": 31, "deflate": 15}[encoding])
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(size >> 20)) + packer.flush()


def verdicts(citations: int, quote: str) -> str:
    """Return verdicts on both claims, each with this number of citations of the quote."""
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
BOMBS = {"gzip": 150 << 20, "deflate": 150 << 20}
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
    "usage beyond floats": right_but(
        usage={"prompt_tokens": 10**400, "completion_tokens": -(10**400)}
    ),
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
    "gzip": encoded("gzip", gzip.compress),
    "deflate": encoded("deflate", zlib.compress),
    "an encoding nobody asked for": encoded("br", lambda body: body),
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
