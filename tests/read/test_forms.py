"""Rows and files of other tools are samples, whatever the tool calls its columns."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.errors import InputError, ParameterError
from fullrecall.read import from_rows, read, text_files, write

HOTPOT = {
    "_id": "h1", "question": "Which film came first?", "answer": "Alpha", "type": "comparison",
    "level": "easy", "supporting_facts": [["Alpha (film)", 0], ["Beta (film)", 1]],
    "context": [["Alpha (film)", ["Alpha is of 1950. "]], ["Beta (film)", ["B.", "Beta: 1960."]],
                ["Other", ["x"]]],
}  # fmt: skip
SQUAD = {
    "version": "2.0",
    "data": [{
        "title": "Mills",
        "paragraphs": [{
            "context": "The mill dates from 1502.",
            "qas": [
                {"id": "s1", "question": "When?",
                 "answers": [{"text": "1502", "answer_start": 20}]},
                {"id": "s2", "question": "Why?", "answers": [], "is_impossible": True},
            ],
        }],
    }],
}  # fmt: skip


def one(row: dict[str, Any], **options: Any) -> Sample:
    """Return the sample of a row."""
    (sample,) = from_rows([row], **options)
    return sample


def ids(sample: Sample) -> list[str]:
    """Return the single reference IDs."""
    return [name for reference in sample.reference_context_ids for name in reference.any_of]


def test_hotpotqa_as_published_and_as_hugging_face_has_it() -> None:
    """Pages are IDs, supporting sentences texts."""
    columns = {
        **{key: value for key, value in HOTPOT.items() if key != "_id"},
        "id": "h1",
        "supporting_facts": {"title": ["Alpha (film)", "Beta (film)"], "sent_id": [0, 1]},
        "context": {
            "title": [c[0] for c in HOTPOT["context"]],
            "sentences": [c[1] for c in HOTPOT["context"]],
        },
    }
    for row in (HOTPOT, columns):
        sample = one(row)
        assert (sample.id, sample.reference, ids(sample)) == (
            "h1",
            "Alpha",
            ["Alpha (film)", "Beta (film)"],
        )
        assert [g[0].text for g in sample.reference_contexts] == [
            "Alpha is of 1950.",
            "Beta: 1960.",
        ]


def test_squads_file_and_rows(tmp_path: Path) -> None:
    """A question without an answer has no references: undefined, not 0."""
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(SQUAD))
    answered, impossible = read(path)
    assert (answered.id, answered.reference, answered.group) == ("s1", "1502", "Mills")
    assert answered.reference_contexts[0][0].text == "The mill dates from 1502."
    assert impossible.reference_contexts == ()
    flat = {"id": "s1", "title": "Mills", "context": "C", "question": "When?",
            "answers": {"text": ["1502"], "answer_start": [20]}}  # fmt: skip
    assert one(flat).reference_contexts[0][0].text == "C"


def test_squads_answers_that_differ_are_kept(tmp_path: Path) -> None:
    """The first is the reference answer; all are in the metadata, and are written again."""
    text = "It was built in 1502, in the north."
    answers = {"text": ["1502", "in 1502", "1502"], "answer_start": [16, 13, 16]}
    sample = one({"id": "s1", "context": text, "question": "When?", "answers": answers})
    assert (sample.reference, sample.metadata) == ("1502", {"answers": ["1502", "in 1502"]})
    (again,) = write([sample], "squad").value
    assert again["answers"] == {"text": ["1502", "in 1502"], "answer_start": [16, 13]}


@pytest.mark.parametrize(
    "row",
    [
        HOTPOT,
        {"id": "1", "title": "t", "question": "Who?", "context": "Ann is.",
         "answers": {"text": ["Ann", "A."], "answer_start": [0, 0]}},
        {"inputs": {"question": "Who?"}, "outputs": {"answer": "Ann"}},
    ],
    ids=["hotpotqa", "squad", "langsmith"],
)  # fmt: skip
def test_what_a_user_puts_beside_another_tools_columns_is_kept(row: dict[str, Any]) -> None:
    """What was retrieved, by any of its names, and every other field of a sample."""
    (alone,) = from_rows([row])
    own = {"forbidden_ids": ["x"], "group": "g", "metadata": {"m": 1}}
    (sample,) = from_rows([{**row, **own, "retrieved_ids": ["Alpha (film)", "x"]}])
    assert sample.retrieved_context_ids == ("Alpha (film)", "x")
    assert (sample.forbidden_ids, sample.group) == (("x",), "g")
    assert sample.user_input == alone.user_input
    assert sample.reference == alone.reference
    if "inputs" not in row:  # whose metadata may be a part of the export
        assert dict(sample.metadata) == {"m": 1, **alone.metadata}
    (read_texts,) = from_rows([{**row, "contexts": ["Ann is."]}])
    assert [context.text for context in read_texts.retrieved_contexts or ()] == ["Ann is."]


def test_unknown_columns_are_listed_with_the_way_out() -> None:
    """One message names the columns, a renaming that works, and the fields."""
    with pytest.raises(InputError) as caught:
        one({"Frage": "Wo?", "Antwort": "Hier"})
    says = caught.value.problem
    assert "The columns are 'Frage', 'Antwort'" in says
    assert "rename={'Frage': 'user_input', 'Antwort': None}" in says
    assert "reference_context_ids" in says


def test_langsmith_as_json_lines_and_csv(tmp_path: Path) -> None:
    """Outputs are what is expected, an answer among them too."""
    row = {"id": "e1", "inputs": {"question": "q"}, "metadata": {"split": "x"},
           "outputs": {"answer": "a", "reference_context_ids": ["d1"]}}  # fmt: skip
    lines, cells, columns = (tmp_path / name for name in ("a.jsonl", "b.csv", "c.csv"))
    lines.write_text(json.dumps(row) + "\n")
    plain = {key: value if key == "id" else json.dumps(value) for key, value in row.items()}
    pd.DataFrame([plain]).to_csv(cells, index=False)
    flat = {"id": "e1", "input_question": "q", "output_answer": "a",
            "output_reference_context_ids": '["d1"]', "metadata_split": "x"}  # fmt: skip
    pd.DataFrame([flat]).to_csv(columns, index=False)
    for path in (lines, cells, columns):
        (sample,) = read(path)
        assert (sample.id, sample.user_input, sample.reference) == ("e1", "q", "a")
        assert ids(sample) == ["d1"]
        assert sample.response is None
        assert sample.metadata["split"] == "x"


COLUMNS = [
    ["_id", "question", "answer", "supporting_facts", "context"],
    ["id", "question", "context", "answers", "title"],
    ["inputs", "outputs", "metadata", "id"],
    ["input_question", "output_answer", "metadata_split"],
    ["input", "expected_output", "context", "retrieval_context", "name"],
]
ODD: list[Any] = [
    None,
    1,
    1.5,
    True,
    "",
    "a",
    "{",
    [],
    ["a"],
    [["T", 0]],
    [["T", "0"]],
    [["T", ["S."]]],
    [[[1], 0]],
    [{"text": "a"}],
    [{"answer": "a"}],
    [{"text": [1]}],
    {},
    {"text": 1},
    {"text": ["a"]},
    {"title": ["T"], "sent_id": [0]},
    {"title": ["T"], "sentences": []},
    {1: 2},
    object(),
]


@pytest.mark.parametrize("columns", COLUMNS, ids=lambda columns: columns[-2])
def test_a_row_of_another_form_is_an_input_error(columns: list[str]) -> None:
    """Whatever a stranger nests under a tool's names: an error that names the line, no crash."""
    draw = random.Random(1)
    lines = []
    for _ in range(400):
        row = {draw.choice([name, name, name, 7]): draw.choice(ODD) for name in columns}
        try:
            list(from_rows([row]))
        except InputError as error:
            lines.append(error.line)
    assert len(lines) > 100
    assert set(lines) == {1}


