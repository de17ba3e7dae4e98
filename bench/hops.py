"""Count the coroutine frames above the model for one judged sample, and the function calls.

A sample with one claim is scored by `evaluate` through a model that answers at once. When the model
is asked, the coroutines that wait for it are counted, from the sample's task down. Then the calls
of fullrecall's functions are counted, with the functions, modules, and switches (calls from another
module): for the whole run, and for a second sample, without a citation and with one.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import NamedTuple, TypeAlias

from side_by_side import say, table

from fullrecall import ClaimRecall, LLMJudge, Sample, evaluate
from fullrecall.judge import ChatRequest, Completion

_CONTEXT = "A stands here."
_DENIED = {"id": 1, "verdict": "not_supported", "citations": [], "together": False}
_QUOTED = {
    **_DENIED, "verdict": "supported", "citations": [{"context": 1, "quote": _CONTEXT}],
}  # fmt: skip

Calls: TypeAlias = "Counter[tuple[str, str, str]]"
"""How often each function of each module was called, and from which module."""


class Hops(NamedTuple):
    """The coroutines that waited for the model, outermost first, and the calls."""

    frames: list[str]
    calls: dict[str, Calls]


class Model:
    """A model that answers at once, and records the coroutines that wait for it."""

    name = "hops"

    def __init__(self, verdict: Mapping[str, object] = _DENIED) -> None:
        self.answer = json.dumps({"verdicts": [verdict]})
        self.frames: list[str] = []

    def complete(self, request: ChatRequest) -> Completion:
        """Raise: the engine must use `acomplete`."""
        raise AssertionError(request)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Answer."""
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code.co_flags & inspect.CO_COROUTINE:
            self.frames.insert(0, frame.f_code.co_qualname)
            frame = frame.f_back
        return Completion(self.answer, 11, 5)


def calls_of(model: Model, count: int) -> Calls:
    """Score `count` samples with a model, and return the calls of functions of fullrecall."""
    samples = [
        Sample(user_input="q", reference_claims=[f"A stands {n}."], retrieved_contexts=[_CONTEXT])
        for n in range(count)
    ]
    scorer = ClaimRecall(judge=LLMJudge(model))
    calls: Calls = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code: CodeType = frame.f_code
        if event == "call" and "fullrecall" in code.co_filename:
            caller = frame.f_back
            while caller is not None and "fullrecall" not in caller.f_code.co_filename:
                caller = caller.f_back
            calling = code.co_filename if caller is None else caller.f_code.co_filename
            calls[code.co_filename, code.co_qualname, calling] += 1

    sys.setprofile(note)
    try:
        evaluate(samples, scorer, progress=False)
    finally:
        sys.setprofile(None)
    return calls


def measured() -> Hops:
    """Score one sample and then two, with everything imported before, and return the counts."""
    model = Model()
    calls_of(Model(), 2)
    calls_of(Model(_QUOTED), 2)
    alone, quoted = calls_of(model, 1), calls_of(Model(_QUOTED), 1)
    return Hops(
        model.frames,
        {
            "a run of one judged sample": alone,
            "one more sample": calls_of(Model(), 2) - alone,
            "one more, with a citation": calls_of(Model(_QUOTED), 2) - quoted,
        },
    )


def main() -> None:
    """Print the frames and the counts."""
    hops = measured()
    say(" → ".join(hops.frames))
    say(f"\nCoroutine frames, the model's included: {len(hops.frames)}\n")
    rows = [
        [
            title,
            f"{calls.total():,}",
            f"{len({(module, function) for module, function, _ in calls}):,}",
            f"{len({module for module, _, _ in calls}):,}",
            f"{sum(n for (module, _, caller), n in calls.items() if module != caller):,}",
        ]
        for title, calls in hops.calls.items()
    ]
    say(table(["", "calls", "functions", "modules", "switches"], rows))


if __name__ == "__main__":
    main()
