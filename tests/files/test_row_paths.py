"""The rows of a file are found inside its records: their path, and the rows at a path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fullrecall.errors import InputError
from fullrecall.files.row_paths import RowBelow, records_of, rows_at, rows_in
from fullrecall.files.rows import as_mapping
from fullrecall.read import from_rows, plan_of, read

Q, W = {"question": "Who?"}, {"question": "Why?"}
TURN = {"role": "user", "content": "Who?"}


@pytest.mark.parametrize(
    ("records", "path"),
    [
        ([Q, W], None),
        ([{"data": [Q, W]}], "data[]"),
        ([{"version": 1, "data": [{"title": "t", "qas": [Q, W]}]}], "data[].qas[]"),
        ([{"title": "t", "qas": [Q]}, {"title": "u", "qas": [W]}], "qas[]"),
        ([7, {"data": [Q]}], "data[]"),
        ([{1: {"x": 2}, "data": [Q]}], "data[]"),
        # Several lists of rows: those of each key, if the keys differ only at the top.
        ([{"first": [Q], "second": [W]}], "*"),
        ([{"first": {"qas": [Q]}, "second": {"qas": [W]}}], "*.qas[]"),
        # Rows by ID or by question, in the only record of a file.
        ([{"q1": {**Q, "gold": ["a"]}, "q2": {**W, "gold": ["b"]}}], "*"),
        ([{"q1": Q}, {"q1": W}], None),
        ([{"Who?": ["a"], "Why?": ["b"]}], "*"),
        ([{"Who?": "a", "Why?": "b"}], "*"),
        ([{"Who?": "a", "Why": "b"}], None),
        ([{"Who?": "a"}], None),
        # Relevant documents, or their grades, by the IDs of queries.
        ([{"q1": ["d1", "d2"], "q2": ["d3"]}], "*"),
        ([{"q1": {"d1": 1, "d2": 0}}], "*"),
        ([{"q1": {"d1": 1}, "q2": {}}], None),
        ([{"q1": ["d1"], "q2": []}], None),
        ([{"q1": ["d1"], "gold": ["d2"]}], None),
        ([{"q1": ["A whole sentence that is a text of many words."]}], None),
        # Lists that are known by their names or their columns, without questions.
        ([{"rows": [{"x": 1}], "other": [{"y": 1}]}], "rows[]"),
        ([{"things": [{"x": 1}]}], "things[]"),
        ([{"things": [{"x": 1}]}] * 2, None),
        ([{"turns": [{"x": 1}]}] * 2, "turns[]"),
        ([{"notes": [{"x": 1}], "parts": [{"claim": "It is."}]}], "parts[]"),
        ([{"documents": [Q]}], "documents[]"),
        ([{"documents": [Q]}] * 2, None),
        ([{"documents": [{"id": "d"}]}], None),
        # A conversation is one row; turns that have references are rows.
        ([{"messages": [TURN]}], None),
        ([{"messages": [{**TURN, "gold": "a"}]}], "messages[]"),
        ([{"messages": [{"text": "Who?"}]}], "messages[]"),
        ([{"inputs": {"x": 1}, "rows": [Q]}], None),
        ([{"inputs": '{"x": 1}', "rows": [Q]}], None),
        ([{"inputs": {}, "rows": [Q]}], "rows[]"),
        ([{"messages": 7, "rows": [Q]}], "rows[]"),
        ([{"messages": "[1]", "rows": [Q]}], None),
        ([{"user_prompt": "x", "rows": [Q]}], None),
        ([{"user_prompt": 7, "rows": [Q]}], "rows[]"),
        # Four levels are searched.
        ([{"a": {"b": {"c": {"d": [Q]}}}}], "a.b.c.d[]"),
        ([{"a": {"b": {"c": {"d": {"e": [Q]}}}}}], None),
    ],
)  # fmt: skip
def test_the_path_of_rows(records: list[Any], path: str | None) -> None:
    """The rows are the records, or the lists inside them that have questions."""
    assert rows_in(records) == path


@pytest.mark.parametrize(
    ("records", "places"),
    [
        ([{"data": {"first": [Q], "second": [W]}}], "data.first[] or data.second[]"),
        (
            [{"data": {"first": {"qas": [Q]}, "second": {"qas": [W]}}}],
            "data.first.qas[] or data.second.qas[]",
        ),
        ([{"first": [Q], "second": [W]}] * 2, "first[] or second[]"),
        ([{"a": {"rows": [Q]}, "b": {"others": [W]}}], "a.rows[] or b.others[]"),
    ],
)
def test_rows_at_several_paths(records: list[Any], places: str) -> None:
    """Rows at paths that no pattern joins are asked for; none is left out silently."""
    with pytest.raises(InputError) as raised:
        rows_in(records)
    assert raised.value.problem == f"rows may lie at {places}: pass rows="


def test_a_path_without_rows_is_an_error(tmp_path: Path) -> None:
    """A path of the user at which no record has a row is an error, and an empty list is another."""
    path = tmp_path / "rows.json"
    lost = "no record has a row at 'items[]': leave it out, or name another list"
    for content, problem in ({"data": [Q]}, lost), ([], "holds no samples"):
        path.write_text(json.dumps(content))
        for reader in (read, plan_of):
            with pytest.raises(InputError) as raised:
                list(reader(path, rows="items[]"))
            assert raised.value.problem == problem


def test_a_row_of_a_table_by_columns_is_named_in_its_error(tmp_path: Path) -> None:
    """The place of a row in a record by columns is the record's number, and its own from 1."""
    path = tmp_path / "table.json"
    cells = {"question": ["a?", "b?"], "gold_ids": [["x"], ["y"]], "answerable": [True, "perhaps"]}
    path.write_text(json.dumps(cells))
    with pytest.raises(InputError) as raised:
        list(read(path))
    assert "1, 2: answerable: expected true or false, got 'perhaps'" in str(raised.value)


