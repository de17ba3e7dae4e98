"""References of a golden set are joined to the samples of traces, by ID or by question."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Sample
from fullrecall.errors import InputError
from fullrecall.files.traces import with_references
from fullrecall.judge.flow import NotAsked
from fullrecall.judge.models import Completion


def traced(id_: str | None, question: str | None, **fields: Any) -> Sample:
    """Return a sample of a trace that retrieved one document."""
    return Sample(id=id_, user_input=question, retrieved_context_ids=["d"], response="r", **fields)


def wanted(id_: str | None, question: str | None, **fields: Any) -> Sample:
    """Return a reference."""
    return Sample(id=id_, user_input=question, reference_context_ids=["x"], **fields)


def shape(sample: Sample) -> tuple[Any, ...]:
    """Return the identity of a sample, its group, and its retrieval or the reason for none."""
    found = sample.retrieved_context_ids or sample.retrieval_error
    return sample.id, sample.user_input, sample.group, found, sample.response


LOST = "no trace asks this question"


@pytest.mark.parametrize(
    ("samples", "references", "shapes", "counts"),
    [
        ([traced("1", "a?")], [wanted("1", "b?")], [("1", "b?", None, ("d",), "r")], (0, 0)),
        ([traced("1", "a?")], [wanted("1", None)], [("1", "a?", None, ("d",), "r")], (0, 0)),
        ([traced("t", "a  ?\n")], [wanted("1", "a ?")], [("1", "a ?", None, ("d",), "r")], (0, 0)),
        ([traced("t", "a?")], [wanted(None, "a?")], [("t", "a?", "a?", ("d",), "r")], (0, 0)),
        (
            [traced("t", "a?"), traced("u", "a?")],
            [wanted(None, "a?", group="g")],
            [("t", "a?", "g", ("d",), "r"), ("u", "a?", "g", ("d",), "r")],
            (0, 0),
        ),
        ([traced("t", "a?")], [wanted("1", "b?")], [("1", "b?", None, LOST, None)], (1, 0)),
        ([traced("t", None)], [wanted("1", None)], [("1", None, None, LOST, None)], (1, 1)),
        ([traced(None, "a?")], [wanted(None, "b?")], [(None, "b?", None, LOST, None)], (1, 0)),
        ([], [], [], (0, 0)),
    ],
)
def test_samples_get_their_references(
    samples: list[Sample], references: list[Sample], shapes: Any, counts: Any
) -> None:
    """A sample has the references of its ID, or of its question; the rest are counted."""
    joined = with_references(samples, references)
    assert [shape(each) for each in joined] == shapes
    assert (joined.left_out, joined.unasked) == counts


def test_metadata_of_both_sides_are_kept() -> None:
    """The metadata of a trace and of its reference are joined; the reference's value counts."""
    sample = traced("1", "a?", metadata={"a": 1, "b": 1})
    (joined,) = with_references([sample], [wanted("1", "a?", metadata={"b": 2, "c": 2})])
    assert joined.metadata == {"a": 1, "b": 2, "c": 2}


def test_ambiguous_references_are_refused() -> None:
    """Two references of one ID are an error, and two of one question if a sample needs one."""
    with pytest.raises(InputError) as raised:
        with_references([], [wanted("1", "a?"), wanted("1", "b?")])
    assert (raised.value.problem, raised.value.line) == (
        "two references have the id '1': keep one",
        2,
    )
    twice = [wanted("1", "a?"), wanted("2", "a?")]
    assert len(with_references([traced("2", "a?")], twice)) == 2
    with pytest.raises(InputError) as raised:
        with_references([traced("t", "a?")], twice)
    assert raised.value.problem == (
        "2 references ask 'a?': name the sample's id in the trace, in the span attribute "
        "fullrecall.sample_id"
    )
    with pytest.raises(InputError, match="expected a Sample, got 7"):
        with_references([], [7])  # type: ignore[list-item]


def test_requests_that_were_not_sent_cost_nothing() -> None:
    """Without another number, no request was sent and no token was used."""
    assert NotAsked("why").requests == 0
    assert Completion.of("text") == Completion("text", 0, 0)
