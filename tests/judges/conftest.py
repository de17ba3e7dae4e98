"""A real HTTP endpoint on loopback that speaks the OpenAI protocol, scripted by the test."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Reply = tuple[int, Any]


class Endpoint:
    """The endpoint's address, the requests that it got, and the script that answers them."""

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


def completion(
    content: str | None, *, finish: str = "stop", refusal: str | None = None
) -> dict[str, Any]:
    """Return the body of a chat completion."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
    }


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Serve on a free loopback port until the test ends."""
    served = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append(body)
            served.paths.append(self.path)
            served.headers.append({k.lower(): v for k, v in self.headers.items()})
            status, answer = served.script(body)
            payload = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    served.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
