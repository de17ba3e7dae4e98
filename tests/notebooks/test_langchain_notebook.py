"""The LangChain notebook runs from top to bottom, and shows what its text says it shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = pytest.mark.frameworks
NAME = "langchain.ipynb"
FILE = Path(__file__).parents[2] / "notebooks" / NAME


def recall_at_10(table: str) -> float:
    """Return the mean score of a printed summary."""
    (score,) = re.findall(r"^  score +(\S+)$", table, re.MULTILINE)
    return float(score)


def test_it_runs_and_shows_what_it_says(run_notebook: Callable[..., Any]) -> None:
    """Every number is of this run: recall in [0, 1], misses by name, stages, a comparison."""
    notebook = run_notebook(NAME)
    assert re.search(r"\d{4} pages, \d{3} questions", notebook.shown_by("documents, questions"))
    assert "needs" in notebook.shown_by("needs")

    before = recall_at_10(notebook.shown_by("before = evaluate_retriever"))
    after = recall_at_10(notebook.shown_by("after = evaluate_retriever"))
    assert 0 < before < after < 1

    missed = notebook.shown_by("before.missed()")
    assert re.match(r"\d+ pages were missed", missed)
    assert len(re.findall(r"^    missed \S", missed, re.MULTILINE)) == 3

    causes = notebook.shown_by("diagnose(before")
    assert "not in corpus" not in causes
    assert re.search(rf"^  beyond k +{missed.split()[0]} \(100%\)$", causes, re.MULTILINE)
    told = notebook.shown_by("ranked[")
    near, all_missed = (int(word) for word in told.split()[:3:2])
    assert 0 < near < all_missed / 2
    assert all_missed == int(missed.split()[0])
    assert told.count("when 100 are asked for") == 3

    rows = {
        line.split()[0]: line.split()[1:]
        for line in notebook.shown_by("evaluate_stages").splitlines()
        if line.startswith("  ") and len(line.split()) == 5
    }
    assert list(rows) == ["BM25", "vectors", "EnsembleRetriever", "final"]
    assert float(rows["BM25"][0]) == pytest.approx(before)
    assert float(rows["final"][0]) == pytest.approx(after)
    whole = {name: float(cells[1]) for name, cells in rows.items()}
    assert whole["EnsembleRetriever"] >= max(whole["BM25"], whole["vectors"], whole["final"])
    lost = notebook.shown_by("stages.lost()")
    assert lost.startswith(f"{rows['final'][2]} pages were found and lost again")
    assert lost.count("EnsembleRetriever had it at rank") == 3

    assert "id_recall" in notebook.shown_by("compare(before, after)").replace("\n", "")
    told = notebook.shown_by("change.wins")
    assert f"recall {before:.3f} -> {after:.3f}" in told
    counts = [int(count) for count in re.findall(r"(?:on|the same on) (\d+)", told)]
    assert sum(counts) == int(re.findall(r"(\d{3}) questions", notebook.cells[0].shown)[0])


def test_it_is_kept_without_outputs() -> None:
    """What stands in the file is what its author wrote: outputs are of the reader's own run."""
    notebook = nbformat.read(FILE, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert [cell.id for cell in notebook.cells] == [
        f"cell-{n:02d}" for n in range(1, len(notebook.cells) + 1)
    ]
