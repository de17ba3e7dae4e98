"""`fullrecall page`: a saved report as a page, alone or against another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command_line import run

from fullrecall import Context, Report, compare
from fullrecall._util import naming
from fullrecall.diagnosis import diagnose


@pytest.fixture(autouse=True)
def _options() -> Iterator[None]:
    """Make pages name options as the command's pages do."""
    with naming.options():
        yield


@pytest.fixture
def saved(report: Report, after: Report, tmp_path: Path) -> dict[str, Path]:
    """Return the paths of two saved reports of the same samples."""
    paths = {"before": tmp_path / "before.jsonl", "after": tmp_path / "after.jsonl"}
    report.save(paths["before"])
    after.save(paths["after"])
    return paths


def test_a_report_becomes_a_page_beside_it(saved: dict[str, Path], tmp_path: Path) -> None:
    """The page equals the text that `to_html` returns; an existing page is replaced."""
    for _ in range(2):
        assert run("page", saved["before"]).exit_code == 0
    written = (tmp_path / "before.html").read_text("utf-8")
    assert written == Report.load(saved["before"]).to_html()


def test_two_reports_become_one_page(saved: dict[str, Path], tmp_path: Path) -> None:
    """The page of two reports is that of `compare`, with the first report as before."""
    page = tmp_path / "change.html"
    done = run("page", saved["before"], saved["after"], "-o", page, "--title", "Change")
    assert (done.exit_code, "".join(done.stdout.split())) == (0, f"Writtento{page}.")
    comparison = compare({name: Report.load(saved[name]) for name in ("before", "after")})
    assert page.read_text("utf-8") == comparison.to_html(title="Change")


def test_any_number_of_reports_becomes_one_page(saved: dict[str, Path], tmp_path: Path) -> None:
    """A table lists all reports by file name; then the first is compared with the last."""
    third = tmp_path / "hybrid search.jsonl"
    Report.load(saved["after"]).save(third)
    page = tmp_path / "all.html"
    assert run("page", saved["before"], saved["after"], third, "-o", page).exit_code == 0
    text = page.read_text("utf-8")
    assert ">All reports</h2>" in text
    assert "before</bdi> → <bdi>hybrid search</bdi>" in text
    assert re.search(r"<bdi>after</bdi>: |after: ", text)
    assert run("page", third, third, "-o", page).exit_code == 2
    alone = tmp_path / "alone.html"
    assert run("page", saved["before"], third, "-o", alone).exit_code == 0
    assert ">All reports</h2>" not in alone.read_text("utf-8")


def test_a_corpus_adds_the_causes(saved: dict[str, Path], tmp_path: Path) -> None:
    """--corpus diagnoses one report, or the later of two."""
    corpus, page = tmp_path / "corpus.jsonl", tmp_path / "page.html"
    corpus.write_text('{"id": "d9", "text": "Now found"}\n', "utf-8")
    loaded = {name: Report.load(path) for name, path in saved.items()}
    causes = {
        name: diagnose(one, corpus=[Context("Now found", id="d9")]) for name, one in loaded.items()
    }
    assert run("page", saved["before"], "--corpus", corpus, "-o", page).exit_code == 0
    text = page.read_text("utf-8")
    assert "Why it was missed" in text
    assert text == loaded["before"].to_html(diagnosis=causes["before"])
    both = (saved["before"], saved["after"], "--corpus", corpus)
    assert run("page", *both, "-o", page).exit_code == 0
    comparison = compare(loaded["before"], loaded["after"])
    expected = comparison.to_html(diagnosis=causes["after"])
    assert page.read_text("utf-8") == expected


def test_nothing_of_the_users_is_overwritten(saved: dict[str, Path], tmp_path: Path) -> None:
    """An output path that is a report, a foreign page, or not a page is refused unchanged."""
    other = tmp_path / "other.html"
    other.write_text("mine", encoding="utf-8")
    before = saved["before"].read_bytes()
    for output in (other, saved["before"], tmp_path / "page.txt", tmp_path / "none" / "page.html"):
        assert run("page", saved["before"], "--output", output).exit_code == 2
    assert other.read_text("utf-8") == "mine"
    assert saved["before"].read_bytes() == before


def test_a_retriever_is_asked_for_more(saved: dict[str, Path], tmp_path: Path) -> None:
    """--retriever looks for the causes in deeper lists."""
    app, page = tmp_path / "deeper_app.py", tmp_path / "page.html"
    app.write_text(
        "def search(question, k=5):\n"
        "    return [(f'x{n}', f'text {n}') for n in range(k - 1)] + [('d9', 'Now found')]\n",
        "utf-8",
    )

    def search(question: str, k: int = 5) -> list[tuple[str, str]]:
        return [*((f"x{n}", f"text {n}") for n in range(k - 1)), ("d9", "Now found")]

    assert run("page", saved["before"], "--retriever", f"{app}:search", "-o", page).exit_code == 0
    before = Report.load(saved["before"])
    expected = before.to_html(diagnosis=diagnose(before, retriever=search))
    assert page.read_text("utf-8") == expected
    assert expected != before.to_html()
