"""Rows and files of other tools are read as samples, by each tool's column names."""

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
from fullrecall.files import text_files
from fullrecall.read import from_rows, read


def one(row: dict[str, Any], **options: Any) -> Sample:
    """Return the sample of a row."""
    (sample,) = from_rows([row], **options)
    return sample


def ids(sample: Sample) -> list[str]:
    """Return the single reference IDs."""
    return [name for reference in sample.reference_context_ids for name in reference.any_of]


def test_what_a_user_puts_beside_another_tools_columns_is_kept() -> None:
    """Retrieved contexts, by any of their names, and every other field of a sample are kept."""
    row = {"inputs": {"question": "Who?"}, "outputs": {"answer": "Ann"}}
    (alone,) = from_rows([row])
    own = {"forbidden_ids": ["x"], "group": "g", "metadata": {"m": 1}}
    (sample,) = from_rows([{**row, **own, "retrieved_ids": ["Alpha (film)", "x"]}])
    assert sample.retrieved_context_ids == ("Alpha (film)", "x")
    assert sample.forbidden_ids == ("x",)
    assert (sample.user_input, sample.reference) == (alone.user_input, alone.reference)
    (read_texts,) = from_rows([{**row, "contexts": ["Ann is."]}])
    assert [context.text for context in read_texts.retrieved_contexts or ()] == ["Ann is."]


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        ({"expected": "d1", "retrieved": ["d2"]},
         {"reference_context_ids": "expected", "retrieved_context_ids": "retrieved"}),
        ({"retreived_ids": ["d1"]}, {"retrieved_context_ids": "retreived_ids"}),
        ({"source": "crm"}, {"reference_context_ids": "source"}),
    ],
)  # fmt: skip
def test_a_doubt_is_an_error_with_the_plan(columns: dict[str, Any], line: dict[str, str]) -> None:
    """`from_rows` accepts the plan that the error proposes."""
    row = {"question": "q", **columns}
    with pytest.raises(InputError) as caught:
        one(row)
    plan = {**line, "user_input": "question"}
    *_, advice, call = caught.value.problem.splitlines()
    assert advice == "this reads it, if the proposals are right:"
    assert "no field takes" not in caught.value.problem
    assert eval(call.removeprefix("from_rows(rows, fields=").removesuffix(")")) == plan  # noqa: S307
    assert one(row, fields=plan).user_input == "q"


def test_one_of_several_columns_is_chosen_by_the_user() -> None:
    """The error shows one call for each candidate column, and each call reads its column."""
    row = {"question": "q", "gold": ["d1"], "expected": ["d2"]}
    with pytest.raises(InputError, match="gold and expected may hold IDs") as caught:
        one(row)
    *_, advice, first, last = caught.value.problem.splitlines()
    assert advice == "one of these reads it:"
    read_ids = [ids(eval(call, {"from_rows": from_rows, "rows": [row]}).__next__())  # noqa: S307
                for call in (first, last)]  # fmt: skip
    assert read_ids == [["d1"], ["d2"]]


def test_unknown_columns_are_listed_with_the_way_out() -> None:
    """The message names all columns, and the fields that are missing."""
    with pytest.raises(InputError) as caught:
        one({"Inquisitum": "Ubi", "Dictum": "Hic"})
    says = caught.value.problem
    assert "with a path in place of each ?, or None for one that it lacks" in says
    assert "columns: Inquisitum, Dictum\n" in says
    assert "fields={'user_input': '?', 'reference_context_ids': '?'}" in says


def test_langsmith_as_json_lines_and_csv(tmp_path: Path) -> None:
    """LangSmith's outputs are references: the answer in them is the reference answer."""
    row = {"id": "e1", "inputs": {"question": "q"}, "metadata": {"split": "x"},
           "outputs": {"answer": "a", "reference_context_ids": ["d1"]}}  # fmt: skip
    lines, cells = (tmp_path / name for name in ("a.jsonl", "b.csv"))
    lines.write_text(json.dumps(row) + "\n")
    plain = {key: value if key == "id" else json.dumps(value) for key, value in row.items()}
    pd.DataFrame([plain]).to_csv(cells, index=False)
    for path in (lines, cells):
        (sample,) = read(path)
        assert (sample.id, sample.user_input, sample.reference) == ("e1", "q", "a")
        assert ids(sample) == ["d1"]
        assert sample.response is None
        assert sample.metadata["split"] == "x"


