"""References and documents whose IDs are of different kinds do not pass for a recall of 0."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, Sample
from langchain_fullrecall.ids import IdsSeen, id_mismatch, ids_seen


def sample(references: Any, *retrieved: Context | None) -> Sample:
    """Return a sample with these references and contexts."""
    return Sample(reference_context_ids=references, retrieved_contexts=list(retrieved))


def chunk(own: str | None, **metadata: Any) -> Context:
    """Return a context with this ID."""
    return Context("text", id=own, metadata=metadata)


def test_what_the_ids_of_a_sample_tell() -> None:
    """Counts, whether any met, and where they stand instead."""
    assert ids_seen(sample(["a"], chunk("a"), chunk(None))) == IdsSeen(
        retrieved=2, without_id=1, met=True, reference="a", brought="a"
    )
    assert ids_seen(sample([["x", "a"]], chunk("a"))).met is True
    far = ids_seen(sample(["a", "b"], chunk("u1", source="a", n=7, tags=["a"]), chunk(None)))
    assert far == IdsSeen(
        retrieved=2, without_id=1, met=False, keys=("source",), reference="a", brought="u1"
    )


@pytest.mark.parametrize("nothing", [sample(["a"]), sample([], chunk("a")), Sample()])
def test_what_cannot_be_compared_is_left_out(nothing: Sample) -> None:
    """Without references or documents there is nothing that could have met."""
    assert ids_seen(nothing).met is None
    assert id_mismatch([ids_seen(nothing)]) is None
    assert id_mismatch([]) is None


def test_one_that_met_is_enough() -> None:
    """The level is right, whatever the other samples missed."""
    seen = [sample(["a"], chunk("u", source="a")), sample(["b"], chunk("b"))]
    assert id_mismatch(map(ids_seen, seen)) is None


def test_the_keys_that_would_have_matched_are_named() -> None:
    """The one that helps most first; numbers are compared as IDs are."""
    seen = [
        sample(["7"], chunk("u1", source="x", row=7)),
        sample([8], chunk("u2", source="8", row=8)),
        sample(["z"], chunk("u3", source="y", row=1)),
    ]
    assert id_mismatch(map(ids_seen, seen)) == (
        "no reference ID of 3 samples is among the retrieved documents' IDs, but their metadata "
        "hold them: id_key='row' (in 2 of 3), id_key='source' (in 1 of 3) would find them"
    )


def test_without_such_a_key_both_sides_are_shown() -> None:
    """Random IDs, or none at all, are seen at a glance."""
    unknown = id_mismatch([ids_seen(sample(["doc-1"], chunk("7f3a", source="x")))])
    assert unknown is not None
    assert "references look like 'doc-1', documents like '7f3a'" in unknown
    none = id_mismatch([ids_seen(sample(["doc-1"], chunk(None, source="x")))] * 2)
    assert none is not None
    assert none.endswith("none of the documents has an ID; id_key= says where it stands")
