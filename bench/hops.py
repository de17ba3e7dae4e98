"""How far one judged sample travels: coroutine frames above the model, and calls on the way.

A sample with one claim is scored by `evaluate` through a model that answers at once. When the model
is asked, the coroutines that wait for it are counted, from the sample's task down; then the calls
of functions of fullrecall, how many of them from another module of fullrecall (switches), how many
functions, in how many modules: of the whole run, and of what a run of two samples takes beyond a
run of one.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter
from types import CodeType, FrameType
from typing import NamedTuple, TypeAlias

from side_by_side import say, table

from fullrecall import ClaimRecall, LLMJudge, Sample, evaluate
from fullrecall.models import ChatRequest, Completion

_ANSWER = json.dumps(
    {"verdicts": [{"id": 1, "verdict": "not_supported", "citations": [], "together": False}]}
)


Calls: TypeAlias = "Counter[tuple[str, str, bool]]"
"""How often each function of each module was called, and whether from another module."""


class Hops(NamedTuple):
    """The coroutines that waited for the model, outermost first, and the calls."""

    frames: list[str]
    run: Calls
    sample: Calls
    """Of one more sample."""


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


def calls_of(model: Model, count: int) -> Calls:
    """Score so many samples with a model; return the calls that it took."""
    samples = [
        Sample(user_input="q", reference_claims=[f"A stands {n}."], retrieved_contexts=["c"])
        for n in range(count)
    ]
    scorer = ClaimRecall(judge=LLMJudge(model))
    calls: Calls = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code: CodeType = frame.f_code
        if event == "call" and "fullrecall" in code.co_filename:
            caller = caller_of(frame)
            is_switch = caller is not None and caller != code.co_filename
            calls[code.co_filename, code.co_qualname, is_switch] += 1

    sys.setprofile(note)
    try:
        evaluate(samples, scorer, progress=False)
    finally:
        sys.setprofile(None)
    return calls


def caller_of(frame: FrameType) -> str | None:
    """Return the file of fullrecall from which a function was called, whatever lies between."""
    outer = frame.f_back
    while outer is not None and "fullrecall" not in outer.f_code.co_filename:
        outer = outer.f_back
    return None if outer is None else outer.f_code.co_filename


def measured() -> Hops:
    """Score one sample and then two, everything imported before; return what it took."""
    model = Model()
    calls_of(Model(), 2)
    one = calls_of(model, 1)
    return Hops(model.frames, one, calls_of(Model(), 2) - one)


def main() -> None:
    """Print the frames and the counts."""
    found = measured()
    say(" → ".join(found.frames))
    say(f"\nCoroutine frames, the model's included: {len(found.frames)}\n")
    rows = [
        [
            title, f"{calls.total():,}",
            f"{sum(n for (*_, is_switch), n in calls.items() if is_switch):,}",
            f"{len({call[:2] for call in calls}):,}", f"{len({call[0] for call in calls}):,}",
        ]
        for title, calls in (("a run of one judged sample", found.run),
                             ("one more sample", found.sample))
    ]  # fmt: skip
    say(table(["", "calls", "switches", "functions", "modules"], rows))


if __name__ == "__main__":
    main()
