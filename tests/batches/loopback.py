"""An endpoint on loopback that judges, limits its rate, and counts."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from tests.judge.scripted import quoting, reply
from tests.openai_protocol import Exchange, completion, serving


@dataclass
class Endpoint:
    """A judge on loopback that speaks the OpenAI protocol, and counts the requests of each text.

    `keys` are the API keys that the requests had.
    Requests faster than `rate` per second are turned away, and counted in `turned_away`.
    """

    base_url: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    on_request: Callable[[int], object] = lambda _: None
    rate: float | None = None
    turned_away: int = 0
    keys: set[str] = field(default_factory=set)
    _due: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def requests(self) -> int:
        """The number of requests, including those turned away."""
        return self.asked.total() + self.turned_away

    def is_full(self) -> bool:
        """Whether a request comes faster than `rate` per second, with ten at a time."""
        if self.rate is None:
            return False
        with self._lock:
            now = time.monotonic()
            due = max(self._due, now - 10 / self.rate)
            full = due > now
            if not full:
                self._due = due + 1 / self.rate
            self.turned_away += full
        return full

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return verdicts that depend on the request alone."""
        user = body["messages"][1]["content"]
        with self._lock:
            self.asked[user] += 1
            number = self.asked.total()
        self.on_request(number)
        time.sleep(self.seconds)
        shown, lines = (user.split(f"{part}:\n")[1].splitlines() for part in ("contexts", "claims"))
        number, text = shown[0].split(" ", 1)  # a claim may be judged on one context of several
        quoted = (int(number), json.loads(text))
        begins = {place: json.loads(line.split(" ", 1)[1]) for place, line in enumerate(lines, 1)}
        verdicts = [
            quoting(place, "supported", quoted, begins=claim)
            if place <= crc32(user.encode()) % 3
            else quoting(place, "not_supported", begins=claim)
            for place, claim in begins.items()
        ]
        return completion(reply(*verdicts))


@contextmanager
def served() -> Iterator[Endpoint]:
    """Serve on a free loopback port."""
    started = Endpoint()

    class Handler(Exchange):
        def respond(self, body: Any) -> None:
            started.keys.add(self.headers["Authorization"])
            if started.is_full():
                self.send(429, b'{"error": "slow down"}', Retry_After="1")
            else:
                self.send(200, json.dumps(started.answer(body)).encode())

    with serving(Handler) as started.base_url:
        yield started
