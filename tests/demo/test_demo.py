"""The demo, run once for real: its numbers, its silence, and that it needs no network."""

from __future__ import annotations

import json
import os
import platform
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fullrecall.cli import app
from fullrecall.demo import documents, questions

# Python imports a `sitecustomize` before anything else: from then on whatever looks up a host or
# connects to one is written down and refused. An audit hook sees it without touching `socket`,
# whose documentation is part of the demo's collection.
NO_NETWORK = """
import os, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        with open(os.environ["REFUSED"], "a") as log:
            log.write(f"{event} {arguments}\\n")
        raise OSError("no network here")

sys.addaudithook(refuse)
"""
CORE_ONLY = """
for name in ("bm25s", "langchain_core", "langchain_fullrecall", "langsmith", "llama_index",
             "snowballstemmer", "wordllama", "scipy", "pandas", "pyarrow"):
    sys.modules[name] = None
"""

pytestmark = pytest.mark.long

Row = dict[str, Any]


@dataclass(frozen=True)
class Sandbox:
    """A place to run Python in: an empty home, no network, and what was refused of it."""

    home: Path
    refused: Path
    environment: dict[str, str]

    def run(self, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run `code` in a Python process of its own."""
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.home,
            check=False,
        )


@dataclass(frozen=True)
class Run:
    """What one run of the demo printed and saved."""

    sandbox: Sandbox
    returncode: int
    printed: str
    told: str
    rows: dict[str, list[Row]]
    saved: Path


def sandbox_in(place: Path, site_code: str = NO_NETWORK) -> Sandbox:
    """Return a sandbox in `place`, where nothing is yet, which runs `site_code` first."""
    home, site, refused = place / "home", place / "site", place / "refused"
    home.mkdir()
    site.mkdir()
    (site / "sitecustomize.py").write_text(site_code)
    environment = {
        **os.environ,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "TMPDIR": str(home),
        "PYTHONPATH": str(site),
        "REFUSED": str(refused),
        "COLUMNS": "80",
        # A user who traces every LangChain call: the demo must not send its own.
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_API_KEY": "none",
    }
    return Sandbox(home, refused, environment)


def run_in(sandbox: Sandbox, saved: Path) -> Run:
    """Run `fullrecall demo --output …`."""
    done = sandbox.run(
        "from fullrecall.cli import main; main()", "demo", "--missed", 3, "--output", saved
    )
    assert done.returncode == 0, done.stderr
    rows = {
        path.stem: [
            json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:-1]
        ]
        for path in sorted(saved.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    }
    return Run(sandbox, done.returncode, done.stdout, done.stderr, rows, saved)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the demo once with the core alone, for nearly all tests here."""
    sandbox = sandbox_in(tmp_path_factory.mktemp("sandbox"), NO_NETWORK + CORE_ONLY)
    run = run_in(sandbox, tmp_path_factory.mktemp("reports") / "new")
    assert tuple(run.rows) == ("fts5", "trigrams")
    return run


def targets_of(row: Row) -> list[list[str]]:
    """Return the reference IDs of a saved row, one list for each any-of group."""
    references = row["sample"]["reference_context_ids"]
    if isinstance(references, dict):
        return [[name] for name in references]
    return [r["any_of"] if isinstance(r, dict) else [r] for r in references]


def ids_of(row: Row) -> list[str]:
    """Return the retrieved IDs of a saved row, best first."""
    return [context["id"] for context in row["sample"]["retrieval"]["contexts"]]


def mean(values: Iterator[float]) -> str:
    """Return a mean as the table prints it."""
    found = list(values)
    return f"{sum(found) / len(found):.3f}"


def recall(row: Row, k: int) -> float:
    """Return the share of the targets of which any ID is among the first `k`."""
    seen = set(ids_of(row)[:k])
    wanted = targets_of(row)
    return sum(not seen.isdisjoint(target) for target in wanted) / len(wanted)


MEASURES: dict[str, Callable[[Row], float]] = {
    "recall@1": lambda row: recall(row, 1),
    "recall@5": lambda row: recall(row, 5),
    "recall@10": lambda row: recall(row, 10),
}


@pytest.mark.parametrize("measure", MEASURES)
def test_printed_means_equal_plain_loops_over_the_saved_rankings(demo: Run, measure: str) -> None:
    """Each mean of the table is the one that a set loop over the saved IDs gives."""
    lines = re.findall(rf"^  {re.escape(measure)}  +(.+)$", demo.printed, re.MULTILINE)
    for wording, cells in zip(("plain", "hard"), lines, strict=True):
        asked = {sample.id for sample in questions(wording)}
        expected = [
            mean(MEASURES[measure](row) for row in rows if row["sample"]["id"] in asked)
            for rows in demo.rows.values()
        ]
        assert cells.split() == expected


def test_retrievers_find_something_and_not_everything(demo: Run) -> None:
    """The demo shows real retrievers: none is empty, perfect, or another's copy."""
    recalls = [sum(recall(row, 10) for row in rows) / len(rows) for rows in demo.rows.values()]
    assert all(0.05 < value < 0.95 for value in recalls)
    rankings = [[ids_of(row) for row in rows] for rows in demo.rows.values()]
    assert rankings[0] != rankings[1]


def test_questions_as_people_ask_them_are_answered(demo: Run) -> None:
    """On plain questions both retrievers find most."""
    asked = {sample.id for sample in questions("plain")}
    for rows in demo.rows.values():
        recalls = [recall(row, 10) for row in rows if row["sample"]["id"] in asked]
        assert sum(recalls) / len(asked) > 0.8


def test_why_and_what_to_change_are_said(demo: Run) -> None:
    """The causes add up to what the last retriever missed at 10; each change has its gain."""
    missed = sum(
        set(ids_of(row)[:10]).isdisjoint(target)
        for row in demo.rows["trigrams"]
        for target in targets_of(row)
    )
    part = demo.printed.split(f"Why trigrams missed {missed} documents at 10\n")[1]
    changes, causes = part.split("\ncause\n")
    counts = re.findall(r"^  [a-z ]+ +(\d+) \(\d+%\)$", causes, re.MULTILINE)
    assert sum(map(int, counts)) == missed
    first = re.findall(r"^\d\. raise k from 10 to 50: \+(\d\.\d\d)", changes, re.MULTILINE)
    rows = demo.rows["trigrams"]
    gain = sum(recall(row, 50) - recall(row, 10) for row in rows) / len(rows)
    assert first == [f"{gain:.2f}"]


def test_rankings_hold_documents_of_the_collection(demo: Run) -> None:
    """What is retrieved are chunks, each with its document's ID and a piece of its text."""
    texts = {document.id: document.text for document in documents()}
    for rows in demo.rows.values():
        for context in rows[0]["sample"]["retrieval"]["contexts"]:
            assert context["text"] in texts[context["id"]]
            assert len(context["text"]) <= 400


def test_missed_documents_are_shown_at_their_rank(demo: Run) -> None:
    """The first questions that miss a document are listed, with the rank of what stands lower."""
    listed = demo.printed.split("the first 3:")[1].split("\nWhy trigrams")[0]
    rows = {row["sample"]["id"]: row for row in demo.rows["trigrams"]}
    names = [name for name in re.findall(r"^(\S+)  ", listed, re.MULTILINE) if name in rows]
    assert names == [name for name, row in rows.items() if recall(row, 10) < 1][:3]
    for name in names:
        for target in targets_of(rows[name]):
            rank = rank_of(target, rows[name])
            if rank is None or rank > 10:
                where = "not in the first 50" if rank is None else f"at rank {rank}"
                assert f"{target[0]} — {where}" in listed


def rank_of(target: list[str], row: Row) -> int | None:
    """Return the first rank at which a target stands."""
    return next((n for n, name in enumerate(ids_of(row), 1) if name in target), None)


def test_nothing_is_said_on_standard_error(demo: Run) -> None:
    """No warning, log line or progress bar of any framework reaches the user."""
    assert demo.told == ""
    assert "\x1b" not in demo.printed


def test_nothing_is_asked_of_the_network(demo: Run) -> None:
    """No host is looked up and none connected to, not even where LangSmith tracing is on."""
    assert not demo.sandbox.refused.exists()


def test_nothing_is_left_on_the_disk(demo: Run) -> None:
    """The demo caches nothing in the user's home, temporary or working directory."""
    assert list(demo.sandbox.home.rglob("*")) == []


def test_the_sandbox_would_notice(tmp_path: Path) -> None:
    """The two tests above can fail: a connection is refused and written down."""
    sandbox = sandbox_in(tmp_path)
    done = sandbox.run("import urllib.request as u; u.urlopen('http://localhost:9')")
    assert "no network here" in done.stderr
    assert sandbox.refused.read_text()


def test_the_readme_shows_what_the_demo_prints(demo: Run) -> None:
    """Line by line on the Python that it was run on; others have slightly different documents."""
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    (shown,) = re.findall(r"<!-- output: demo -->\n```text\n(.*?)```", readme, re.DOTALL)
    if f"Python {platform.python_version()}'s" in shown:
        assert shown in demo.printed
        return
    labels = re.compile(r"\d[\d,.–]*")
    printed = [labels.sub("#", line).split() for line in demo.printed.splitlines()]
    for line in shown.splitlines():
        assert labels.sub("#", line).split() in printed


def test_without_full_text_search_the_demo_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some builds of SQLite lack it."""

    class WithoutFullText(sqlite3.Connection):
        def execute(self, sql: str, *_: Any) -> sqlite3.Cursor:
            assert "fts5" in sql
            raise sqlite3.OperationalError("no such module: fts5")

    connect = partial(sqlite3.connect, factory=WithoutFullText)
    monkeypatch.setattr("fullrecall.demo.searches.sqlite3.connect", connect)
    result = CliRunner().invoke(app, ["demo"], catch_exceptions=False)
    assert result.exit_code == 2
    assert "SQLite has no full-text search" in result.stderr


def test_an_output_that_is_a_file_is_refused_before_the_work(tmp_path: Path) -> None:
    """--output names a directory; a file of that name is told at once, and stays."""
    file = tmp_path / "reports"
    file.write_text("mine")
    result = CliRunner().invoke(app, ["demo", "--output", str(file)], catch_exceptions=False)
    assert result.exit_code == 2
    assert file.read_text() == "mine"