def test_a_row_that_only_looks_like_hotpotqa_is_named(tmp_path: Path) -> None:
    """The message says which form was meant, and renaming is the way out."""
    row = {"question": "q", "supporting_facts": ["a"], "context": "c"}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl:1: .*columns of hotpotqa, and not its form"):
        list(read(path))
    renamed = {"question": "user_input", "supporting_facts": "reference_ids", "context": None}
    (sample,) = read(path, rename=renamed)
    assert ids(sample) == ["a"]


@pytest.mark.parametrize("odd", [3, ["x"], [{"paragraphs": 3}], [{"paragraphs": [{"qas": ["x"]}]}]])
def test_squads_file_with_anything_else_within(odd: object, tmp_path: Path) -> None:
    """What is no article, paragraph or question is none."""
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": odd}), encoding="utf-8")
    with pytest.raises(InputError, match=r"holds no samples|unknown field 'data'"):
        list(read(path))


def test_deepevals_goldens() -> None:
    """`context` is what should be retrieved."""
    sample = one({"input": "q", "expected_output": "a", "context": ["c"], "source_file": "f"})
    assert (sample.user_input, sample.reference) == ("q", "a")
    assert sample.reference_contexts[0][0].text == "c"


@pytest.mark.parametrize("form", ["beir", "mteb"])
def test_folders_of_beir_and_mteb(tmp_path: Path, form: str) -> None:
    """Questions and grades of a split; another split by its name."""
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "one?"}\n')
    judged = {"query-id": "q1", "corpus-id": "d1", "score": 2}
    if form == "beir":
        (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    else:
        (tmp_path / "qrels/test.jsonl").write_text(json.dumps(judged) + "\n")
    (sample,) = read(tmp_path)
    assert (sample.user_input, sample.reference_context_ids[0].grade) == ("one?", 2)
    with pytest.raises(InputError, match="no judgments of the split 'dev': choose one of test"):
        list(read(tmp_path, format="dev"))
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q1 0 d1 1\n")
    assert [s.id for s in read(qrels, format="trec")] == ["q1"]


@pytest.mark.parametrize("name", ["user_input", "messages", "turns"])
def test_of_a_conversation_the_last_question_is_retrieved_for(name: str) -> None:
    """What came before is kept as history."""
    said = [("human", "Who built it?"), ("ai", "Barn."), ("user", "And when?"), ("ai", "1502")]
    messages = [{"type" if r == "human" else "role": r, "content": c} for r, c in said]
    sample = one({name: messages, "reference": "1502"})
    assert sample.user_input == "And when?"
    assert [m["content"] for m in sample.metadata["history"]] == ["Who built it?", "Barn."]
    with pytest.raises(InputError, match="no message of a user"):
        one({name: [{"role": "ai", "content": "x"}]})


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        ({"Question": "q"}, "user_input", "q"),
        ({"USER QUERY": "q"}, "user_input", "q"),
        ({"Ground Truth": "a text"}, "reference", "a text"),
        ({"ground_truth": ["only"]}, "reference", "only"),
        ({"ground_truth": ["d1", "d2"]}, "ids", ["d1", "d2"]),
        ({"expected": "Paris"}, "reference", "Paris"),
        ({"expected": ["d1"]}, "ids", ["d1"]),
        ({"relevant": "d1;d2"}, "ids", ["d1", "d2"]),
        ({"relevant": "One text of several words."}, "texts", ["One text of several words."]),
        ({"gold": ["a b c", "d e f"]}, "texts", ["a b c", "d e f"]),
        ({"gold-ids": [1, 2]}, "ids", ["1", "2"]),
        ({"Relevant Docs": ["d1"]}, "ids", ["d1"]),
    ],
)
def test_usual_names_in_any_case(row: dict[str, Any], field: str, value: Any) -> None:
    """A name that may mean an answer or references is told by what it holds."""
    sample = one(row)
    found = {
        "ids": lambda: ids(sample),
        "texts": lambda: [group[0].text for group in sample.reference_contexts],
    }.get(field, lambda: getattr(sample, field))
    assert found() == value


