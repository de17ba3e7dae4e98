"""A JSON array is read item by item, and a break in it is named with its line and column."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from fullrecall.errors import InputError
from fullrecall.files.containers import Partition, rows_of_partitions
from fullrecall.files.plans import Doubt, ReadPlan
from fullrecall.files.sheets import sheet_rows
from fullrecall.files.strict_json import array_items


@pytest.mark.parametrize(
    ("text", "items"),
    [("[]", []), (" [ ] ", []), ("[1 , 2]", [1, 2]), ('\n[{"a": 1},\n[]]\n', [{"a": 1}, []]),
     (" 7", [7]), ('{"a": [1]}', [{"a": [1]}])],
)  # fmt: skip
def test_the_items_of_an_array(text: str, items: list[Any]) -> None:
    """Blanks do not count, and a text without an array is one item."""
    assert [*array_items(text)] == items


@pytest.mark.parametrize(
    ("text", "items", "line", "problem"),
    [
        ("[1, 2", [1, 2], 1, "Expecting ',' delimiter at column 6, near the end"),
        ("[1 2]", [1], 1, "Expecting ',' delimiter at column 4, near '2]'"),
        ("[1,\n2]\nx", [1, 2], 3, "Extra data at column 1, near 'x'"),
        ("\n[1,]", [1], 2, "Expecting value at column 4, near ']'"),
        ("[", [], 1, "Expecting value at column 2, near the end"),
        ('{"a": 1} 2', [], 1, "Extra data at column 10, near '2'"),
    ],
)
def test_the_place_of_a_break(text: str, items: list[Any], line: int, problem: str) -> None:
    """The items before a break are read, and its line and column are named."""
    found = []
    with pytest.raises(InputError) as raised:
        found.extend(iter(array_items(text)))
    assert (found, raised.value.line, raised.value.problem) == (
        items,
        line,
        f"not JSON: {problem}",
    )


def test_an_empty_sheet_has_no_columns(tmp_path: Any) -> None:
    """A sheet without a header lacks every needed column, on its first line."""
    (tmp_path / "labels.csv").write_text("")
    with pytest.raises(InputError) as raised:
        list(sheet_rows(tmp_path / "labels.csv", [("id",), ("label", "grade")]))
    assert (raised.value.line, raised.value.problem) == (
        1,
        "needs the columns id, label or grade; got none",
    )


@pytest.mark.parametrize(
    ("plan", "is_plain"),
    [
        (ReadPlan({"user_input": "question", "reference": "reference"}), True),
        (ReadPlan({"user_input": "asked"}), False),
        (ReadPlan({"user_input": "reference"}), False),
        (ReadPlan({"user_input": "question"}, metadata=["note"]), False),
        (ReadPlan({"user_input": "question"}, left_out=["note"]), False),
        (ReadPlan({"user_input": "question"}, doubts=[Doubt("reference", "why")]), True),
    ],
)
def test_a_plain_plan_has_columns_named_like_fields(plan: ReadPlan, *, is_plain: bool) -> None:
    """A plan is plain if each column has the name of its field, and no column is left."""
    assert plan.is_plain == is_plain


def test_the_choices_of_a_plan_are_the_paths_of_a_doubt_with_several() -> None:
    """A doubt with a single path leaves nothing to choose."""
    doubts = [Doubt("user_input", "why", ["a"]), Doubt("reference", "why", ["b", "c"])]
    lines = [choice.line for choice in ReadPlan({}, doubts=doubts).choices()]
    assert lines == [{"user_input": "a", "reference": name} for name in "bc"]


def test_parquet_without_pyarrow_is_an_error_before_the_first_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A folder of Parquet needs pyarrow when it is opened; a folder of JSON Lines does not."""
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    parts = [Partition("a", {"split": "test"})]
    rows_of_partitions(parts, "jsonl", set())
    with pytest.raises(ImportError, match="reading Parquet needs pyarrow"):
        rows_of_partitions(parts, "parquet", set())
