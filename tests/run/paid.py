"""A model that is paid, and the samples that it judges: what models of a store are about."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fullrecall import ClaimRecall, LLMJudge, Sample
from fullrecall.judge.models import ChatRequest, Completion

VERDICTS = json.dumps(
    {"verdicts": [{"id": 1, "verdict": "not_supported", "citations": [], "together": False}]}
)


def samples(numbers: list[int]) -> list[Sample]:
    """Return samples that each take one request, equal for equal numbers."""
    return [Sample(reference_claims=[f"Claim {n}."], retrieved_contexts=["c"]) for n in numbers]


def scorer(model: Any) -> ClaimRecall:
    """Return a scorer with a judge of its own, which remembers nothing."""
    return ClaimRecall(judge=LLMJudge(model, reasks=0))


class Paid:
    """A model that notes in a file what it was paid for, so that every process sees it."""

    name = "paid"

    def __init__(self, ledger: Path, before: Callable[[int], Any] = lambda _: None) -> None:
        self.ledger = ledger
        self.before = before
        self.sent = 0

    def complete(self, request: ChatRequest) -> Completion:
        """Refuse: the engine is to use the other one."""
        raise AssertionError(request)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Answer after a moment; it is paid from then on."""
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
