"""The adapter contract: no information is lost between a framework's objects and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.scorers import (
    ContextPrecision,
    EntityRecall,
    FindingScorer,
    IdRecall,
    SpanRecall,
    TextRecall,
)
from fullrecall.scorers.result import Result
from fullrecall.testing.scorers import WORDS, expect


class AdapterCase(NamedTuple):
    """A test case for adapters: a scorer, and its input as fullrecall's own objects."""

    name: str
    scorer: FindingScorer
    retrieved: tuple[Context, ...] | None
    references: Mapping[str, Any]


Through: TypeAlias = Callable[[FindingScorer, Sequence[Context] | None, Mapping[str, Any]], Result]
"""Creates framework objects from the contexts (None means no retrieval), has the adapter score them
against the reference fields, and returns the `Result` that the adapter carries.
"""

_A, _B, _X = (Context(WORDS[c], id=c, metadata={"source": c.upper()}) for c in "abx")

ADAPTER_CASES: tuple[AdapterCase, ...] = (
    AdapterCase("all found", IdRecall(), (_A, _B), {"reference_context_ids": ["a", "b"]}),
    AdapterCase("one missed", IdRecall(), (_X, _A), {"reference_context_ids": ["a", "b"]}),
    AdapterCase("int IDs", IdRecall(), (Context("t", id=7), _X), {"reference_context_ids": [7]}),
    AdapterCase("graded", IdRecall(), (_A,), {"reference_context_ids": {"a": 3, "b": 1}}),
    AdapterCase("any of", IdRecall(), (_B,), {"reference_context_ids": [["a", "b"], ["x"]]}),
    AdapterCase(
        "order is rank, not score",
        IdRecall(),
        (Context(WORDS["x"], id="x", score=0.1), Context(WORDS["a"], id="a", score=0.9)),
        {"reference_context_ids": ["a"]},
    ),
    AdapterCase("duplicates", IdRecall(), (_A, _A, _B), {"reference_context_ids": ["a", "b"]}),
    AdapterCase("texts", TextRecall(), (_X, _A), {"reference_contexts": [WORDS["a"]]}),
    AdapterCase(
        "parameters",
        TextRecall(threshold=1.0),
        (Context(WORDS["a"] + "!"),),
        {"reference_contexts": [WORDS["a"]]},
    ),
    AdapterCase("spans", SpanRecall(), (_A,), {"reference_contexts": [WORDS["a"] + " " * 9]}),
    AdapterCase("entities", EntityRecall(), (_A,), {"reference_entities": ["Arles", "Cork"]}),
    AdapterCase("precision", ContextPrecision(), (_X, _A), {"reference": WORDS["a"]}),
    AdapterCase("nothing retrieved", IdRecall(), (), {"reference_context_ids": ["a"]}),
    AdapterCase("no references", IdRecall(), (_A,), {"reference_context_ids": []}),
    AdapterCase("references missing", IdRecall(), (_A,), {}),
    AdapterCase("no retrieval", IdRecall(), None, {"reference_context_ids": ["a"]}),
)
"""The cases that every adapter must carry without loss."""


def check_adapter_case(through: Through, case: AdapterCase) -> None:
    """Check that an adapter's result equals the scorer's result without any framework."""
    sample = Sample(retrieved_contexts=case.retrieved, **case.references)
    expected = case.scorer.score(sample)
    got = through(case.scorer, case.retrieved, case.references)
    for field in ("method", "status", "score", "missed", "retrieved", "findings"):
        own, carried = getattr(expected, field), getattr(got, field)
        expect(own == carried, f"{case.name}: {field} is {carried!r}, the scorer gives {own!r}")


def check_adapter(through: Through) -> None:
    """Check that every case of `ADAPTER_CASES` passes through the adapter without loss."""
    for case in ADAPTER_CASES:
        check_adapter_case(through, case)
