"""Killed runs and concurrent runs lose no finished answer, and pay for no answer twice."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.run.ledgers import answers_in

CONCURRENCY = 8
SAMPLES = 120
# The run takes a judging for each sample, and a split for each question.
CALLS = SAMPLES + SAMPLES // 2

PROGRAM = f"""
import asyncio, http.client, json, sys
from fullrecall import ClaimRecall, LLMJudge, Sample, evaluate
from fullrecall.judge.models import Completion

port, store, report = sys.argv[1:]

class Loopback:
    name = "loopback"

    def complete(self, request):
        body = json.dumps([m.content for m in request.messages])
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
        connection.request("POST", "/", body, {{"Content-Type": "application/json"}})
        text = connection.getresponse().read().decode()
        connection.close()
        return Completion(text, len(body), len(text))

    async def acomplete(self, request):
        return await asyncio.to_thread(self.complete, request)

samples = [
    Sample(
        user_input=f"Where is tower {{n // 2}}?",
        retrieved_contexts=[f"Tower {{n // 2}} is in text {{n}}.", "Another one."],
        reference=f"Tower {{n // 2}} is in a text. Tower {{n // 2}} is tall.",
    )
    for n in range({SAMPLES})
]
run = evaluate(
    samples, ClaimRecall(judge=LLMJudge(Loopback())), store=store or None,
    max_concurrency={CONCURRENCY}, retries=0, progress=False,
)
run.save(report)
print(json.dumps(run.spent.to_dict()))
"""


class Server:
    """A server that counts requests by content, and starts the program that sends them."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port = port
        self.folder = folder
        self.asked: Counter[str] = Counter()
        self.changed = threading.Condition()
        self.open = 0

    def take(self, body: str) -> str:
        """Count a request and answer it, a little later."""
        with self.changed:
            self.asked[body] += 1
            self.changed.notify_all()
        time.sleep(0.01)
        _, user = json.loads(body)
        lines = user.splitlines()
        if lines[1].startswith("text: "):
            return json.dumps({"items": re.findall(r"Tower [^.]*\.", lines[1])})
        quote = json.loads(lines[lines.index("contexts:") + 1].split(" ", 1)[1])
        first, second = (
            json.loads(line.split(" ", 1)[1]) for line in lines[lines.index("claims:") + 1 :]
        )
        supported = {
            "id": 1, "begins": first, "citations": [{"context": 1, "quote": quote}],
            "together": False, "verdict": "supported",
        }  # fmt: skip
        other = {
            "id": 2, "begins": second, "citations": [], "together": False,
            "verdict": "not_supported",
        }  # fmt: skip
        return json.dumps({"verdicts": [supported, other]})

    def wait_for(self, count: int, process: subprocess.Popen[str]) -> None:
        """Wait until `count` requests came in total, or the process has ended."""
        with self.changed:
            while self.asked.total() < count and process.poll() is None:
                self.changed.wait(0.05)

    def settle(self) -> None:
        """Wait until all earlier requests of any process are counted."""
        # Connections are accepted in order: once this one is, all of a killed process are.
        last = HTTPConnection("127.0.0.1", self.port)
        last.request("GET", "/")
        last.getresponse().read()
        last.close()
        with self.changed:
            assert self.changed.wait_for(lambda: not self.open, timeout=60)

    def start(self, store: Path | str, report: str) -> subprocess.Popen[str]:
        """Start the program."""
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(self.port), str(store), str(self.folder / report)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, process: subprocess.Popen[str], report: str) -> tuple[dict[str, Any], bytes]:
        """Return the spending of a process, and its saved report."""
        out, problems = process.communicate(timeout=600)
        assert process.returncode == 0, problems
        assert not problems
        return json.loads(out), (self.folder / report).read_bytes()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Serve on a free loopback port until the test ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:
                return  # The process was killed during its request, which does not count.
            payload = served.take(body.decode()).encode()
            with suppress(ConnectionError):  # The process of the request was killed.
                self.send_response(200)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            pass

    class Listener(ThreadingHTTPServer):
        daemon_threads = True

        def process_request(self, request: Any, client_address: Any) -> None:
            with served.changed:
                served.open += 1
            super().process_request(request, client_address)

        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            with served.changed:
                served.open -= 1
                served.changed.notify_all()

    http = Listener(("127.0.0.1", 0), Handler)
    served = Server(http.server_port, tmp_path)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.mark.long
def test_killed_eight_times_the_run_ends_as_if_nothing_had_happened(server: Server) -> None:
    """Each of eight kills costs at most the requests in flight; the report is byte-equal."""
    _, whole = server.finish(server.start("", "whole.jsonl"), "whole.jsonl")
    assert server.asked.total() == len(server.asked) == CALLS
    server.asked.clear()

    store = server.folder / "runs.sqlite"
    chance = random.Random(6)
    in_flight = []
    for _ in range(8):
        process = server.start(store, "killed.jsonl")
        server.wait_for(server.asked.total() + chance.randint(1, 14), process)
        time.sleep(chance.random() * 0.02)
        assert process.poll() is None, "it ended before it was killed: there is too little to do"
        process.kill()
        process.communicate()
        server.settle()
        kept = len(answers_in(store)) if store.exists() else 0
        in_flight.append(len(server.asked) - kept)
        assert 0 <= in_flight[-1] <= CONCURRENCY
    spent, resumed = server.finish(server.start(store, "killed.jsonl"), "killed.jsonl")

    assert resumed == whole
    assert len(server.asked) == CALLS
    assert sum(in_flight) > 0
    assert server.asked.total() - CALLS <= sum(in_flight)
    assert spent["reused"] > 0
    spent, again = server.finish(server.start(store, "again.jsonl"), "again.jsonl")
    assert (spent["calls"], again) == (0, whole)


def test_two_processes_share_a_store(server: Server) -> None:
    """Two processes on one store make the same report, keep each answer once, and no lock fails."""
    store = server.folder / "runs.sqlite"
    processes = [server.start(store, f"{name}.jsonl") for name in "ab"]
    (_, first), (_, second) = (
        server.finish(process, f"{name}.jsonl")
        for process, name in zip(processes, "ab", strict=True)
    )
    assert first == second
    assert len(server.asked) == CALLS
    assert server.asked.total() <= 2 * CALLS
    assert len(answers_in(store)) == CALLS
    calls = server.asked.total()
    spent, third = server.finish(server.start(store, "c.jsonl"), "c.jsonl")
    assert (spent["calls"], third) == (0, first)
    assert server.asked.total() == calls
