"""`fullrecall evaluate questions.jsonl --retriever app.py:search` asks a function."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fullrecall import Report

APP = """
import beside

print("loaded")
DOCUMENTS = {"d1": "Paris is in France.", "d2": "Oslo is in Norway."}


def search(question, k=10):
    print("asked", question)
    words = set(question.rstrip("?").split()) - beside.COMMON
    found = [name for name, text in DOCUMENTS.items() if words & set(text.rstrip(".").split())]
    return [{"id": name, "text": DOCUMENTS[name]} for name in found]


async def asearch(question):
    return search(question)


class Index:
    def retrieve(self, sample):
        return search(sample.user_input)

    async def aretrieve(self, sample):
        return search(sample.user_input)


index = Index()
inside = Index


def fails(question):
    raise ConnectionError("the index is gone")
"""
QUESTIONS = [
    {"question": "Where is Paris?", "expected_ids": ["d1", "d3"], "retrieved_contexts": ["old"]},
    {"question": "Where is Oslo?", "expected_ids": ["d2"]},
]


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a folder with questions, and a module that imports another one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setenv("COLUMNS", "400")
    for name in ("app", "beside", "broken", "exits"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    Path("app.py").write_text(APP, encoding="utf-8")
    Path("beside.py").write_text("COMMON = {'Where', 'is'}\n", encoding="utf-8")
    Path("broken.py").write_text("def search(:\n", encoding="utf-8")
    Path("exits.py").write_text("raise SystemExit('usage: exits FILE')\n", encoding="utf-8")
    lines = "".join(f"{json.dumps(one)}\n" for one in QUESTIONS)
    Path("questions.jsonl").write_text(lines, encoding="utf-8")
    yield
    for name in ("app", "beside", "broken", "exits"):
        sys.modules.pop(name, None)


def evaluated(retriever: str, *options: str) -> Any:
    """Run the command in this process."""
    from fullrecall.cli import app

    arguments = ["evaluate", "questions.jsonl", "--retriever", retriever, *options]
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.mark.rooms
@pytest.mark.parametrize(
    "retriever",
    ["app:search", "app.py:search", "./app.py:asearch", "app:index", "app:index.retrieve.__self__"],
)
def test_a_named_retriever_is_asked(retriever: str) -> None:
    """A function, sync or async, or a retriever is asked, and may import modules beside it."""
    result = evaluated(retriever, "--json", "--output", "report.jsonl")
    assert result.exit_code == 0, result.output
    assert "0.75" in result.stdout  # The output has none of its prints.
    assert [row.sample.retrieved_context_ids for row in Report.load("report.jsonl")] == [
        ("d1",),
        ("d2",),
    ]


@pytest.mark.rooms
def test_a_file_of_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in another folder is named by its path, and imports modules from its own folder."""
    other = tmp_path / "other"
    other.mkdir()
    Path("questions.jsonl").rename(other / "questions.jsonl")
    monkeypatch.chdir(other)
    assert evaluated("../app.py:search").exit_code == 0


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("retriever", "told"),
    [
        ("app", "expected MODULE:NAME, such as app.py:search, got 'app'"),
        (":search", "expected MODULE:NAME"),
        ("app:", "expected MODULE:NAME"),
        ("app:other", "cannot load 'app:other': AttributeError: module 'app' has no attribute"),
        (
            "app:DOCUMENTS",
            "must be a Retriever or a function of the question, got {",
        ),
        ("app:Index", "must be an instance, got the class Index: pass Index(…)"),
        ("nowhere:search", "cannot load 'nowhere:search': ModuleNotFoundError: No module named"),
        ("nowhere.py:search", "cannot load 'nowhere.py:search': FileNotFoundError: no file"),
        ("broken:search", "cannot load 'broken:search': SyntaxError: invalid syntax"),
        ("exits:search", "cannot load 'exits:search': SystemExit: usage: exits FILE"),
    ],
)
def test_an_invalid_retriever_is_one_line(retriever: str, told: str) -> None:
    """An object that cannot be asked exits with 2, with the option and the value in one line."""
    result = evaluated(retriever)
    assert result.exit_code == 2
    assert "--retriever" in result.stderr
    assert told in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.rooms
def test_a_function_that_raises_leaves_nothing_to_score() -> None:
    """A function that raises gives the reason and exit code 2, not a score of 0."""
    result = evaluated("app:fails")
    assert result.exit_code == 2
    assert "nothing could be scored" in result.stderr
    assert "no retrieval: ConnectionError: the index is gone" in result.stderr


@pytest.mark.rooms
def test_a_run_has_its_retrieval() -> None:
    """--run excludes a retriever, since a run has its retrieval."""
    result = evaluated("app:search", "--run", "questions.jsonl")
    assert result.exit_code == 2
    assert "--retriever: must be left out with --run" in result.stderr


@pytest.mark.rooms
def test_without_a_retrieval_the_option_is_named() -> None:
    """The error for questions without contexts names the option."""
    from fullrecall.cli import app

    Path("questions.jsonl").write_text('{"question": "q", "expected_ids": ["d1"]}\n', "utf-8")
    result = CliRunner().invoke(app, ["evaluate", "questions.jsonl"])
    assert result.exit_code == 2
    assert "--retriever app.py:search" in result.stderr


@pytest.mark.rooms
def test_an_interrupt_shows_what_was_scored() -> None:
    """After Ctrl-C while the function searches, the earlier rows are saved; exit 130."""
    slow = "import os, time\n\n\ndef search(question):\n    if 'Oslo' in question:\n"
    slow += "        time.sleep(1)\n        os.write(1, b'searching')\n"
    slow += "        time.sleep(600)\n    return ['d1']\n"
    Path("slow.py").write_text(slow, encoding="utf-8")
    program = "from fullrecall.cli import main; main()"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            program,
            "evaluate",
            "questions.jsonl",
            "--quiet",
            "--output",
            "report.jsonl",
            "--scorer",
            "id_recall",
            "--retriever",
            "slow.py:search",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    assert process.stdout is not None
    assert process.stdout.read(9) == "searching"
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "interrupted" in told
    assert "Traceback" not in told
    assert len(Report.load("report.jsonl")) >= 1
