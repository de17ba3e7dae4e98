"""How far one judged sample travels: coroutine frames above the model, and calls on the way.

A sample with one claim is scored by `evaluate` through a model that answers at once. When the model
is asked, the coroutines that wait for it are counted, from the sample's task down; over the whole
run, the calls of functions of fullrecall, how many functions, in how many modules.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter
from types import CodeType, FrameType
from typing import NamedTuple

from side_by_side import say, table

from fullrecall import ClaimRecall, LLMJudge, Sample, evaluate
from fullrecall.models import ChatRequest, Completion

_ANSWER = json.dumps(
    {"verdicts": [{"id": 1, "verdict": "not_supported", "citations": [], "together": False}]}
)


class Hops(NamedTuple):
    """The coroutines that waited for the model, outermost first, and the calls of each function."""

    frames: list[str]
    calls: Counter[tuple[str, str]]


class Model:
    """Answers at once, and remembers who waited for it."""

    name = "hops"

    def __init__(self) -> None:
        self.frames: list[str] = []

    def complete(self, request: ChatRequest) -> Completion:
        """Refuse: the engine is to use the other one."""
        raise AssertionError(request)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Answer."""
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code.co_flags & inspect.CO_COROUTINE:
            self.frames.insert(0, frame.f_code.co_qualname)
            frame = frame.f_back
        return Completion(_ANSWER, 11, 5)


def measured() -> Hops:
    """Score one sample, everything imported before; return what it took."""
    sample = Sample(user_input="q", reference_claims=["A stands."], retrieved_contexts=["c"])
    evaluate([sample], ClaimRecall(judge=LLMJudge(Model())), progress=False)
    calls: Counter[tuple[str, str]] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        code: CodeType = frame.f_code
        if event == "call" and "fullrecall" in code.co_filename:
            calls[code.co_filename, code.co_qualname] += 1

    model = Model()
    scorer = ClaimRecall(judge=LLMJudge(model))
    sys.setprofile(count)
    try:
        evaluate([sample], scorer, progress=False)
    finally:
        sys.setprofile(None)
    return Hops(model.frames, calls)


def main() -> None:
    """Print the frames and the counts."""
    found = measured()
    say(" → ".join(found.frames))
    rows = [
        ["coroutine frames, the model's included", str(len(found.frames))],
        ["calls", f"{found.calls.total():,}"],
        ["functions", f"{len(found.calls):,}"],
        ["modules", f"{len({module for module, _ in found.calls}):,}"],
    ]
    say("")
    say(table(["one judged sample", "count"], rows))


if __name__ == "__main__":
    main()
