"""References and documents whose IDs are of different kinds do not pass for a recall of 0."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, Sample
from fullrecall.id_levels import IdLevelWarning, IdsSeen, IdWatch, ids_seen


def sample(references: Any, *retrieved: Context | None) -> Sample:
    """Return a sample with these references and contexts."""
    return Sample(reference_context_ids=references, retrieved_contexts=list(retrieved))


def problem_of(*samples: Sample) -> str | None:
    """Return what is wrong with the IDs of a run over these samples."""
    return IdWatch(map(ids_seen, samples)).problem()


def chunk(own: str | None, **metadata: Any) -> Context:
    """Return a context with this ID."""
    return Context("text", id=own, metadata=metadata)


def test_what_the_ids_of_a_sample_tell() -> None:
    """Counts, whether any met, and where they stand instead."""
    assert ids_seen(sample(["a"], chunk("a"), chunk(None))) == IdsSeen(
        retrieved=2, without_id=1, met=True
    )
    assert ids_seen(sample([["x", "a"]], chunk("a"))).met is True
    far = ids_seen(sample(["a", "b"], chunk("u1", source="a", n=7, tags=["a"]), chunk(None)))
    assert far == IdsSeen(
        retrieved=2,
        without_id=1,
        met=False,
        options=("id_key='source'",),
    )


@pytest.mark.parametrize("nothing", [sample(["a"]), sample([], chunk("a")), Sample()])
def test_what_cannot_be_compared_is_left_out(nothing: Sample) -> None:
    """Without references or documents there is nothing that could have met."""
    assert ids_seen(nothing).met is None
    assert problem_of(*[nothing] * 9) is None
    assert problem_of() is None


def test_ids_of_options_are_compared_as_ids_are() -> None:
    """A parent's ID that is a number equals the text that names it; None is no ID."""
    seen = ids_seen(sample(["7"], chunk("u1")), {"id_key='parent'": [None, 7], "other": [8]})
    assert seen.options == ("id_key='parent'",)


def test_nested_metadata_are_named_by_a_dotted_path() -> None:
    """As `id_key=` takes them."""
    seen = ids_seen(sample(["d1"], chunk("u1", origin={"doc": "d1"})))
    assert seen.options == ("id_key='origin.doc'",)


def test_one_that_met_is_enough() -> None:
    """The level is right, whatever the other samples missed."""
    seen = [sample(["a"], chunk("u", source="a")), sample(["b"], chunk("b"))]
    assert problem_of(*seen) is None
    misses = [sample(["a"], chunk("u"))] * 9
    assert problem_of(*misses, seen[1]) is None
    assert problem_of(seen[1], *misses) is None


def test_the_keys_that_would_have_matched_are_named() -> None:
    """The one that helps most first; numbers are compared as IDs are."""
    seen = [
        sample(["7"], chunk("u1", source="x", row=7)),
        sample([8], chunk("u2", source="8", row=8)),
        sample(["z"], chunk("u3", source="y", row=1)),
    ]
    assert problem_of(*seen) == (
        "no reference ID of 3 samples is among the retrieved documents' IDs, but other fields "
        "hold them: id_key='row' (in 2 of 3), id_key='source' (in 1 of 3) would find them"
    )


def test_misses_alone_are_no_wrong_level() -> None:
    """A weak retriever misses many in a row; with evidence, a single sample will do."""
    assert problem_of(*[sample(["doc-1"], chunk("7f3a", source="x"))] * 30) is None
    each = problem_of(sample(["x"], chunk("7f3a", source="x")))
    assert each is not None
    assert "of the one sample is among" in each
    assert "id_key='source' (in 1 of 1)" in each


@pytest.mark.parametrize("missed", [chunk("7f3a", source="doc-1"), chunk(None)])
def test_a_run_is_warned_once_there_is_evidence(missed: Context) -> None:
    """Metadata that hold the references, or no IDs at all, are evidence enough; once is enough."""
    watch, seen = IdWatch(), ids_seen(sample(["doc-1"], missed))
    watch.warn(ids_seen(Sample()))
    assert not watch.is_done
    with pytest.warns(IdLevelWarning, match="no reference ID of"):
        watch.warn(seen)
    watch.warn(seen)
    assert watch.is_done


def test_documents_without_any_id_can_never_match() -> None:
    """That is no bad luck: it is told of one sample too."""
    none = problem_of(sample(["doc-1"], chunk(None, source="x")))
    assert none is not None
    assert none.endswith("none of the documents has an ID; pass id_key= to name its field")
    assert problem_of(sample(["a"], chunk(None)), sample(["b"], chunk("u"))) is None
