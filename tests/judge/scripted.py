"""Verdicts as a model writes them, and claim recall with scripted replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fullrecall import ClaimRecall, Sample
from fullrecall.judge import LLMJudge
from fullrecall.judge.models.scripted import ScriptedChatModel

if TYPE_CHECKING:
    from fullrecall.judge.models import ChatRequest


def verdict(number: int, label: str = "supported", *contexts: int, **more: Any) -> dict[str, Any]:
    """Return one verdict as a model writes it."""
    cited = [{"context": n, "quote": more.get("quote", "")} for n in contexts]
    together = more.get("together", False)
    return {"id": number, "verdict": label, "citations": cited, "together": together}


def quoting(number: int, label: str, *quotes: tuple[int, str], **more: Any) -> dict[str, Any]:
    """Return one verdict that quotes contexts: the number of each, and the quote."""
    cited = [{"context": context, "quote": quote} for context, quote in quotes]
    return {"id": number, "verdict": label, "citations": cited, "together": False, **more}


def reply(*verdicts: dict[str, Any]) -> str:
    """Return verdicts in the requested form."""
    return json.dumps({"verdicts": list(verdicts)})


def judged(script: Any, sample: Sample | None = None, **parameters: Any) -> Any:
    """Return the result of claim recall over two claims and three contexts by a scripted model."""
    sample = sample or Sample(
        user_input="q",
        retrieved_contexts=["alpha beta gamma", "delta epsilon", "zeta eta theta"],
        reference_claims=["first claim", "second claim"],
    )
    return ClaimRecall(judge=LLMJudge(ScriptedChatModel(script)), **parameters).score(sample)


def asked_of(request: ChatRequest) -> list[int]:
    """Return the numbers of the targets that a request asks about."""
    *_, asked = request.messages[-1].content.rpartition("claims:\n")
    return [int(line.split(" ", 1)[0]) for line in asked.splitlines()]
