"""A server for tests on loopback, and its replies in the OpenAI protocol."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


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


class Exchange(BaseHTTPRequestHandler):
    """One request, without a log."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Respond to the request."""
        self.respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def respond(self, body: Any) -> None:
        """Send a response to this body."""
        raise NotImplementedError

    def send(self, status: int, payload: bytes, **headers: str) -> None:
        """Send a whole response."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class Server(ThreadingHTTPServer):
    """A server that ends with its test, and ignores clients that disconnect."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect, since tests kill clients."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a free loopback port; yield the base URL."""
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
