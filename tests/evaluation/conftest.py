"""A loopback endpoint that speaks the OpenAI protocol and breaks it for chosen samples."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Fault = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request; a fault answers it in its own way."""

    protocol_version = "HTTP/1.1"
    endpoint: FaultyEndpoint

    def do_POST(self) -> None:
        """Answer rightly, or with the fault that is due."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = body["messages"][-1]["content"]
        self.number = int(re.findall(r"Claim (\d+)", words)[0])
        claims = re.findall(r"^(\d+) \"(Claim.*)\"$", words, re.MULTILINE)
        self.begins = {int(place): claim for place, claim in claims}
        self.asked = list(self.begins)
        fault = self.endpoint.due(self.number)
        if fault is not None:
            fault(self)
        else:
            self.say(self.right())

    def send(self, status: int, payload: bytes, **headers: str) -> None:
        """Send a whole response."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(payload)

    def say(self, content: str | None, *, finish: str = "stop", refusal: str | None = None) -> None:
        """Send a chat completion with this message."""
        self.send(200, self.completion(content, finish=finish, refusal=refusal))

    def completion(
        self, content: str | None, *, finish: str = "stop", refusal: str | None = None
    ) -> bytes:
        """Return the body of a chat completion; to Anthropic's client, that of a message."""
        if self.path.startswith("/v1/messages"):
            text = {"type": "text", "text": content}
            return json.dumps(
                {
                    "id": "m",
                    "type": "message",
                    "role": "assistant",
                    "model": "m",
                    "content": [text] if content else [],
                    "stop_reason": "refusal" if refusal else "end_turn",
                    "usage": {"input_tokens": 11, "output_tokens": 5},
                }
            ).encode()
        message = {"role": "assistant", "content": content, "refusal": refusal}
        body: dict[str, Any] = {
            "id": "c", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
        }  # fmt: skip
        return json.dumps(body).encode()

    def right(self, more: int = 0) -> str:
        """Return the right answer: of the two claims, as many as `number % 3` are supported.

        `more` verdicts are given than there are claims to judge, or less where it is negative.
        """
        supported = {
            "verdict": "supported", "together": False,
            "citations": [{"context": 1, "quote": "what the context says"}],
        }  # fmt: skip
        missing = {"verdict": "not_supported", "citations": [], "together": False}
        last = self.asked[-1]
        places = [*self.asked, *range(last + 1, last + 1 + more)][: len(self.asked) + more]
        given = [
            {
                "id": place,
                "begins": self.begins.get(place, "Claim"),
                **(supported if place <= self.number % 3 else missing),
            }
            for place in places
        ]
        return json.dumps({"verdicts": given})

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class FaultyEndpoint:
    """Which samples are struck by which fault, once or always, and how often each has asked."""

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: Counter[int] = Counter()
        self.released = threading.Event()
        self._fault: Fault | None = None
        self._struck: frozenset[int] = frozenset()
        self._always = False
        self._lock = threading.Lock()

    def strikes(self, fault: Fault, struck: frozenset[int], *, always: bool) -> None:
        """Answer the struck samples with the fault: always, or the first time that they ask."""
        self._fault, self._struck, self._always = fault, struck, always

    def is_due(self, number: int) -> bool:
        """Return whether the next request of this sample gets the fault."""
        with self._lock:
            first = self.requests[number] == 0
        return number in self._struck and (first or self._always)

    def due(self, number: int) -> Fault | None:
        """Return the fault that a request of this sample gets, None for a right answer."""
        with self._lock:
            self.requests[number] += 1
            first = self.requests[number] == 1
        return self._fault if number in self._struck and (first or self._always) else None


@pytest.fixture
def faulty() -> Iterator[FaultyEndpoint]:
    """Serve on a free loopback port until the test ends."""
    endpoint = FaultyEndpoint()
    handler = type("Handler", (Exchange,), {"endpoint": endpoint})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        endpoint.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
