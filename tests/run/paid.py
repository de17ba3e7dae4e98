"""A model that records its payments, and samples for it, for tests of stores."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fullrecall import ClaimRecall, LLMJudge, Report, Sample, evaluate
from fullrecall.judge.models import ChatRequest, Completion
from fullrecall.run.address import Address
from fullrecall.run.sqlite import SQLiteLedger

BOUND = 60.0
"""Seconds after which a step counts as hanging: each takes milliseconds."""


VERDICTS = json.dumps(
    {"verdicts": [{"id": 1, "verdict": "not_supported", "citations": [], "together": False}]}
)


def samples(numbers: list[int]) -> list[Sample]:
    """Return samples that each take one request, equal for equal numbers."""
    return [Sample(reference_claims=[f"Claim {n}."], retrieved_contexts=["c"]) for n in numbers]


def scorer(model: Any) -> ClaimRecall:
    """Return a scorer with a new judge, which has no memory."""
    return ClaimRecall(judge=LLMJudge(model, reasks=0))


class Paid:
    """A model that appends each paid claim to a file, so that every process sees it."""

    name = "paid"

    def __init__(self, ledger: Path, before: Callable[[int], Any] = lambda _: None) -> None:
        self.ledger = ledger
        self.before = before
        self.sent = 0

    def complete(self, request: ChatRequest) -> Completion:
        """Raise: the engine must use `acomplete`."""
        raise AssertionError(request)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Answer after a moment, and record the payment."""
        self.sent += 1
        waits = self.before(self.sent)
        await (waits if waits is not None else asyncio.sleep(0))
        claim = request.messages[1].content.rpartition("Claim ")[2].partition(".")[0]
        with self.ledger.open("a") as file:
            file.write(f"{claim}\n")
        return Completion(VERDICTS, 10, 5)

    def paid(self) -> Counter[int]:
        """Return how often each claim was paid for, by any process."""
        return (
            Counter(map(int, self.ledger.read_text().split()))
            if self.ledger.exists()
            else Counter()
        )


Store = SQLiteLedger | Path | Address


def judge(numbers: list[int], model: Any, store: Store, **options: Any) -> Report:
    """Return the report of samples that a model judged, with a store."""
    return evaluate(samples(numbers), scorer(model), store=store, progress=False, **options)


def exits(child: Callable[[], None]) -> int:
    """Fork, run a function in the child, and return its exit code."""
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(BOUND)
    if process.is_alive():
        process.kill()
        process.join()
    assert process.exitcode is not None
    return process.exitcode
