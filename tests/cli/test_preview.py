"""One line about how a file was read, and the refusal of too long texts in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fullrecall import Context, Sample
from fullrecall.cli.reading import preview

FIELDS = {
    "user_input": "q",
    "reference_context_ids": "gold[]",
    "reference_contexts": "texts[]",
    "reference": "answer",
    "retrieved_context_ids": "found[]",
}


@pytest.mark.parametrize(
    ("fields", "metadata", "left_out", "line"),
    [
        (["user_input"], [], [], "question ← q"),
        (["reference_context_ids"], [], [], "reference_context_ids ← gold[] (2, such as a)"),
        (["reference_contexts"], [], [], f"reference_contexts ← texts[] (1, such as {'t' * 40}…)"),
        (["reference"], [], [], "reference ← answer"),
        (["retrieved_context_ids"], [], [], "retrieved_context_ids ← found[]"),
        (["user_input"], ["kind", "year"], ["x", "y"],
         "question ← q; metadata: kind, year; left out: x, y"),
        ([], [], ["x"], "left out: x"),
    ],
)  # fmt: skip
def test_a_plan_is_one_line(
    fields: list[str], metadata: list[str], left_out: list[str], line: str
) -> None:
    """Each field is shown with its place, and references with their number and an example."""
    plan: Any = SimpleNamespace(
        file="a.json",
        fields={name: FIELDS[name] for name in fields},
        metadata=metadata,
        left_out=left_out,
    )
    sample = Sample(
        user_input="?",
        reference="It is so.",
        reference_context_ids=[["a", "b"], "c"],
        reference_contexts=[Context("t" * 41)],
    )
    assert preview(plan, sample) == f"Read a.json: {line}"
    fits = Sample(reference_contexts=["t" * 40])
    if fields == ["reference_contexts"]:
        assert preview(plan, fits).endswith(f"such as {'t' * 40})")
