"""A loopback endpoint that speaks the OpenAI protocol and breaks it for chosen samples."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import openai_protocol
from tests.judge.scripted import quoting, reply

Fault = Callable[["Exchange"], None]


class Exchange(openai_protocol.Exchange):
    """One request; a fault answers it in its own way."""

    endpoint: FaultyEndpoint

    def respond(self, body: Any) -> None:
        """Answer correctly, or with the fault that is due."""
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

    def say(self, content: str | None, *, finish: str = "stop", refusal: str | None = None) -> None:
        """Answer with a chat completion that has this message."""
        self.send(200, self.completion(content, finish=finish, refusal=refusal))

    def completion(
        self, content: str | None, *, finish: str = "stop", refusal: str | None = None
    ) -> bytes:
        """Return the body of a chat completion, or of a message for Anthropic's client."""
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
        body = openai_protocol.completion(content, finish=finish, refusal=refusal)
        return json.dumps(body).encode()

    def right(self, more: int = 0) -> str:
        """Return the right answer, by which `number % 3` of the two claims are supported.

        It has `more` verdicts than claims to judge, or fewer if `more` is negative.
        """
        supported = ("supported", (1, "what the context says"))
        last = self.asked[-1]
        places = [*self.asked, *range(last + 1, last + 1 + more)][: len(self.asked) + more]
        given = [
            quoting(
                place,
                *(supported if place <= self.number % 3 else ("not_supported",)),
                begins=self.begins.get(place, "Claim"),
            )
            for place in places
        ]
        return reply(*given)


class FaultyEndpoint:
    """An endpoint that gives faults to some samples, and counts the requests of each sample."""

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: Counter[int] = Counter()
        self.released = threading.Event()
        self._fault: Fault | None = None
        self._struck: frozenset[int] = frozenset()
        self._always = False
        self._lock = threading.Lock()

    def strikes(self, fault: Fault, struck: frozenset[int], *, always: bool) -> None:
        """Answer these samples with the fault: always, or for the first request only."""
        self._fault, self._struck, self._always = fault, struck, always

    def is_due(self, number: int) -> bool:
        """Return whether the next request of this sample gets the fault."""
        with self._lock:
            first = self.requests[number] == 0
        return number in self._struck and (first or self._always)

    def due(self, number: int) -> Fault | None:
        """Return the fault that a request of this sample gets; None for a correct answer."""
        with self._lock:
            self.requests[number] += 1
            first = self.requests[number] == 1
        return self._fault if number in self._struck and (first or self._always) else None


@pytest.fixture
def faulty() -> Iterator[FaultyEndpoint]:
    """Serve on a free loopback port until the test ends."""
    endpoint = FaultyEndpoint()
    handler = type("Handler", (Exchange,), {"endpoint": endpoint})
    with openai_protocol.serving(handler) as endpoint.base_url:
        try:
            yield endpoint
        finally:
            endpoint.released.set()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a directory that every user can reach."""
    made = Path(tempfile.mkdtemp())
    yield made
    made.chmod(0o700)
    shutil.rmtree(made)
