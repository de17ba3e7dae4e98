"""References and documents with IDs of different kinds give a hint, not a silent recall of 0."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, Sample
from fullrecall.diagnosis.ids.fields import id_hint


def sample(references: Any, *retrieved: Context) -> Sample:
    """Return a sample with these references and contexts."""
    return Sample(reference_context_ids=references, retrieved_contexts=list(retrieved))


def chunk(own: str | None, **metadata: Any) -> Context:
    """Return a context with this ID."""
    return Context("text", id=own, metadata=metadata)


def would_find(option: str) -> str:
    """Return the hint of an option."""
    return f"the references are in other fields: {option} would find them"


def test_what_was_found_needs_no_hint() -> None:
    """One found reference, or one of its alternatives, is enough to give no hint."""
    assert id_hint(sample(["a", "b"], chunk("a", source="b"))) is None
    assert id_hint(sample([["x", "a"]], chunk("a"))) is None


@pytest.mark.parametrize("nothing", [sample(["a"]), sample([], chunk("a")), Sample()])
def test_without_references_or_documents_nothing_is_known(nothing: Sample) -> None:
    """Without references or documents there is no hint."""
    assert id_hint(nothing) == ""


def test_the_field_that_would_have_matched_is_named() -> None:
    """The hint names the field with most of the references, by a path if it is nested."""
    far = sample(["a", "b"], chunk("u1", source="a", n=7, tags=["a"]), chunk("u2", source="b"))
    assert id_hint(far) == would_find("id_key='source'")
    assert id_hint(sample([8], chunk("u2", row=8))) == would_find("id_key='row'")
    nested = sample(["d1"], chunk("u1", origin={"doc": "d1"}))
    assert id_hint(nested) == would_find("id_key='origin.doc'")


def test_ids_of_options_are_compared_as_ids_are() -> None:
    """A parent's numeric ID equals the text of it, and None is not an ID."""
    options = {"id_key='parent'": [None, 7], "other": [8]}
    assert id_hint(sample(["7"], chunk("u1")), options) == would_find("id_key='parent'")


def test_misses_alone_are_no_wrong_level() -> None:
    """A weak retriever misses targets: without evidence there is no advice on IDs."""
    assert id_hint(sample(["doc-1"], chunk("7f3a", source="x"))) == ""
    assert id_hint(sample(["doc-1"], chunk(None, source="x"))) == ""
