"""The demo runs once, with right numbers, no output on standard error, and no network."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import run

from fullrecall.demo import library_pages, library_questions

# Python imports a `sitecustomize` before anything else: from then on each lookup of a host, and
# each connection, is logged and refused.
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
    """A place to run Python: an empty home, no network, and a log of the refused calls."""

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
    """The output and the files of one run of the demo."""

    sandbox: Sandbox
    returncode: int
    printed: str
    told: str
    rows: dict[str, list[Row]]
    saved: Path


def sandbox_in(place: Path, site_code: str = NO_NETWORK) -> Sandbox:
    """Return a sandbox in `place`, an empty folder, which runs `site_code` first."""
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
        # The user traces every LangChain call: the demo must not send its own calls.
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
        name: [
            json.loads(line)
            for line in (saved / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[1:-1]
        ]
        for name in ("before", "after")
    }
    return Run(sandbox, done.returncode, done.stdout, done.stderr, rows, saved)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the demo once, with the core alone, for most tests here."""
    sandbox = sandbox_in(tmp_path_factory.mktemp("sandbox"), NO_NETWORK + CORE_ONLY)
    return run_in(sandbox, tmp_path_factory.mktemp("reports") / "new" / "folder")


def targets_of(row: Row) -> list[list[str]]:
    """Return the reference IDs of a saved row, one list for each any-of group."""
    references = row["sample"].get("reference_context_ids", ())
    if isinstance(references, dict):
        return [[name] for name in references]
    return [r["any_of"] if isinstance(r, dict) else [r] for r in references]


def ids_of(row: Row) -> list[str]:
    """Return the retrieved IDs of a saved row, best first."""
    return [context["id"] for context in row["sample"]["retrieval"]["contexts"]]


def recall(row: Row, k: int) -> float:
    """Return the share of the targets that have an ID among the first `k`."""
    seen = set(ids_of(row)[:k])
    wanted = targets_of(row)
    return sum(not seen.isdisjoint(target) for target in wanted) / len(wanted)


def recalls(rows: list[Row], k: int) -> list[float]:
    """Return the recall of each question that has an answer."""
    return [recall(row, k) for row in rows if targets_of(row)]


def mean(values: list[float]) -> float:
    """Return the mean of values."""
    return sum(values) / len(values)


def test_printed_means_equal_plain_loops_over_the_saved_lists(demo: Run) -> None:
    """The recall before and after the fix is the one that set loops over the saved IDs give."""
    before, after = (mean(recalls(rows, 5)) for rows in demo.rows.values())
    assert f"id_recall@5 is {before:.3f} (" in demo.printed
    assert f"rose from {before:.3f} to {after:.3f}" in " ".join(demo.printed.split())


def test_the_story_is_in_the_range_of_real_retrievers(demo: Run) -> None:
    """The defect costs much recall, the fix restores it, and no question loses by the fix."""
    before, after = (recalls(rows, 5) for rows in demo.rows.values())
    assert 0.6 < mean(before) < mean(after) - 0.1 < 0.8
    assert all(fixed >= broken for broken, fixed in zip(before, after, strict=True))


def test_the_cause_is_named_and_its_gain_predicted(demo: Run) -> None:
    """The causes add up to the missed pages; the predicted gain is near the measured one."""
    missed = sum(
        set(ids_of(row)[:5]).isdisjoint(target)
        for row in demo.rows["before"]
        for target in targets_of(row)
    )
    part = demo.printed.split("2. The cause\n")[1].split("\n3. The fix")[0]
    counts = dict(re.findall(r"^  ([a-z ]+?) +(\d+) \(\d+%\)$", part, re.MULTILINE))
    assert sum(map(int, counts.values())) == missed
    assert max(counts, key=lambda cause: int(counts[cause])) == "crowded out"
    (pair,) = re.findall(r"^predicted (\S+), measured (\S+)$", demo.printed, re.MULTILINE)
    predicted, measured = map(float, pair)
    before, after = (mean(recalls(rows, 5)) for rows in demo.rows.values())
    assert measured == pytest.approx(after - before, abs=0.0006)
    assert predicted == pytest.approx(measured, abs=0.02)


