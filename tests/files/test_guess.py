"""Plans: guesses from columns, and the errors that used to be silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fullrecall import IdRecall, Sample, evaluate
from fullrecall._util.naming import options
from fullrecall.errors import InputError
from fullrecall.measures import Recall
from fullrecall.read import from_rows, plan_of, read, write_jsonl


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
    """A file with an ambiguous column is an error: each of these once gave a wrong number."""
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
    """Gold columns are never a retrieval, counts never references; a page needs its document."""
    (sample,) = from_rows([{"question": "Who?", **columns}])
    assert ids({"question": "Who?", **columns}) == found
    assert not sample.has_retrieval


ORDINARY: list[tuple[dict[str, Any], dict[str, str]]] = [
    # A column named with a noun for documents has IDs, even without file endings.
    ({"question": "Who {n}?", "answer": "Ann {n}", "doc_id": "pricing-{n}"},
     {"user_input": "question", "reference": "answer", "reference_context_ids": "doc_id"}),
    ({"input": "Who {n}?", "expected": "Ann{n}", "context_ids": ["doc_{n}"]},
     {"user_input": "input", "reference": "expected", "reference_context_ids": "context_ids"}),
    ({"query": "Who {n}?", "expected_chunks": ["chunk_{n}"]},
     {"user_input": "query", "reference_context_ids": "expected_chunks"}),
    ({"question": "Who {n}?", "answer": "Ann {n}", "metadata": {"source": "tides.md"}},
     {"user_input": "question", "reference": "answer", "reference_context_ids": "metadata.source"}),
    # The values decide whether an ambiguous name means answers or IDs.
    ({"question": "Who {n}?", "gold": "Ann and {n}"},
     {"user_input": "question", "reference": "gold"}),
    ({"query": "Who {n}?", "relevant": ["kn-{n}"]},
     {"user_input": "query", "reference_context_ids": "relevant"}),
    ({"question": "Who {n}?", "answer": "Ann {n}", "reference": "doc-{n}"},
     {"user_input": "question", "reference": "answer", "reference_context_ids": "reference"}),
    ({"question": "Who {n}?", "expected_sources": ["a.md"], "expected_route": "vector"},
     {"user_input": "question", "reference_context_ids": "expected_sources"}),
    # Points of an answer are claims, not alternative answers.
    ({"question": "Who {n}?", "expected_doc_ids": ["d{n}"], "answer_points": ["Ann", "at noon"]},
     {"user_input": "question", "reference_context_ids": "expected_doc_ids",
      "reference_claims": "answer_points"}),
    # The name of an ID is not mistyped.
    ({"q_id": "{n}", "question": "Who {n}?", "gold_node_ids": ["d{n}"]},
     {"user_input": "question", "reference_context_ids": "gold_node_ids", "id": "q_id"}),
    # IDs of documents are the references, or the retrieval beside other references.
    ({"query": "Who {n}?", "documents": ["doc-{n}"]},
     {"user_input": "query", "reference_context_ids": "documents"}),
    ({"query": "Who {n}?", "documents": ["doc-7", "doc-{n}"], "gold_doc": "doc-{n}"},
     {"user_input": "query", "reference_context_ids": "gold_doc",
      "retrieved_context_ids": "documents"}),
    # Beside a retrieval, an answer is the generated one.
    ({"question": "Who {n}?", "retrieved_sources": ["d2"], "expected_sources": ["d{n}"],
      "answer": "Ann {n}"},
     {"user_input": "question", "response": "answer", "retrieved_context_ids": "retrieved_sources",
      "reference_context_ids": "expected_sources"}),
    # A number of hits is not a retrieval, and one document may be the reference of every row.
    ({"question": "Who {n}?", "min_hits": 2, "gold_doc_ids": ["d1"]},
     {"user_input": "question", "reference_context_ids": "gold_doc_ids"}),
]  # fmt: skip


def filled(value: Any, number: int) -> Any:
    """Return a value with a number in place of `{n}`."""
    if isinstance(value, dict):
        return {name: filled(each, number) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, number) for each in value]
    return value.replace("{n}", str(number)) if isinstance(value, str) else value


@pytest.mark.parametrize(("row", "line"), ORDINARY, ids=[", ".join(row) for row, _ in ORDINARY])
def test_ordinary_columns_are_not_asked_about(row: dict[str, Any], line: dict[str, str]) -> None:
    """Ordinary columns have only one plausible reading, for one row or many."""
    for count in (1, 2, 8):
        samples = from_rows([filled(row, n) for n in range(count)])
        assert len(list(samples)) == count
        assert samples.plan is not None
        assert dict(samples.plan.fields) == line


@pytest.mark.parametrize(
    "columns",
    [
        {"doc_version": "v{n}.2"},
        {"paper_year": 2001},
        {"documents_found": 3},
        {"article": "der"},
        {"doc_id": "d{n}", "label": 1},
        {"expected": "PASS", "doc_id": "d{n}"},
        {"doc_id": "d{n}", "latency_ms": 30},
        {"chunk_ids": ["c{n}", "c2", "c3"]},
    ],
)
def test_a_property_of_documents_is_never_read_as_references(columns: dict[str, Any]) -> None:
    """A column of another property of documents, or of a run, is never read as references."""
    for count in (1, 2, 8):
        rows = [
            filled({"question": "Who {n}?", "answer": "Ann {n}", **columns}, n)
            for n in range(count)
        ]
        try:
            samples = list(from_rows(rows))
        except InputError:
            continue
        assert not any(sample.reference_context_ids for sample in samples)


@pytest.mark.parametrize(
    ("value", "field"),
    [(["tides.md"], "reference_context_ids"), ("At high water", "reference")],
)
def test_a_mapping_of_questions(value: Any, field: str, tmp_path: Path) -> None:
    """The keys of a mapping are questions unless they are IDs."""
    (tmp_path / "faq.json").write_text(json.dumps({"When?": value, "Why does it open?": value}))
    plan = plan_of(tmp_path / "faq.json")
    assert plan.line == {"user_input": "key", field: "value"}
    assert len(list(read(tmp_path / "faq.json"))) == 2


def test_columns_that_no_field_takes_are_metadata(tmp_path: Path) -> None:
    """Columns that no field takes are metadata, unless left out; the index of pandas is dropped."""
    path = tmp_path / "a.csv"
    path.write_text("Unnamed: 0,question,gold_id,type,note\n0,Who?,d1,fact,x\n1,Why?,d2,,y\n")
    assert next(read(path)).metadata == {"type": "fact", "note": "x"}
    renamed = read(path, rename={"type": "metadata.kind", "note": None})
    assert [sample.metadata for sample in renamed] == [{"kind": "fact"}, {}]
    assert list(plan_of(path).left_out) == ["Unnamed: 0"]


def test_a_row_with_other_columns_has_a_plan_of_its_own() -> None:
    """References under another name, later in the file, are read and not kept as metadata."""
    first = [{"question": "a", "gold_ids": ["x"]}] * 200
    *_, last = from_rows([*first, {"question": "b", "relevant_docs": ["y"]}])
    assert [group.any_of for group in last.reference_context_ids or ()] == [("y",)]


def test_a_field_that_the_file_lacks_is_not_guessed() -> None:
    """`fields={"x": None}` keeps a field empty."""
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
    row = {"question": "q", "contexts": search("q"), "retrieved_ids": ["x", "y", "z"]}
    (sample,) = from_rows([row], id_key="doc")
    assert sample.retrieved_context_ids == ("a", "a", "b")


def plan_for(rows: Any, tmp_path: Path) -> Any:
    """Return the plan of a JSON file, or the error."""
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return plan_of(path)


@pytest.mark.parametrize(
    ("values", "doubts"),
    [
        (["doc_114", "doc_9"], 0),  # one series
        (["covid-19", "shop-owner"], 1),
        ([4411, 4417], 1),
        ([["kb-1", "kb-2"], ["kb-3"]], 0),
    ],
)
def test_a_reference_that_holds_ids_is_not_an_answer(
    values: list[Any], doubts: int, tmp_path: Path
) -> None:
    """IDs of one series, or in lists, are read as references; other values lead to a question."""
    rows = [{"question": f"Who {n}?", "reference": value} for n, value in enumerate(values)]
    plan = plan_for(rows, tmp_path)
    assert len(plan.doubts) == doubts
    assert plan.line == {"user_input": "question", "reference_context_ids": "reference"}
    ours = plan_for([{"user_input": "Who?", "reference": values[0]}], tmp_path)
    is_read_as_answer = ours.fields.get("reference") == "reference"
    assert is_read_as_answer == isinstance(values[0], int)  # One number may be an answer.


def test_an_answer_beside_reference_ids_may_look_like_one(tmp_path: Path) -> None:
    """An answer may look like an ID next to reference IDs, so `write_jsonl` writes null IDs."""
    samples = [Sample(user_input="Who?", reference="doc_1", reference_context_ids=ids)
               for ids in (None, ["a"])]  # fmt: skip
    write_jsonl(samples, tmp_path / "own.jsonl")
    assert list(read(tmp_path / "own.jsonl")) == samples
    row = {"question": "Who?", "reference": "covid-19", "expected_ids": ["a"]}
    assert plan_for([row], tmp_path).fields["reference"] == "reference"


def test_rows_in_several_lists_are_all_read(tmp_path: Path) -> None:
    """The rows of two documents or two splits are all read; deeper lists are an error."""
    rows = [{"question": "Who?", "expected_ids": ["a"]}]
    assert plan_for({"first": rows, "second": rows}, tmp_path).rows == "*"
    assert len(list(read(tmp_path / "rows.json"))) == 2
    with pytest.raises(InputError, match=r"data.first\[\] or data.second\[\]: pass rows="):
        plan_for({"data": {"first": rows, "second": rows}}, tmp_path)


def test_an_offset_is_not_a_place_in_a_document(tmp_path: Path) -> None:
    """An ID template joins pages and sections, but not offsets."""
    snippet = {"document": "a.html", "offsetInBeginSection": 3, "text": "The text that is meant."}
    plan = plan_for([{"question": "Who?", "snippets": [snippet]}], tmp_path)
    assert plan.fields["reference_context_ids"] == "snippets[].document"


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"pregunta": "¿Quién?", "documento_fuente": "a.pdf"}, "documento_fuente"),
        ({"问题": "谁", "参考文档": ["doc-8"]}, "参考文档"),
        ({"data.question": "Who?", "data.gold.ids": ["a"]}, '"data.gold.ids"'),
        (
            {"query": "Who?", "candidates": [{"pid": "a", "label": 1}]},
            "candidates[].{id: pid, grade: label}",
        ),
    ],
)
def test_names_in_other_languages_and_with_dots(
    row: dict[str, Any], path: str, tmp_path: Path
) -> None:
    """Column names in other languages are translated, and a dotted name counts by its last part."""
    plan = plan_for([row], tmp_path)
    assert plan.certain
    assert plan.fields["reference_context_ids"] == path


@pytest.mark.parametrize(
    "columns",
    [
        {"passages": ["Trout are fish.", "Carp are too."], "correct_passage": 1},
        {"doc1": "d4", "doc2": "d9"},
        {"retrieved_ground_truth": ["p-3"]},
        {"expect": {"articles": ["KB001"], "must_mention": ["nine"]}},
    ],
)
def test_references_of_an_unusual_form_are_asked_for(
    columns: dict[str, Any], tmp_path: Path
) -> None:
    """References in an unusual form, as a position or in numbered columns, lead to a question."""
    assert "reference_context_ids" in plan_for([{"question": "Who?", **columns}], tmp_path).line


@pytest.mark.parametrize(("words", "field"), [(6, "claims"), (60, "contexts")])
def test_sentences_are_never_proposed_as_ids(words: int, field: str, tmp_path: Path) -> None:
    """The advice for lists of sentences names claims, or texts if they are long."""
    sentences = [f"Step {n} comes {'before the next one ' * (words // 4)}here." for n in range(3)]
    plan = plan_for([{"question": f"What is {n}?", "steps": sentences} for n in "abc"], tmp_path)
    assert [(each.field, each.paths) for each in plan.doubts] == [
        (f"reference_{field}", ("steps",))
    ]


def test_lists_that_no_field_takes_are_asked_for(tmp_path: Path) -> None:
    """A file without known references is read only if no column may hold references."""
    assert not plan_for([{"question": "Who?", "authorities": ["A 1", "B 2"]}], tmp_path).certain
    assert plan_for([{"question": "Who?", "tags": ["A 1", "B 2"]}], tmp_path).certain


LONG = [("how to bake", "d12", True), ("how to bake", "d13", False), ("what is rye", "d3", True)]


@pytest.mark.parametrize("name", ["relevant", "is_relevant", "label", "Relevance"])
@pytest.mark.parametrize("form", [bool, int, str])
def test_a_row_for_each_document_is_a_judgment(name: str, form: type, tmp_path: Path) -> None:
    """Rows of one question are one sample, and a false flag is no reference, also by the plan."""
    rows = [
        {"query": query, "doc_id": document, "text": f"of {document}", name: form(flag)}
        for query, document, flag in LONG
    ]
    plan = plan_for(rows, tmp_path)
    for samples in (from_rows(rows), from_rows(rows, fields=plan.fields)):
        first, second = samples
        grades = {each.any_of[0]: each.grade for each in first.reference_context_ids}
        assert grades == {"d12": 1, "d13": 0}
        assert (first.user_input, second.user_input) == ("how to bake", "what is rye")
        assert first.reference_contexts is None


@pytest.mark.parametrize(
    "row",
    [
        {"query": "who", "relevance": 1},
        {"doc_id": "d1", "relevance": 1},
        {"query": None, "doc_id": "d1", "relevance": 1},
        {"query": ["who"], "doc_id": "d1", "relevance": 1},
        {"query": "who", "doc_id": ["d1"], "relevance": 1},
        {"query": "who", "doc_id": "d1", "relevance": None},
        {"query": "who", "doc_id": "d1", "relevance": "high"},
        {"query": "who", "doc_id": "d1", "relevance": float("inf")},
        "who",
    ],
    ids=str,
)
def test_a_later_row_that_is_no_judgment_is_refused(row: Any) -> None:
    """A row without a query, a document or a grade, below those that made the plan, is refused."""
    judged = [{"query": f"q{n // 2}", "doc_id": f"d{n}", "relevance": n % 2} for n in range(210)]
    with pytest.raises(InputError, match="expected a query, a document and a grade, got") as raised:
        list(from_rows([*judged, row]))
    assert raised.value.line == 211


def test_arrays_of_judged_documents_are_left_out() -> None:
    """The values of documents, such as their vectors, are not those of their query."""
    rows = [
        {"query": query, "doc_id": document, "relevant": flag, "vector": np.zeros(2)}
        for query, document, flag in LONG
    ]
    assert next(from_rows(rows)).metadata == {}


def test_labels_of_documents_are_asked_for(tmp_path: Path) -> None:
    """For labels that are neither numbers nor flags, the user has to say which are relevant."""
    rows = [
        {"query": query, "product_id": document, "esci_label": "EI"[not flag]}
        for query, document, flag in LONG
    ]
    plan = plan_for(rows, tmp_path)
    assert (plan.certain, plan.rows) == (False, "[esci_label=E]")
    assert plan.call.startswith(f"read({plan.file!r}, rows='[esci_label=E]', fields={{")
    with options("fullrecall", "read"):
        assert plan.call.startswith("fullrecall read --rows '[esci_label=E]' --field ")
    first, second = read(tmp_path / "rows.json", rows=plan.rows, fields=plan.line)
    assert [each.any_of for each in first.reference_context_ids] == [("d12",)]
    assert [each.any_of for each in second.reference_context_ids] == [("d3",)]


def test_pairs_of_a_question_and_a_document_are_one_sample() -> None:
    """Without a grade, rows that differ only in their relevant document are one sample."""
    rows = [{"question": query, "gold_doc": document} for query, document, _ in LONG]
    first, _ = from_rows(rows, fields={"reference_context_ids": "gold_doc"})
    assert [each.any_of[0] for each in first.reference_context_ids] == ["d12", "d13"]
    guessed, _ = from_rows([{"query": query, "positive_id": doc} for query, doc, _ in LONG])
    assert [each.any_of[0] for each in guessed.reference_context_ids] == ["d12", "d13"]
    dated = [{**row, "n": n} for n, row in enumerate(rows)]
    assert len(list(from_rows(dated, fields={"reference_context_ids": "gold_doc"}))) == 3


@pytest.mark.parametrize(
    "table",
    [
        {"question": ["a?", "b?"], "gold_ids": [["x"], ["y"]]},
        {"question": {"0": "a?", "1": "b?"}, "gold_ids": {"0": ["x"], "1": ["y"]}},
        {"columns": ["question", "gold_ids"], "data": [["a?", ["x"]], ["b?", ["y"]]]},
    ],
)  # fmt: skip
def test_a_table_by_columns(table: dict[str, Any], tmp_path: Path) -> None:
    """The three forms in which pandas and Hugging Face write a table by columns are rows."""
    plan_for(table, tmp_path)
    samples = list(read(tmp_path / "rows.json"))
    assert [sample.user_input for sample in samples] == ["a?", "b?"]
    assert [each.any_of for each in samples[1].reference_context_ids] == [("y",)]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"passages": {"is_selected": [0, 1], "url": ["http://a", "http://b"]}},
         {"reference_context_ids": "passages[is_selected].url"}),
        ({"output": [{"answer": "Ice floats.", "provenance": [{"wikipedia_id": "17"}]}]},
         {"reference": "output[0].answer",
          "reference_context_ids": "output[].provenance[].wikipedia_id"}),
        ({"links": ["http://a", "http://b"], "link_1": "http://a", "link_2": "http://b"},
         {"reference_context_ids": "links"}),
        ({"item": {"expected_docs": ["a.md"]}},
         {"reference_context_ids": "item.expected_docs"}),
    ],
)  # fmt: skip
def test_fields_within_objects(row: dict[str, Any], line: dict[str, str], tmp_path: Path) -> None:
    """Fields are found within objects, and in objects of parallel lists as Hugging Face has."""
    plan = plan_for([{"question": "Who?", **row}], tmp_path)
    assert plan.certain
    assert plan.fields == {"user_input": "question", **line}
