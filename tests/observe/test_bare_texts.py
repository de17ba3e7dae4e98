"""Known texts without an ID in a step's output are documents."""

from __future__ import annotations

from typing import Any

import pytest
from tests.observe.conftest import Program

from fullrecall import Context

A = "Alpha rays are stopped by a single sheet of ordinary writing paper on any day."
B = "Bravo company crossed the river before dawn while the bridges were still burning."
OTHER = "Nothing that was retrieved says a word about this sentence, which a step made up."


@pytest.mark.parametrize(
    ("output", "ids"),
    [
        ([B], ["b"]),
        ({"texts": [B]}, ["b"]),
        ({"texts": [B, A]}, ["b", "a"]),
        ({"texts": [B, OTHER]}, ["b"]),
        ({"texts": [OTHER]}, ["a", "b"]),
        ({"inner": {"texts": [A]}}, ["a"]),
    ],
)
def test_known_texts_in_an_output_are_documents(
    output: Any, ids: list[str], program: Program
) -> None:
    """A step that returns known texts has chosen these documents, under any key."""
    with program.call("q"):
        found = program.retrieve(Context(A, id="a"), Context(B, id="b"))
        program.function("choose", found, output)
    assert program.ids() == ids


def test_unknown_texts_of_a_whole_call_are_documents(program: Program) -> None:
    """A call without a retriever returned its whole list of texts."""
    with program.call("q") as running:
        running.returns([A, B])
    found = program.retrieval().contexts
    assert [context.text for context in found or ()] == [A, B]
