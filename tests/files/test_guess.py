"""Plans: what is guessed from columns, and the errors that used to be silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.errors import InputError
from fullrecall.measures import Recall
from fullrecall.read import from_rows, plan_of, read


def ids(row: dict[str, Any], **options: Any) -> list[str]:
    """Return the reference IDs of a row."""
    (sample,) = from_rows([row], **options)
    return [name for group in sample.reference_context_ids or () for name in group.any_of]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"expected_ids": [["a.pdf", 3]]}, r"expected_ids\[\]\.\{\[0\]\}#\{\[1\]\}"),
        ({"gold_lines": [["a.pdf", 3]]}, "documents with a page each, or with another number"),
        ({"contexts": ["t"], "ground_truth": "x"}, "may be what was retrieved"),
        ({"page": 3}, "page means nothing without its document"),
        ({"expected_sentiment": "positive"}, "expected_sentiment may hold IDs, texts"),
        ({"retreived_ids": ["a"]}, "retreived_ids may be mistyped"),
    ],
)
def test_a_doubt_is_asked(columns: dict[str, Any], says: str) -> None:
    """Each was once a number about something else, without a word."""
    with pytest.raises(InputError, match=says):
        list(from_rows([{"question": "Who?", **columns}]))


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"retrieval_gt": [["a", "b"], ["c"]]}, ["a", "b", "c"]),
        ({"relevant_files": ["Shift plan.pdf"]}, ["Shift plan.pdf"]),
        ({"gold_titles": ["The lime tree in front of the old vicarage"]},
         ["The lime tree in front of the old vicarage"]),
        ({"gold_doc": "d-1", "expected_rank": 2, "expected_chunk_count": 3}, ["d-1"]),
        ({"source_pdf": "a.pdf", "relevant_pages": "3, 4"}, ["a.pdf#3", "a.pdf#4"]),
        ({"evidence": "D1:5; D2:8"}, ["D1:5", "D2:8"]),
    ],
)  # fmt: skip
def test_references_by_names_and_values(columns: dict[str, Any], found: list[str]) -> None:
    """Gold names are never a retrieval; counts are no references; a page has its document."""
    (sample,) = from_rows([{"question": "Who?", **columns}])
    assert ids({"question": "Who?", **columns}) == found
    assert not sample.has_retrieval


def test_columns_that_no_field_takes_are_metadata(tmp_path: Path) -> None:
    """Named by the user, left out, or as they are; pandas' index goes."""
    path = tmp_path / "a.csv"
    path.write_text("Unnamed: 0,question,gold_id,type,note\n0,Who?,d1,fact,x\n1,Why?,d2,cause,y\n")
    assert next(read(path)).metadata == {"type": "fact", "note": "x"}
    renamed = read(path, rename={"type": "metadata.kind", "note": None})
    assert next(renamed).metadata == {"kind": "fact"}
    assert list(plan_of(path).left_out) == ["Unnamed: 0"]


def test_a_row_with_other_columns_has_a_plan_of_its_own() -> None:
    """References under another name, later in the file, are not kept as metadata."""
    first = [{"question": "a", "gold_ids": ["x"]}] * 200
    *_, last = from_rows([*first, {"question": "b", "relevant_docs": ["y"]}])
    assert [group.any_of for group in last.reference_context_ids or ()] == [("y",)]


def test_a_field_that_the_file_lacks_is_not_guessed() -> None:
    """`fields={"x": None}` says so."""
    row = {"question": "q", "answer": "a", "source": "wiki"}
    (sample,) = from_rows([row], fields={"reference_context_ids": None})
    assert (sample.reference, sample.metadata) == ("a", {"source": "wiki"})


def test_chunks_of_one_document_are_one_context() -> None:
    """`collapse` counts k in documents; `id_key` builds IDs as the references are built."""

    def search(_: str) -> list[dict[str, Any]]:
        pages = [("a", 1), ("a", 2), ("b", 1)]
        return [{"text": f"{d}{p}", "metadata": {"doc": d, "page": p}} for d, p in pages]

    def recall(expected: str, **options: Any) -> float | None:
        samples = [Sample(user_input="q", reference_context_ids=[expected])]
        report = evaluate(samples, IdRecall(), retriever=search, progress=False, **options)
        return report.summary(Recall @ 2)[0].mean

    assert recall("b", id_key="doc") == 0.0
    assert recall("b", id_key="doc", collapse=True) == 1.0
    assert recall("a#2", id_key="{doc}#{page}") == 1.0
