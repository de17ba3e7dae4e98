"""Numbers are taken up to the documented limits, and refused beyond them by their name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from fullrecall import (
    Budget,
    ClaimRecall,
    Gate,
    IdRecall,
    LLMJudge,
    Sample,
    SpanRecall,
    TextRecall,
    compare,
    diagnose,
    evaluate,
)
from fullrecall.batches import BatchScorer
from fullrecall.errors import ParameterError
from fullrecall.judge import Cascade
from fullrecall.judge.models.retries import Retries
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.lexical import LexicalJudge
from fullrecall.measures import Recall
from fullrecall.testset import complete, reviews_needed, to_review

RETRIEVERS = {"a": lambda _: ["a text"]}
MODEL = ScriptedChatModel(["x"])
SAMPLES = [Sample(id="s", user_input="q", retrieved_ids=["a"], expected_ids=["a"])]
REPORT = evaluate(SAMPLES, IdRecall(), progress=False)
COMPLETED = complete(SAMPLES, RETRIEVERS, LexicalJudge(), progress=False)


class Range(NamedTuple):
    """Values that an option takes at its limits, and the nearest ones that it refuses."""

    taken: Sequence[object]
    refused: Sequence[object]


NO_NUMBERS = ("1", True, math.nan)
COUNT = Range((1, 2, 1000), (0, -1, 1.0, math.inf, *NO_NUMBERS))
COUNT_OR_NONE = Range((0, 1, 1000), (-1, 1.0, math.inf, *NO_NUMBERS))
SHARE = Range((0, 0.001, 0.999, 1), (-0.001, 1.001, math.inf, *NO_NUMBERS))
INNER_SHARE = Range((0.001, 0.999), (0, 1, -0.001, 1.001, *NO_NUMBERS))
ABOVE_ZERO = Range((0.001, 0.999, 1), (0, -0.001, 1.001, *NO_NUMBERS))
SECONDS = Range((0.001, 1, math.inf, None), (0, -0.001, *NO_NUMBERS))
WAIT = Range((0, 0.001, math.inf), (-0.001, "1", math.nan))

RANGES: dict[str, tuple[Range, Callable[[Any], object]]] = {
    "LLMJudge claims_per_call": (COUNT, lambda v: LLMJudge(MODEL, claims_per_call=v)),
    "LLMJudge window": (Range((100, 101), (99, 0)), lambda v: LLMJudge(MODEL, window=v)),
    "LLMJudge reasks": (COUNT_OR_NONE, lambda v: LLMJudge(MODEL, reasks=v)),
    "LLMJudge sample": (COUNT_OR_NONE, lambda v: LLMJudge(MODEL, sample=v)),
    "Retries most": (COUNT_OR_NONE, lambda v: Retries(most=v)),
    "Retries first_wait": (WAIT, lambda v: Retries(first_wait=v)),
    "Retries longest_wait": (WAIT, lambda v: Retries(longest_wait=v)),
    "LexicalJudge threshold": (ABOVE_ZERO, lambda v: LexicalJudge(threshold=v)),
    "Cascade unsure": (SHARE, lambda v: Cascade(LexicalJudge(), LexicalJudge(), unsure=(v, v))),
    "Cascade unsure, low first": (
        Range(((0.3, 0.3), (0, 1)), ((0.301, 0.3), (1, 0))),
        lambda v: Cascade(LexicalJudge(), LexicalJudge(), unsure=v),
    ),
    "ClaimRecall partial_credit": (SHARE, lambda v: ClaimRecall(partial_credit=v)),
    "ClaimRecall min_measured": (SHARE, lambda v: ClaimRecall(min_measured=v)),
    "SpanRecall min_run": (COUNT, lambda v: SpanRecall(min_run=v)),
    "TextRecall threshold": (SHARE, lambda v: TextRecall(threshold=v)),
    "Gate confidence": (INNER_SHARE, lambda v: Gate(Recall >= 0.5, confidence=v)),
    "Gate margin": (SHARE, lambda v: Gate(margin=v)),
    "Budget calls": (COUNT, lambda v: Budget(calls=v)),
    "Budget tokens": (COUNT, lambda v: Budget(tokens=v)),
    "BatchScorer max_concurrency": (COUNT, lambda v: BatchScorer(IdRecall(), max_concurrency=v)),
    "BatchScorer timeout": (SECONDS, lambda v: BatchScorer(IdRecall(), timeout=v)),
    "BatchScorer retries": (COUNT_OR_NONE, lambda v: BatchScorer(IdRecall(), retries=v)),
    "evaluate max_concurrency": (
        COUNT,
        lambda v: evaluate(SAMPLES, IdRecall(), progress=False, max_concurrency=v),
    ),
    "evaluate timeout": (
        SECONDS,
        lambda v: evaluate(SAMPLES, IdRecall(), progress=False, timeout=v),
    ),
    "compare confidence": (INNER_SHARE, lambda v: compare(REPORT, REPORT, confidence=v)),
    "diagnose k": (COUNT, lambda v: diagnose(REPORT, k=v)),
    "diagnose deep_k": (COUNT, lambda v: diagnose(REPORT, deep_k=v)),
    "reviews_needed allowed": (COUNT_OR_NONE, lambda v: reviews_needed(1000, allowed=v)),
    "complete depth": (
        COUNT,
        lambda v: complete(SAMPLES, RETRIEVERS, LexicalJudge(), depth=v, progress=False),
    ),
    "CompletedSet.with_labels error": (
        Range((0, 0.001, 0.3), (-0.001, 0.301, "0.1", math.nan)),
        lambda v: COMPLETED.with_labels({}, error=v),
    ),
    "to_review n": (
        Range((), (0, -1, 1.0, *NO_NUMBERS)),
        lambda v: to_review(SAMPLES, "r.html", n=v),
    ),
}


def cases() -> list[Any]:
    """Return each option with a value, and whether it is taken."""
    return [
        pytest.param(call, name, value, is_taken, id=f"{name}={value}")
        for name, (limits, call) in RANGES.items()
        for values, is_taken in ((limits.taken, True), (limits.refused, False))
        for value in values
    ]


@pytest.mark.parametrize(("call", "name", "value", "is_taken"), cases())
def test_a_number_is_taken_within_its_limits(
    call: Callable[[Any], object], name: str, value: object, *, is_taken: bool
) -> None:
    """An option takes the values at its limits; beyond them the error names the option."""
    if is_taken:
        call(value)
        return
    with pytest.raises(ParameterError) as raised:
        call(value)
    assert raised.value.parameter == name.partition(",")[0].split()[-1]