def test_the_gate_stops_the_defect(demo: Run) -> None:
    """The gate fails the change that loads the copies again, at the printed margin."""
    part = demo.printed.split("4. The guard")[1]
    assert "FAIL: change of id_recall@5" in part
    assert "The margin is 0.05" in part


def test_the_lists_hold_chunks_of_the_pages(demo: Run) -> None:
    """Each retrieved context has the ID of its page and a piece of its text."""
    texts = {page.id: page.text for page in library_pages()}
    for rows in demo.rows.values():
        assert len(rows) == len(library_questions())
        for context in rows[0]["sample"]["retrieval"]["contexts"]:
            assert context["text"] in texts[context["id"]]
            assert len(context["text"]) <= 400


def test_missed_pages_are_shown_at_their_rank(demo: Run) -> None:
    """The first questions that miss a page are listed, each missed page with its rank."""
    listed = demo.printed.split("the first 3:")[1].split("\n2. The cause")[0]
    rows = {row["sample"]["id"]: row for row in demo.rows["before"]}
    answered = {name: row for name, row in rows.items() if targets_of(row)}
    names = [name for name in re.findall(r"^(\S+)  ", listed, re.MULTILINE) if name in rows]
    assert names == [name for name, row in answered.items() if recall(row, 5) < 1][:3]
    for name in names:
        for target in targets_of(rows[name]):
            rank = rank_of(target, rows[name])
            if rank is None or rank > 5:
                where = "not in the first 20" if rank is None else f"at rank {rank}"
                assert f"{target[0]} — {where}" in listed


def rank_of(target: list[str], row: Row) -> int | None:
    """Return the first rank at which a target is in the list."""
    return next((n for n, name in enumerate(ids_of(row), 1) if name in target), None)


def test_nothing_is_said_on_standard_error(demo: Run) -> None:
    """No warning, log line or progress bar of any framework reaches standard error."""
    assert demo.told == ""
    assert "\x1b" not in demo.printed


def test_nothing_is_asked_of_the_network(demo: Run) -> None:
    """The demo looks up no host and opens no connection, even with LangSmith tracing on."""
    assert not demo.sandbox.refused.exists()


def test_nothing_is_left_on_the_disk(demo: Run) -> None:
    """The demo caches nothing in the user's home, temporary or working directory."""
    assert list(demo.sandbox.home.rglob("*")) == []


def test_the_sandbox_would_notice(tmp_path: Path) -> None:
    """The sandbox refuses and logs a connection, so the two tests above can fail."""
    sandbox = sandbox_in(tmp_path)
    done = sandbox.run("import urllib.request as u; u.urlopen('http://localhost:9')")
    assert "no network here" in done.stderr
    assert sandbox.refused.read_text()


def test_the_readme_shows_the_demos_output(demo: Run) -> None:
    """The demo prints each line of the README's excerpt."""
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    (shown,) = re.findall(r"<!-- output: demo -->\n```text\n(.*?)```", readme, re.DOTALL)
    for part in shown.split("[…]\n"):
        assert part in demo.printed


def test_without_full_text_search_the_demo_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without full-text search in SQLite, the demo says so."""

    class WithoutFullText(sqlite3.Connection):
        def execute(self, sql: str, *_: Any) -> sqlite3.Cursor:
            assert "fts5" in sql
            raise sqlite3.OperationalError("no such module: fts5")

    connect = partial(sqlite3.connect, factory=WithoutFullText)
    monkeypatch.setattr("fullrecall.demo.library.sqlite3.connect", connect)
    result = run("demo")
    assert result.exit_code == 2
    assert "SQLite has no full-text search" in result.stderr


def test_an_output_that_is_a_file_is_refused_before_the_work(tmp_path: Path) -> None:
    """--output refuses an existing file, before any work, and keeps it."""
    file = tmp_path / "reports"
    file.write_text("mine")
    result = run("demo", "--output", file)
    assert result.exit_code == 2
    assert file.read_text() == "mine"
