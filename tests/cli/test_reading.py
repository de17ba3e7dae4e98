"""`fullrecall read`, `--rows` and `--field`: the advice is a command that works."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import run

GOLDEN = {
    "version": 1,
    "questions": [
        {"q": "Who?", "source": "wiki 3", "level": "easy", "found": ["wiki 3"]},
        {"q": "Why?", "source": "wiki 4", "level": "hard", "found": ["wiki 9"]},
    ],
}


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A file with an ambiguous column."""
    path = tmp_path / "my golden.json"
    path.write_text(json.dumps(GOLDEN))
    return path


def test_the_advice_of_an_error_is_a_command_that_works(golden: Path) -> None:
    """The command that an error proposes works when pasted, with options and any path."""
    result = run("evaluate", golden, "--rename", "found=retrieved_ids", "--k", "1", "--json")
    assert result.exit_code == 2
    assert "source may be the references, or a remark" in result.stderr
    *_, command = result.stderr.splitlines()
    words = shlex.split(command)
    pasted = run(*words[words.index("evaluate") :])
    assert pasted.exit_code == 0, pasted.stderr
    assert json.loads(pasted.stdout)["scores"][0]["measures"]["recall@1"]["mean"] == 0.5


def test_read_shows_the_plan_and_the_first_sample(golden: Path) -> None:
    """`read` prints the plan and the first sample, and exits with 3 if a column is ambiguous."""
    result = run("read", golden)
    assert result.exit_code == 3
    assert "reference_context_ids=?: source may be" in result.stdout
    line = result.stdout.splitlines()[0]
    words = shlex.split(line)
    again = run(*words[words.index("read") :])
    assert again.exit_code == 0
    assert "The first sample:\n  user_input: Who?" in again.stdout
    values = json.loads(run("read", golden, "--json").stdout)
    assert (values["rows"], values["certain"]) == ("questions[]", False)


def test_evaluate_says_how_the_columns_were_read(tmp_path: Path) -> None:
    """`evaluate` names the question's column, the references with an example, and the metadata."""
    path = tmp_path / "a.jsonl"
    rows: list[dict[str, Any]] = [
        {"query": "Who?", "gold_docs": ["a.md", "b.md"], "retrieved_ids": ["a.md"], "kind": "x"}
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    told = " ".join(run("evaluate", path, "--slices", "kind").stdout.split())
    assert "question ← query; reference_context_ids ← gold_docs (2, such as a.md)" in told
    assert "metadata: kind" in told
    assert "95% intervals that hold for all 1 slices together" in told


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--field", "expected_ids"], "--field: must be NAME=PATH"),
        (["--field", "nothing=x"], "--field"),
        (["--field", "expected_ids=a["], "cannot read '['"),
        (["--rows", "a["], "--rows"),
        (["--field", "expected_ids=nowhere"], "no row has anything at 'nowhere'"),
    ],
)
def test_wrong_options_are_named(golden: Path, options: list[str], says: str) -> None:
    """A wrong option is an error that names the option and its mistake."""
    result = run("read", golden, *options)
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


def test_a_path_that_no_row_has_is_named_after_the_first_rows(tmp_path: Path) -> None:
    """A path that no row has is an error only after all rows, since a path may first occur late."""
    row = {"question": "Who?", "gold_ids": ["a"]}
    path = tmp_path / "golden.jsonl"
    path.write_text(f"{json.dumps(row)}\n" * 300 + json.dumps({**row, "late": "x"}))
    result = run("read", path, "--field", "question=foo")
    assert result.exit_code == 2
    assert "no row has anything at 'foo'" in " ".join(result.stderr.split())
    assert run("read", path, "--field", "reference=late").exit_code == 0
