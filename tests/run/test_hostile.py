"""Hostile replies and transports affect one sample only, over real HTTP with the official client.

In every case, the other samples are right, the event loop is never blocked, memory is bounded, and
the run ends.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.run.hostile_replies import BOMBS, CASES, ENVELOPES, Case, bomb, status
from tests.run.patience import giving_up

from fullrecall import ClaimRecall, LLMJudge, Report, Sample, evaluate
from fullrecall.errors import RunStopped
from fullrecall.judge import AnthropicChatModel, OpenAIChatModel
from fullrecall.judge.models.remote_model import RemoteModel
from fullrecall.judge.models.retries import Retries

FaultyEndpoint = Any  # of conftest.py

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
PATIENCE = 0.5
"""Seconds after which a request is given up if its fault hangs."""

TIMEOUT = 60.0
"""Seconds for one request of any other case."""

LONGEST_BLOCK = 0.05
"""Seconds of CPU that the loop's thread may spend in one turn of the loop, with all its callbacks.
CPU time, since other processes take a part of the clock's."""

GRACE = 1.0
"""Seconds that a run may go on after the timeout of its last request."""

TRIES = 3
"""The most tries of a case until it stays within its bounds: a reply has the same cost each time,
but other processes disturb the caches in different ways."""

MOST_MEMORY = 100 << 20
"""Bytes that one hostile reply may add to the process."""

BY_ANTHROPIC = (
    "a gzip bomb", "100 MB", "chunks without end", "a body that drips", "silence", "nothing",
    "too short a length", "gzip", "chunked", "JSON as a web page",
    "2 MB of empty lists", "a deep top level", "a number too long", "no choices", "many quotes",
    "objects after braces", "400 at length", "500 with a bomb", "301 to itself", "429 for ages",
)  # fmt: skip
"""The cases for the other client too, whose requests take the same path."""


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the CPU seconds that each turn of an event loop takes in its thread."""
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
    """Return the seconds in which this thread ran or waited, except for a processor.

    If the system does not report the waits for a processor, return the seconds of the clock.
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
        SAMPLES,
        ClaimRecall(judge=LLMJudge(model, reasks=1)),
        retries=retries,
        timeout=None,
        progress=False,
    )


@pytest.fixture(scope="module", autouse=True)
def _everything_at_hand() -> Iterator[None]:
    """Import the modules of a first request and make the bombs, before any request is timed.

    Also freeze the memory of earlier tests: collecting their garbage takes longer than any of
    these tests.
    """
    for model in (
        OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1"),
        AnthropicChatModel("m", base_url="http://127.0.0.1:9"),
    ):
        with suppress(RunStopped):
            evaluate(SAMPLES[:1], ClaimRecall(judge=LLMJudge(model)), retries=Retries(0))
        model.close()
    for encoding, size in BOMBS.items():
        bomb(encoding, size)
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_the_list_has_at_least_sixty_cases() -> None:
    """There are at least 60 cases."""
    assert len(CASES) >= 60


@pytest.mark.parametrize(
    ("client", "name"),
    [(OpenAIChatModel, name) for name in CASES]
    + [(AnthropicChatModel, name) for name in BY_ANTHROPIC],
)
def test_only_the_struck_sample_suffers(
    faulty: FaultyEndpoint, blocks: list[float], client: type[RemoteModel], name: str
) -> None:
    """The other samples are right; the loop runs, memory is bounded, and the reason is short."""
    case = CASES[name]
    faulty.strikes(case.fault, frozenset({STRUCK}), always=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(TRIES):
        blocks.clear()
        began = clock()
        model = giving_up(model_of(faulty, client), faulty, timeout_of(case))
        report = judged(model, case)
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
    """A redirect is not followed, and the reason names it."""
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
    """`score` has the same bound on the whole request, even if its bytes arrive slowly."""
    faulty.strikes(CASES[name].fault, frozenset({STRUCK}), always=True)
    model = OpenAIChatModel("m", base_url=faulty.base_url, timeout=0.3)
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLES[STRUCK])  # A slow sender never ends.
    model.close()
    assert "timed out: no answer within 0.3 s" in result.reason


@pytest.mark.parametrize("odd", [n for n, case in ENVELOPES.items() if "usage" in n])
def test_odd_usages_are_stored_and_served(faulty: FaultyEndpoint, tmp_path: Any, odd: str) -> None:
    """An answer with any usage in the reply is stored, and paid once."""
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