COLUMNS = [
    ["inputs", "outputs", "metadata", "id"],
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
    """Foreign values under a tool's names raise an `InputError` that names the line."""
    draw = random.Random(1)
    lines = []
    for _ in range(400):
        row = {draw.choice([name, name, name, 7]): draw.choice(ODD) for name in columns}
        try:
            list(from_rows([row]))
        except InputError as error:
            lines.append(error.line)
    assert len(lines) > 100
    assert set(lines) <= {1, None}


def test_deepevals_goldens() -> None:
    """In DeepEval's goldens `context` is the reference contexts."""
    sample = one({"input": "q", "expected_output": "a", "context": ["c"], "source_file": "f"})
    assert (sample.user_input, sample.reference) == ("q", "a")
    assert sample.reference_contexts[0][0].text == "c"


def test_folders_of_beir(tmp_path: Path) -> None:
    """A BEIR folder gives the questions and grades of its test split, or of a named one."""
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "one?"}\n')
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    (sample,) = read(tmp_path)
    assert (sample.user_input, sample.reference_context_ids[0].grade) == ("one?", 2)
    with pytest.raises(InputError, match="no judgments of the split 'dev': choose one of test"):
        list(read(tmp_path, format="dev"))
    (tmp_path / "qrels/dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td1\t2\n")
    with pytest.raises(InputError, match=r"the query 'q2' of dev.tsv is not in queries.jsonl"):
        list(read(tmp_path, format="dev"))


@pytest.mark.parametrize("name", ["user_input", "messages", "turns"])
def test_of_a_conversation_the_last_question_is_retrieved_for(name: str) -> None:
    """Retrieval is for the last user message of a conversation, in either form of messages."""
    said = [("human", "Who built it?"), ("ai", "Barn."), ("user", "And when?"), ("ai", "1502")]
    messages = [{"type" if r == "human" else "role": r, "content": c} for r, c in said]
    sample = one({name: messages, "reference": "1502"})
    assert sample.user_input == "And when?"
    assert [m["content"] for m in sample.metadata["history"]] == ["Who built it?", "Barn."]
    for turn in ("x", 5):
        with pytest.raises(InputError, match="user_input: expected one str"):
            one({name: [*messages, turn], "reference": "1502"})
    with pytest.raises(InputError, match="user_input: expected one str"):
        one({name: [{"role": "ai", "content": "x"}]})


def test_two_questions_of_another_form_are_refused() -> None:
    """Two questions of another form are refused, since neither is a text."""
    with pytest.raises(InputError, match=r"user_input: expected one str, got dict \{'a': 'x'\}"):
        one({"question": {"a": "x"}, "query": {"b": "x"}, "retrieved_context_ids": ["a"]})


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        ({"Question": "q"}, "user_input", "q"),
        ({"USER QUERY": "q"}, "user_input", "q"),
        ({"Ground Truth": "a text"}, "reference", "a text"),
        ({"ground_truth": ["only"]}, "reference", "only"),
        ({"Gold Passages": ["a b c", "d e f"]}, "texts", ["a b c", "d e f"]),
        ({"gold-ids": [1, 2]}, "ids", ["1", "2"]),
        ({"Relevant Docs": ["d1"]}, "ids", ["d1"]),
    ],
)
def test_usual_names_in_any_case(row: dict[str, Any], field: str, value: Any) -> None:
    """Usual column names are known in any case."""
    sample = one(row)
    found = {
        "ids": lambda: ids(sample),
        "texts": lambda: [group[0].text for group in sample.reference_contexts],
    }.get(field, lambda: getattr(sample, field))
    assert found() == value