def test_what_may_be_an_answer_or_an_id_is_an_error() -> None:
    """The message says both ways out; either works."""
    with pytest.raises(InputError, match="may be an answer or an ID") as error:
        one({"Gold": "d1"})
    assert error.value.field == "Gold"
    assert ids(one({"Gold": ["d1"]}, rename={"Gold": "reference_ids"})) == ["d1"]
    assert one({"Gold": "d1"}, rename={"Gold": "reference"}).reference == "d1"


@pytest.mark.parametrize("text", ["d1", "doc_7", "docs/a.md", "42", "faq-a, faq-b", "#4;#5"])
def test_one_id_under_expected_is_no_answer(text: str) -> None:
    """It was scored as the claim of an answer, 0.0, without a word."""
    with pytest.raises(InputError, match="may be an answer or an ID"):
        one({"expected": text})
    assert one({"expected": text}, rename={"expected": "reference"}).reference == text


@pytest.mark.parametrize(
    "text", ["Paris", "Paris, Rome", "It was built in 1889.", "Jean-Luc Picard"]
)
def test_words_under_expected_are_an_answer(text: str) -> None:
    """IDs have digits or separators."""
    assert one({"expected": text}).reference == text


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_whose_lists_became_texts(library: Any) -> None:
    """As `read_csv` of pandas or polars gives them."""
    frame = library.DataFrame(
        {"Question": ["q"], "relevant_ids": ["['d1', 'd2']"], "retrieved_ids": ["d2;d3"]}
    )
    (sample,) = from_rows(frame)
    assert ids(sample) == ["d1", "d2"]
    assert sample.retrieved_context_ids == ("d2", "d3")