def test_rows_that_make_one_plan_are_not_guessed_one_by_one() -> None:
    """Two IDs of one series are references, though either alone might be an answer."""
    others = {"note": "x", "gold_checked": True}
    rows = [{"question": f"Who {n}?", "reference": f"doc_{n}", **others} for n in range(2)]
    assert [sample.metadata for sample in from_rows(rows)] == [others] * 2


def test_a_golden_of_deepeval_is_read_by_its_stable_fields() -> None:
    """The fields that deepeval's `model_dump` adds are ignored, since versions differ in them."""

    class Golden:
        input = "Who?"
        expected_output = "Ann"

        def model_dump(self) -> dict[str, object]:
            return {"input": "Who?", "tools_called": []}

    Golden.__module__ = "deepeval.dataset.golden"
    names = ("actual_output", "context", "retrieval_context", "name", "metadata",
             "additional_metadata")  # fmt: skip
    assert as_mapping(Golden()) == {
        "input": "Who?", "expected_output": "Ann", **dict.fromkeys(names)
    }  # fmt: skip
    Golden.__module__ = "other"
    assert as_mapping(Golden()) == {"input": "Who?", "tools_called": []}


TABLE = {"question": {"0": "a?", "1": "b?"}, "gold": {"0": ["x"]}, "n": 3}
BY_ID = {"question": {"q1": "a?", "q2": "b?"}, "gold": {"q1": ["x"]}, "n": {"z": 1}}


@pytest.mark.parametrize(
    ("record", "rows"),
    [
        (
            {"columns": ["question", "gold"], "data": [["a?", ["x"]], ["b?"], 7]},
            [{"question": "a?", "gold": ["x"]}, {"question": "b?"}],
        ),
        ({"columns": ["question", 1], "data": [["a?"]]}, []),
        (
            {"question": ["a?", "b?"], "gold": [["x"], ["y"]]},
            [{"question": "a?", "gold": ["x"]}, {"question": "b?", "gold": ["y"]}],
        ),
        ({"question": ["a?", 1], "gold": [["x"], ["y"]]}, []),
        ({"question": ["a?", "b?"], "gold": [["x"]]}, []),
        (TABLE, [{"question": "a?", "gold": ["x"]}, {"question": "b?", "gold": None}]),
        (
            BY_ID,
            [
                {"id": "q1", "question": "a?", "gold": ["x"]},
                {"id": "q2", "question": "b?", "gold": []},
            ],
        ),
        ({"question": {"q1": "a?"}}, []),
        ({"question": {"q1": "a?"}, "gold": {"q2": "x"}}, []),
        ({"question": {"q1": 1}, "gold": {"q1": "x"}}, []),
        ({"gold": ["a"]}, []),
        (7, []),
    ],
)
def test_rows_of_a_record_by_columns(record: Any, rows: list[dict[str, Any]]) -> None:
    """A record whose columns are lists, or objects with one key for each row, is a table."""
    assert records_of(record) == rows


PAIR = {"data": [{"x": 1, "ok": True}, {"x": 2, "ok": False}]}
FIRST, SECOND = PAIR["data"]
DEEP = {"v": 1, "n": None, "l": [1], "data": [{"t": "u", "x": {"qas": [{"q": 1, "t": "own"}]}}, 7]}


@pytest.mark.parametrize(
    ("record", "path", "rows"),
    [
        ({"a": {"x": "t"}, "b": {"d": 2}, "c": 5}, "*",
         [{"key": "a", "x": "t"}, {"key": "b", "value": {"d": 2}}, {"key": "c", "value": 5}]),
        ({"a": [{"x": 1}, {"x": 2}], "b": [{"x": 3}], "c": [], "d": [1]}, "*",
         [{"key": "a", "x": 1}, {"key": "a", "x": 2}, {"key": "b", "x": 3}]),
        (7, "*", []),
        (7, "*.x", []),
        ({"a": {"qas": [{"x": 1}]}, "b": {"no": 1}, "c": {"qas": {"x": 2}}}, "*.qas[]",
         [{"key": "a", "x": 1}, {"key": "c", "x": 2}]),
        (DEEP, "data[].x.qas[]", [{"v": 1, "t": "own", "q": 1}]),
        (PAIR, "data[]", [FIRST, SECOND]),
        (PAIR, "data[ok]", [FIRST]),
        (PAIR, "data[1]", [SECOND]),
        (PAIR, "data[-2]", [FIRST]),
        (PAIR, "data[2]", []),
        (PAIR, "data[-3]", []),
        ({"data": {"x": 1}}, "data[]", [{"x": 1}]),
        ({"data": None}, "data[]", []),
        ({"data": [1, "a"]}, "data[]", [1, "a"]),
    ],
)  # fmt: skip
def test_the_rows_at_a_path(record: Any, path: str, rows: list[Any]) -> None:
    """A row has the plain columns of the records above it, unless it has its own."""
    assert [*rows_at(record, path)] == rows


def test_a_row_knows_the_columns_of_its_records() -> None:
    """Columns that only the records above have stay apart when cells are replaced."""
    (row,) = rows_at(DEEP, "data[].x.qas[]")
    assert isinstance(row, RowBelow)
    assert row.above == {"v"}
    changed = row.with_cells({"v": 2, "t": "new"})
    assert (changed, changed.above) == ({"v": 2, "t": "new"}, {"v"})
