"""Signs of a wrong golden set are noted, and slices are compared."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, IdRecall, Retrieval, Sample, TextRecall, compare, evaluate
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import Recall
from fullrecall.stats.summary import suspicions


def notes(samples: list[Sample], scorer: Any) -> str:
    """Return the printed summary on one line."""
    return " ".join(str(evaluate(samples, scorer, progress=False).summary()).split())


def test_every_retrieved_list_equals_its_references() -> None:
    """The note appears from five samples on, if every list equals its references."""
    equal = [Sample(retrieved_ids=[f"d{n}"], expected_ids=[f"d{n}"]) for n in range(5)]
    assert "every retrieved list equals its references, in all 5" in notes(equal, IdRecall())
    other = Sample(retrieved_ids=["x", "d9"], expected_ids=["d9"])
    assert "equals its references" not in notes([*equal, other], IdRecall())
    assert "equals its references" not in notes(equal[:4], IdRecall())


def test_a_retrieval_of_a_test_sets_own_columns() -> None:
    """A retrieval that comes from a generated test set's own columns is noted."""
    fields: dict[str, Any] = {"retrieved_contexts": ["a b"], "reference": "a"}
    sample = Sample(**fields, reference_context_ids=["x"], metadata={"evolution_type": "simple"})
    assert "1 sample come from a generated test set (evolution_type)" in notes([sample], IdRecall())
    assert "generated" not in notes([Sample(**fields, reference_context_ids=["x"])], IdRecall())


def test_text_references_that_are_ids() -> None:
    """A text reference that is a file's name is noted: it scores 0.0 with a perfect retriever."""
    context = {"text": "The shift begins at six.", "metadata": {"file": "Shift plan.pdf"}}
    sample = Sample(retrieved_contexts=[context], reference_contexts=["Shift plan.pdf"])
    assert "'Shift plan.pdf' is the file of a retrieved context" in notes([sample], TextRecall())


def test_reports_are_compared_by_slices() -> None:
    """Each value of a field has a comparison, and the intervals hold for all together."""

    def report(found: dict[str, bool]) -> Any:
        samples = [
            Sample(
                id=f"{kind}{n}",
                retrieved_ids=["x" if found[kind] else "y"],
                expected_ids=["x"],
                metadata={"kind": kind},
            )
            for kind in found
            for n in range(30)
        ]
        return evaluate(samples, IdRecall(), progress=False)

    before, after = report({"a": True, "b": True}), report({"a": True, "b": False})
    comparison = compare(before, after, Recall @ 1, slices="kind")
    assert {v: c[0][Recall @ 1].difference for v, c in comparison.slices.items()} == {
        "a": 0.0,
        "b": -1.0,
    }
    assert comparison.slices["a"].confidence == pytest.approx(0.975)
    assert "samples by kind: a 30, b 30" in str(comparison)
    assert comparison.to_dict()["slices"]["b"][0]["differences"][0]["difference"] == -1.0
    with pytest.raises(ReportError, match="no sample has 'sort'"):
        compare(before, after, slices="sort")
    with pytest.raises(ParameterError, match="slices is for two reports"):
        compare({"a": before, "b": after}, slices="kind")


EQUAL = Sample(retrieved_ids=["a"], expected_ids=["a"])
OTHER = Sample(retrieved_ids=["b"], expected_ids=["a"])
TEXTS = Sample(retrieved_contexts=["one"], reference_contexts=["one"])
OTHER_TEXTS = Sample(retrieved_contexts=["two"], reference_contexts=["one"])


@pytest.mark.parametrize(
    ("samples", "compared"),
    [
        ([EQUAL] * 4, 0),
        ([EQUAL] * 5, 5),
        ([TEXTS] * 5, 5),
        ([*[EQUAL] * 5, OTHER], 0),
        ([OTHER, *[EQUAL] * 5], 0),
        ([*[TEXTS] * 5, OTHER_TEXTS], 0),
        ([*[EQUAL] * 5, Sample(retrieved_ids=["b"])], 5),  # nothing to compare with
        ([*[EQUAL] * 5, Sample(expected_ids=["a"])], 5),  # nothing retrieved
        ([*[EQUAL] * 4, Sample(expected_ids=["a"])], 0),
        ([*[EQUAL] * 1000, OTHER], 1000),
        ([*[EQUAL] * 999, OTHER], 0),
    ],
)
def test_copied_references(samples: list[Sample], compared: int) -> None:
    """All of at least five lists among the first thousand samples equal their references."""
    found = [sign for sign in suspicions(samples) if "every retrieved list" in sign]
    assert [f"in all {compared:,} samples" in sign for sign in found] == [True] * bool(compared)


def test_generated_columns() -> None:
    """Only contexts that are read as the retrieval are a sign; the first column is named."""
    marks = {"query_style": "plain", "persona_name": "Ada", "topic": "x"}
    generated = Sample(retrieved_contexts=["t"], reference="r", metadata=marks)
    signs = list(suspicions([Sample(retrieved_contexts=["t"]), generated, generated]))
    assert [sign.partition(":")[0] for sign in signs] == [
        "the retrieved contexts of 2 samples come from a generated test set (persona_name)"
    ]
    others: list[dict[str, Any]] = [
        {"reference_contexts": ["u"], "retrieved_contexts": ["t"]},
        {"retrieval": Retrieval(contexts=[Context("t")])},
        {"retrieved_contexts": []},
    ]
    assert not list(suspicions([Sample(metadata=marks, **fields) for fields in others]))


@pytest.mark.parametrize(
    ("context", "label"),
    [
        ({"text": "t", "id": "d1"}, "id"),
        ({"text": "t", "source": "d1"}, "source"),
        ({"text": "t", "metadata": {"n": 1, "file": "d1"}}, "file"),
        ({"text": "d1", "id": "d1"}, None),
        ({"text": "t", "id": "d2", "metadata": {"n": 1}}, None),
    ],
)
def test_labels_among_the_references(context: dict[str, Any], label: str | None) -> None:
    """A text reference that is a label of a context, and not its text, is a sign."""
    other = Sample(retrieved_contexts=["t"], reference_contexts=["u"])
    sample = Sample(retrieved_contexts=["t", context], reference_contexts=["u", "d1"])
    again = Sample(retrieved_contexts=[{"text": "v", "id": "d9"}], reference_contexts=["d9"])
    named = [sign for sign in suspicions([other, sample]) if "not its text" in sign]
    assert [f"'d1' is the {label} of a" in sign for sign in named] == [True] * (label is not None)
    (first,) = [sign for sign in suspicions([again, sample]) if "not its text" in sign]
    assert "'d9' is the id of a" in first