def test_id_key_of_rows_and_files(tmp_path: Path) -> None:
    """A dotted path, into metadata where the context lacks it, or a function."""
    row = {"question": "q", "contexts": [{"text": "t", "metadata": {"source": {"file": "a.md"}}}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    for key in ("metadata.source.file", "source.file", lambda c: c["metadata"]["source"]["file"]):
        assert one(row, id_key=key).retrieved_context_ids == ("a.md",)
        (sample,) = read(tmp_path / "a.jsonl", id_key=key)
        assert sample.retrieved_context_ids == ("a.md",)
    with pytest.raises(InputError, match=r"nothing at 'metadata\.page'"):
        one(row, id_key="metadata.page")
    with pytest.raises(ParameterError, match="id_key must be a dotted path or a function"):
        one(row, id_key=3)


def test_what_is_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packed bomb, a device, and messages that repeat the input."""
    monkeypatch.setattr(text_files, "MAX_TEXT_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b"[" + b" " * (4 << 20) + b"]"))
    with pytest.raises(InputError, match="holds more than 1 MiB as one text"):
        list(read(bomb))
    with pytest.raises(InputError, match="is a device, which may never end"):
        read("/dev/zero", format="jsonl")
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"column{n}" for n in range(5000)) + "\n1\n")
    with pytest.raises(InputError) as error:
        list(read(wide, rename={"missing": "id"}))
    assert len(str(error.value)) < 700


def test_evaluate_reads_rows_as_files_are_read() -> None:
    """Usual names in any case, and other tools' rows, need no reader of their own."""
    rows: list[dict[str, Any]] = [
        {"Question": "q", "Expected": ["d1", "d2"], "Retrieved IDs": ["d1"]},
        {"inputs": {"question": "q"}, "outputs": {"expected_ids": ["d1"]}, "retrieved_ids": ["d1"]},
        {"question": "q", "relevant": "d1;d3", "retrieved_ids": ["d3", "d1"], "notes": None},
    ]
    report = evaluate(rows, IdRecall(), progress=False)
    assert [row.results[0].score for row in report] == [0.5, 1.0, 1.0]
    assert [row.sample for row in report] == list(from_rows(rows))


def test_a_file_of_deepeval_is_known_by_its_columns(tmp_path: Path) -> None:
    """There `context` is what should be retrieved; beside others it may be what was."""
    case = {"input": "q", "expected_output": "a", "retrieval_context": ["b"], "context": ["c"]}
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([case]), encoding="utf-8")
    (sample,) = read(path)
    assert sample == Sample(
        user_input="q", reference="a", retrieved_contexts=["b"], reference_contexts=["c"]
    )
    with pytest.raises(InputError, match="unknown field 'context'"):
        one({"input": "q", "context": ["c"]})


def test_a_short_row_and_a_long_one_say_what_to_mend(tmp_path: Path) -> None:
    """Neither is guessed at."""
    path = tmp_path / "s.csv"
    for row, told in (("q,d1", "an empty cell as nothing"), ("q,d1,d2,d3", "hold the delimiter")):
        path.write_text(f"question,retrieved_ids,expected_ids\n{row}\n", encoding="utf-8")
        with pytest.raises(InputError, match=told):
            list(read(path))


def test_a_frames_columns_are_named_before_it_is_evaluated() -> None:
    """`evaluate` takes no `rename=`: its message names what does, and that works."""
    frame = pd.DataFrame({"Frage": ["Wo?"], "retrieved_ids": [["a"]], "expected_ids": [["a"]]})
    with pytest.raises(InputError, match=r"read\.from_rows\(rows, rename=…\)"):
        evaluate(frame, IdRecall(), progress=False)
    samples = from_rows(frame, rename={"Frage": "user_input"})
    assert evaluate(samples, IdRecall(), progress=False).summary()[0].mean == 1.0


@pytest.mark.parametrize("ending", ["tsv", "jsonl", "parquet"])
def test_beir_with_one_file_of_judgments(tmp_path: Path, ending: str) -> None:
    """In a folder with the questions, and alone: then without them."""
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Where?"}\n', encoding="utf-8")
    rows = [
        {"query-id": "q1", "corpus-id": "d1", "score": 2},
        {"query-id": "q1", "corpus-id": "d2", "score": 1},
    ]
    qrels = tmp_path / f"qrels.{ending}"
    if ending == "parquet":
        pd.DataFrame(rows).to_parquet(qrels)
    elif ending == "tsv":
        pd.DataFrame(rows).to_csv(qrels, sep="\t", index=False)
    else:
        pd.DataFrame(rows).to_json(qrels, orient="records", lines=True)
    for source, question in ((tmp_path, "Where?"), (qrels, None)):
        (sample,) = read(source)
        assert (sample.id, sample.user_input, ids(sample)) == ("q1", question, ["d1", "d2"])
        assert [group.grade for group in sample.reference_context_ids] == [2.0, 1.0]
