"""A small judged run, whose answers are stored."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.judge.scripted import quoting, reply

from fullrecall import ClaimRecall, LLMJudge, Report, Sample, evaluate
from fullrecall.judge import Ask
from fullrecall.judge.models import ChatRequest, Message
from fullrecall.judge.models.scripted import ScriptedChatModel

SAMPLES = [
    Sample(
        user_input=f"q{n // 2}",
        reference=f"reference {n // 2}",
        retrieved_contexts=[f"context {n} says"],
    )
    for n in range(6)
]
CALLS = 9  # Three splits and six judgings.


def answers(request: ChatRequest) -> str:
    """Split into two claims; support the first by the whole first context."""
    user = request.messages[1].content
    if request.schema_name == "items":
        return json.dumps({"items": ["A stands.", "B stands."]})
    quote = json.loads(user.splitlines()[1].split(" ", 1)[1])
    numbers = [int(n) for n in re.findall(r"^(\d+) ", user.split("claims:\n")[1], re.MULTILINE)]
    return reply(
        *(
            quoting(n, "supported", (1, quote)) if n == 1 else quoting(n, "not_supported")
            for n in numbers
        )
    )


def run(store: Any, script: Any = answers, samples: Any = SAMPLES, **options: Any) -> Report:
    """Evaluate with a new judge, so that only the store has answers."""
    scorer = ClaimRecall(judge=LLMJudge(ScriptedChatModel(script), **options))
    return evaluate(samples, scorer, store=store, retries=0, progress=False)


def saved(report: Report, folder: Path) -> bytes:
    """Return the saved bytes of a report."""
    report.save(folder / "saved.jsonl", replace=True)
    return (folder / "saved.jsonl").read_bytes()


# --- keys


def ask(model: str = "m", **changes: Any) -> Ask:
    """Return a stored request with this model name and these changes of its fields."""
    request = ChatRequest((Message("system", "s"), Message("user", "u")), {"a": 1}, "items")
    return Ask(ScriptedChatModel(["x"], name=model), replace(request, **changes))