@pytest.mark.parametrize("name", ["expected", "Gold", "relevant", "ground_truth"])
def test_what_may_be_an_answer_or_ids_is_an_error(name: str) -> None:
    """A column that may hold an answer or IDs is refused, since a wrong guess would score 0."""
    with pytest.raises(InputError, match=f"{name} may hold IDs, texts"):
        one({name: ["d1", "d2"]})
    assert ids(one({name: ["d1", "d2"]}, rename={name: "reference_ids"})) == ["d1", "d2"]
    assert one({name: "d1"}, rename={name: "reference"}).reference == "d1"


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_whose_lists_became_texts(library: Any) -> None:
    """List cells that `read_csv` of pandas or polars returns as texts are read as lists."""
    frame = library.DataFrame(
        {"Question": ["q"], "relevant_ids": ["['d1', 'd2']"], "retrieved_ids": ["d2;d3"]}
    )
    (sample,) = from_rows(frame)
    assert ids(sample) == ["d1", "d2"]
    assert sample.retrieved_context_ids == ("d2", "d3")


def test_id_key_holds_wherever_the_contexts_come_from(tmp_path: Path) -> None:
    """`id_key` applies to whole responses, to samples that were read before, and to records."""
    hits = [{"_id": "u1", "_source": {"doc": "a", "body": "text"}}]
    rows = [
        {"query": "q", "expected_ids": ["a"], "retrieved_documents": {"hits": {"hits": hits}}},
        {"query": "q", "expected_ids": ["a"], "retrieved_documents": hits},
        {"query": "q", "expected_ids": ["a"], "retrieval": {"contexts": [
            {"id": "u1", "text": "text", "metadata": {"doc": "a"}}, {"id": "u2", "text": "note"}]}},
    ]  # fmt: skip
    for number, row in enumerate(rows):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(row), encoding="utf-8")
        for samples in ([row], read(path), [*read(path)], from_rows([row])):
            report = evaluate(samples, IdRecall(), id_key="doc", progress=False)
            assert report.rows[0].results[0].score == 1.0
    assert report.rows[0].sample.retrieved_context_ids == ("a", None)


def test_id_key_without_contexts_is_an_error() -> None:
    """`id_key` without contexts is an error, in rows as in samples: IDs have no other field."""
    row = {"expected_ids": ["a"], "retrieved_ids": ["u1"]}
    for samples in ([row], [Sample(**row)]):
        with pytest.raises(InputError, match="id_key= reads a field of the retrieved contexts"):
            evaluate(samples, IdRecall(), id_key="doc", progress=False)


