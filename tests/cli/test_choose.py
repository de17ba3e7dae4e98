"""`fullrecall choose`: retrievers of your own modules race on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command_line import run

CODE = """
from zlib import crc32

def half(question):
    n = question.split()[1]
    return [{"id": f"d{n}", "text": "x"}] if crc32(n.encode()) % 2 else []

def all_of_them(question):
    print("noise of a retriever")
    return [{"id": f"d{question.split()[1]}", "text": "x" * 40}]

def none(question):
    return []
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with retrievers and a hundred questions."""
    (tmp_path / "searches.py").write_text(CODE, "utf-8")
    rows = (
        {"id": f"q{n}", "user_input": f"question {n}", "reference_context_ids": [f"d{n}"]}
        for n in range(100)
    )
    (tmp_path / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


HALF = ("-r", "half=searches.py:half")
ALL = ("-r", "all=searches.py:all_of_them")


def test_it_names_the_best_one(folder: Path) -> None:
    """The better retriever is named with exit code 0, without the retrievers' own output."""
    done = run("choose", "q.jsonl", *HALF, *ALL, "--state", "race.json")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("all: no other has a better id_recall")
    assert "noise" not in done.stdout
    assert (folder / "race.json").is_file()


@pytest.mark.usefixtures("folder")
def test_it_cannot_tell_the_same_from_the_same() -> None:
    """Equal retrievers give exit code 3, and JSON if asked for."""
    arguments = ["choose", "q.jsonl", *HALF, "-r", "again=searches.py:half", "--json"]
    done = run(*arguments, "--measure", "recall@1")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert (found["winner"], found["label"], found["questions"]) == (None, "id_recall@1", 100)


@pytest.mark.usefixtures("folder")
def test_retrievers_have_their_functions_names_and_k_is_recall() -> None:
    """Retrievers are named by their functions, and `--k 1` measures recall at 1."""
    arguments = ["choose", "q.jsonl", "-r", "searches.py:half", "-r", "searches.py:all_of_them"]
    done = run(*arguments, "--k", "1", "--json")
    choice = json.loads(done.stdout)
    assert choice["label"] == "id_recall@1"
    assert {each["name"] for each in choice["standings"]} == {"half", "all_of_them"}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (HALF, "expected at least 2, got 1"),
        ((*HALF, *HALF), "'half' is named twice"),
        ((*HALF, *ALL, "--k", "5", "-m", "ndcg@5"), "expected one measure, got 2"),
        ((*HALF, *ALL, "--state", "q.jsonl"), "name another file"),
    ],
)
def test_mistakes_are_named(arguments: tuple[str, ...], said: str) -> None:
    """Wrong usage exits with 2, and the message says what to write."""
    done = run("choose", "q.jsonl", *arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
