"""A real HTTP endpoint on loopback that speaks the OpenAI protocol, scripted by the test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.openai_protocol import Exchange, completion, serving

Reply = tuple[int, Any]


class Endpoint:
    """The endpoint's address, its requests so far, and the script that answers them."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.script: Callable[[dict[str, Any]], Reply] = lambda _: (500, {})
        self.base_url = ""

    def says(
        self, content: str | None, *, finish: str = "stop", refusal: str | None = None
    ) -> None:
        """Answer every request with this message."""
        self.script = lambda _: (200, completion(content, finish=finish, refusal=refusal))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Serve on a free loopback port until the test ends."""
    served = Endpoint()

    class Handler(Exchange):
        def respond(self, body: Any) -> None:
            served.requests.append(body)
            served.paths.append(self.path)
            served.headers.append({k.lower(): v for k, v in self.headers.items()})
            status, answer = served.script(body)
            self.send(status, json.dumps(answer).encode())

    with serving(Handler) as served.base_url:
        yield served