def test_id_key_of_rows_and_files(tmp_path: Path) -> None:
    """`id_key` is a dotted path, looked up in metadata too, or a function."""
    row = {"question": "q", "contexts": [{"text": "t", "metadata": {"source": {"file": "a.md"}}}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    for key in ("metadata.source.file", "source.file", lambda c: c["metadata"]["source"]["file"]):
        assert one(row, id_key=key).retrieved_context_ids == ("a.md",)
        (sample,) = read(tmp_path / "a.jsonl", id_key=key)
        assert sample.retrieved_context_ids == ("a.md",)
    with pytest.raises(InputError, match=r"nothing at 'metadata\.page'"):
        one(row, id_key="metadata.page")
    with pytest.raises(ParameterError, match="id_key must be a field, a dotted path, several"):
        one(row, id_key=3)


def test_what_is_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed bomb is an error, and a message with 5,000 columns stays short."""
    monkeypatch.setattr(text_files, "MAX_TEXT_LENGTH", 1 << 20)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b"[" + b" " * (4 << 20) + b"]"))
    with pytest.raises(InputError, match="holds more than 1,048,576 characters as one text"):
        list(read(bomb))
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"column{n}" for n in range(5000)) + "\n1" + "," * 4999 + "\n")
    with pytest.raises(InputError) as error:
        list(read(wide, rename={"missing": "id"}))
    assert "column4999" in str(error.value)


def test_evaluate_reads_rows_as_files_are_read() -> None:
    """`evaluate` reads rows of other tools, and names in any case, without a reader."""
    rows: list[dict[str, Any]] = [
        {"Question": "q", "Expected IDs": ["d1", "d2"], "Retrieved IDs": ["d1"]},
        {"inputs": {"question": "q"}, "outputs": {"expected_ids": ["d1"]}, "retrieved_ids": ["d1"]},
        {"question": "q", "Gold Docs": ["d1", "d3"], "retrieved_ids": ["d3", "d1"], "notes": None},
    ]
    report = evaluate(rows, IdRecall(), progress=False)
    assert [row.results[0].score for row in report] == [0.5, 1.0, 1.0]
    assert [row.sample for row in report] == list(from_rows(rows))


def test_a_file_of_deepeval_is_known_by_its_columns(tmp_path: Path) -> None:
    """In a DeepEval file `context` is the reference contexts; elsewhere it is ambiguous."""
    case = {"input": "q", "expected_output": "a", "retrieval_context": ["b"], "context": ["c"]}
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([case]), encoding="utf-8")
    (sample,) = read(path)
    assert sample == Sample(
        user_input="q", reference="a", retrieved_contexts=["b"], reference_contexts=["c"]
    )
    with pytest.raises(InputError, match="context may be what was retrieved, or"):
        one({"input": "q", "context": ["c"]})


def test_a_short_row_and_a_long_one_say_what_to_mend(tmp_path: Path) -> None:
    """A row that is shorter or longer than the header is an error with a fix."""
    path = tmp_path / "s.csv"
    for row, told in (("q,d1", "an empty cell as nothing"), ("q,d1,d2,d3", "hold the delimiter")):
        path.write_text(f"question,retrieved_ids,expected_ids\n{row}\n", encoding="utf-8")
        with pytest.raises(InputError, match=told):
            list(read(path))


def test_a_frames_columns_are_named_before_it_is_evaluated() -> None:
    """`evaluate` takes no `fields=`, so its error about a frame proposes `from_rows`."""
    frame = pd.DataFrame({"Frage": ["Wo?"], "context": ["a"], "expected_ids": [["a"]]})
    with pytest.raises(InputError, match="context may be what was retrieved"):
        evaluate(frame, IdRecall(), progress=False)
    samples = from_rows(frame, fields={"user_input": "Frage", "retrieved_context_ids": "context"})
    assert evaluate(samples, IdRecall(), progress=False).summary()[0].mean == 1.0


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("gold.XLSX", "pandas.read_excel(path) to from_rows"),
        ("guide.pdf", "is a document, not a file of samples"),
        ("app.py", "its function as the retriever"),
        ("gold", "the name does not show the format: pass format="),
    ],
)
def test_files_of_another_kind_say_the_way_out(tmp_path: Path, name: str, way: str) -> None:
    """The error for a file of another kind proposes no format, since no format fits."""
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(InputError) as raised:
        [*read(tmp_path / name)]
    assert way in str(raised.value)
    assert ("format=" in str(raised.value)) == ("format=" in way)


def test_columns_that_may_hold_the_retrieval_are_named() -> None:
    """A column that may hold the retrieval is named in the plan and in the sample's error."""
    with pytest.raises(InputError) as raised:
        list(from_rows([{"Q": "Who?", "truth": [3], "pred": [3, 4]}]))
    assert "no field takes 'pred': name the one that has the retrieved contexts" in str(
        raised.value
    )
    told = [{"question": "Who?", "expected_ids": ["a"], "Treffer": "a; b", "n": 3}]
    (row,) = evaluate(from_rows(told), IdRecall(), progress=False)
    assert row.results[0].reason.endswith("nor retrieved_context_ids; other fields: 'Treffer'")


def test_a_short_passage_is_one_text() -> None:
    """A short text, as in triplets, is one text; with a separator it may be several."""
    rows = [
        {"anchor": "how tall is it", "positive": "The tower is 300 m tall.", "negative": "Oak."},
        {"anchor": "who painted it", "positive": "Ben painted it.", "negative": "It is tall."},
    ]
    samples = list(from_rows(rows))
    texts = [[c.text for group in s.reference_contexts or () for c in group] for s in samples]
    assert texts == [["The tower is 300 m tall."], ["Ben painted it."]]
    assert [s.user_input for s in samples] == ["how tall is it", "who painted it"]
    for text in ("Ben; Ann", "n/a"):
        with pytest.raises(InputError, match="expected a JSON array"):
            one({**rows[1], "positive": text}, fields={"reference_contexts": "positive"})
