"""Lists that a table spreads over numbered columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fullrecall.errors import InputError
from fullrecall.read import from_rows, plan_of, read

IDS = ["gold_doc_{}", "Gold Doc {}", "gold-doc-{}", "gold_doc{}", "goldDoc{}", "expected source {}"]


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("first", [0, 1])
def test_numbered_columns_are_one_list(name: str, first: int) -> None:
    """Columns numbered from 0 or 1 are one list, in the order of their numbers, without blanks."""
    cells = {name.format(first + n): f"d-{n}" for n in reversed(range(11))}
    sparse = {column: f"{cell}x" if cell.endswith("-3") else "" for column, cell in cells.items()}
    samples = [*from_rows([{"question": "Who?", **cells}, {"question": "When?", **sparse}])]
    found = [[group.any_of[0] for group in each.reference_context_ids or ()] for each in samples]
    assert found == [[f"d-{n}" for n in range(11)], ["d-3x"]]
    assert not samples[0].metadata


def test_a_spreadsheet_of_one_run_is_scored_as_it_is(tmp_path: Path) -> None:
    """References and ranked results in numbered columns need no option."""
    file = tmp_path / "run.csv"
    file.write_text(
        "question,gold_doc_1,gold_doc_2,retrieved_doc_1,retrieved_doc_2\n"
        "Reset a password?,kb-12,kb-17,kb-12,kb-3\nCost of Pro?,kb-3,,kb-9,kb-3\n"
    )
    assert plan_of(file).fields == {
        "user_input": "question",
        "retrieved_context_ids": "[retrieved_doc_1, retrieved_doc_2]",
        "reference_context_ids": "[gold_doc_1, gold_doc_2]",
    }
    first, second = read(file)
    assert first.retrieved_context_ids == ("kb-12", "kb-3")
    assert second.retrieved_context_ids == ("kb-9", "kb-3")


@pytest.mark.parametrize(
    "columns",
    [
        {"gold_doc_1": "d-1", "gold_doc_3": "d-3"},  # a number is missing
        {"gold_doc_2": "d-1", "gold_doc_3": "d-3"},  # as in the names of models
        {"gold_docs": ["d-1"], "gold_docs_1": "d-2", "gold_docs_2": "d-3"},
        {"gold_docs_1": ["d-1"], "gold_docs_2": ["d-2"]},  # of two annotators
        {"question_1": "Who?", "question_2": "When?", "gold_doc": "d-1"},
        {"score_1": "a-1", "score_2": "b-1", "gold_doc": "d-1"},
        {"gold_doc": "d-1", "negative_doc_1": "d-7", "negative_doc_2": "d-9"},
    ],
)
def test_other_numbers_in_names_make_no_list(columns: dict[str, Any], tmp_path: Path) -> None:
    """Columns stay apart if a number is missing, if they hold lists, or if they are questions."""
    file = tmp_path / "golden.json"
    file.write_text(json.dumps([{"query": "What?", **columns}]))
    plan = plan_of(file)
    proposals = [path for doubt in plan.doubts for path in doubt.paths]
    assert not any("," in path for path in (*plan.fields.values(), *proposals))


def test_numbered_turns_are_no_question(tmp_path: Path) -> None:
    """Turns in numbered columns are not proposed as one question."""
    file = tmp_path / "golden.json"
    file.write_text(json.dumps([{"turn_1": "Hello", "turn_2": "Who is it?", "gold_doc": "d-1"}]))
    assert [doubt.paths for doubt in plan_of(file).doubts] == [("turn_2",)]


def test_a_column_that_no_row_has_is_named() -> None:
    """A mistyped column of a list is an error, even beside columns that rows have."""
    row = {"query": "Who?", "a": "d-1", "b": "d-2"}
    with pytest.raises(InputError, match="no row has anything at 'bb'"):
        list(from_rows([row], fields={"reference_context_ids": "[a, bb]"}))
    (sample,) = from_rows([row], fields={"reference_context_ids": "[a, b]"})
    assert not sample.metadata


def test_a_name_with_a_comma_is_quoted() -> None:
    """A path quotes a column whose name has a comma."""
    row = {"query": "Who?", "gold, doc 1": "d-1", "gold, doc 2": "d-2"}
    (sample,) = from_rows([row])
    assert len(sample.reference_context_ids or ()) == 2
