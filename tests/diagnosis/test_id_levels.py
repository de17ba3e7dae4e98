"""References and documents with IDs of different kinds give a hint, not a silent recall of 0."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, IdRecall, Sample, diagnose, evaluate
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


def test_documents_that_the_corpus_names_as_sources() -> None:
    """A reference that is the source of indexed contexts has another level than their IDs.

    If a reference was retrieved under its own ID, both have one level, and the sources explain
    nothing.
    """
    chunks = [Context(f"The river has {n} words.", id=f"{n}7f3", source=f"d{n}") for n in range(6)]
    samples = [
        sample([f"d{n}"], chunks[(n + 1) % 6]) for n in range(5)
    ]  # fmt: skip
    found = diagnose(evaluate(samples, IdRecall(), progress=False), corpus=chunks)
    assert [(str(each.cause), each.detail) for each in found] == [
        ("wrong_id_level", f"a context of the corpus has it as its source, and '{n}7f3' as its ID")
        for n in range(5)
    ]
    samples.append(sample(["other"], chunk("other")))
    found = diagnose(evaluate(samples, IdRecall(), progress=False), corpus=chunks)
    assert [str(each.cause) for each in found] == ["never_retrieved"] * 5


@pytest.mark.parametrize(("field", "value", "rank"), [("doc", "d1", 2), ("source", "d1", 2)])
def test_a_reference_in_another_field(field: str, value: str, rank: int) -> None:
    """A retrieved context that has the reference in another field is named with its rank."""
    context = Context("t", id="u", source=value) if field == "source" else chunk("u", doc=value)
    report = evaluate([sample(["d1"], chunk("x"), context)], IdRecall(), progress=False)
    (found,) = diagnose(report)
    where = "as its source" if field == "source" else "at id_key='doc'"
    assert found.detail == f"the context at rank 2 has it {where}, and 'u' as its ID"
    assert (str(found.cause), found.rank) == (
        "wrong_id_level" if field == "source" else "id_mismatch",
        rank,
    )
