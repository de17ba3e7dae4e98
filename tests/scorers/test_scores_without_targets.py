"""Results with no findings say why, and calls that mix two ways of giving a sample are refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judge.scripted import judged, reply, verdict

from fullrecall import ClaimRecall, IdRecall, Sample, TextRecall, evaluate
from fullrecall.errors import InputError, ParameterError
from fullrecall.measures import Recall

REFERENCE = "# Ports\nThe proxy listens on port 8080."


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("scorer", "fields", "note"),
    [
        (ClaimRecall(), {"reference": REFERENCE}, "not claims: heading '# Ports'"),
        (ClaimRecall(split="sentences"), {"reference": REFERENCE}, "not claims: heading '# Ports'"),
        (ClaimRecall(), {"reference": REFERENCE, "reference_claims": ["A port is open."]}, ""),
    ],
)
def test_the_note_names_the_parts_that_are_not_claims(
    scorer: ClaimRecall, fields: dict[str, Any], note: str
) -> None:
    """A heading is left out, and named, only where the scorer itself splits the reference."""
    assert scorer.score(retrieved_contexts=["It listens on port 8080."], **fields).note == note


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"forbidden_contexts": ["old"], "retrieved_contexts": ["new"]}, "undefined"),
        ({"forbidden_contexts": ["old"]}, "unscored"),
        ({"reference_contexts": ["a text"]}, "unscored"),
        ({"retrieved_contexts": ["new"], "judged": False}, "unjudged"),
        ({"retrieved_contexts": ["new"], "judged": True}, "unscored"),
        ({"retrieved_contexts": ["new"]}, "unscored"),
        (
            {
                "forbidden_contexts": ["old"],
                "retrieved_context_ids": ["new"],
                "reference_contexts": ["a text"],
            },
            "unscored",
        ),
    ],
)
def test_a_sample_without_references(fields: dict[str, Any], status: str) -> None:
    """A sample that only forbids contexts is undefined; a failed reading of texts is unscored."""
    assert TextRecall().score(**fields).status == status


def test_claims_of_a_judge_leave_no_part_out() -> None:
    """If the judge splits the reference, the note does not list the reference's headings."""
    replies = ['{"items": ["The proxy listens on port 8080."]}', reply(verdict(1, "supported", 1))]
    sample = Sample(
        reference=REFERENCE, retrieved_contexts=["It listens on port 8080."], user_input="port?"
    )
    result = judged(replies, sample, require_evidence=False)
    assert (result.status, result.note) == ("scored", "")


def test_repeated_ids_count_at_their_first_rank() -> None:
    """In a list of any length, an ID that occurs twice is found at its first rank."""
    for others in (1, 100, 60_000):
        retrieved = ["a", *(f"x{number}" for number in range(others)), "a", "b"]
        result = IdRecall().score(retrieved_ids=retrieved, expected_ids=["a", "b"])
        assert (result[Recall @ 1], result[Recall @ (others + 2)], result.score) == (0.5, 0.5, 1.0)


def test_a_forbidden_reference_is_an_error_in_every_row() -> None:
    """Mappings that are scored as columns are checked like samples."""
    rows = [
        {"retrieved_ids": ["a"], "expected_ids": ["a"], "forbidden_ids": None},
        {"retrieved_ids": ["a"], "expected_ids": ["a"], "forbidden_ids": ["a"]},
    ]
    with pytest.raises(InputError, match="is a reference and forbidden"):
        evaluate(rows, IdRecall(), progress=False)


def test_a_sample_and_fields() -> None:
    """A sample together with fields is a `TypeError`, not a sample without these fields."""
    sample = Sample(retrieved_ids=["a"], expected_ids=["a"])
    with pytest.raises(TypeError, match="not both"):
        IdRecall().score(sample, retrieved_ids=["b"])
    with pytest.raises(InputError, match="got int"):
        IdRecall().score(3)  # type: ignore[arg-type]


def test_values_of_a_result_need_a_measure() -> None:
    """Anything but a measure is an error, also for a row of a report; an unscored row has None."""
    report = evaluate(
        [
            {"retrieved_ids": ["a"], "expected_ids": ["a"]},
            {"expected_ids": ["a"]},
            {"retrieved_ids": ["c"], "expected_ids": ["b"], "forbidden_ids": ["c"]},
            {"retrieved_ids": ["c", "b"], "expected_ids": ["b"], "forbidden_ids": ["a"]},
        ],
        IdRecall(),
        progress=False,
    )
    results = [row.results[0] for row in report]
    assert [result[Recall] for result in results] == [1.0, None, 0.0, 1.0]
    for result in (*results, IdRecall().score(retrieved_ids=["a"], expected_ids=["a"])):
        with pytest.raises(ParameterError, match="expected a measure"):
            result["recall"]  # type: ignore[index]
