"""The LangChain notebook runs from top to bottom, with the outputs that its text names."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.tools]
NAME = "langchain.ipynb"


def mean_at(table: str, name: str) -> float:
    """Return the mean of one measure of a printed summary."""
    (score,) = re.findall(rf"^  {re.escape(name)} +(\S+)$", table, re.MULTILINE)
    return float(score)


def test_it_runs_and_shows_what_it_says(notebook: Any) -> None:
    """The notebook shows an experiment, misses with causes, a fix, stages, and an agent."""
    assert "166 pages, 60 questions" in notebook.shown_by("library_pages, library_questions")
    feedback = notebook.shown_by("def experiment")
    assert re.search(r"^id_recall@5 1\.0 - 1 of 1 found in 5 retrieved", feedback, re.MULTILINE)

    before = mean_at(notebook.shown_by("before = report_of"), "@5")
    after = mean_at(notebook.shown_by("after = report_of"), "@5")
    assert round(before, 2) == 0.72  # The introduction states this.
    assert before < after < 1

    causes = notebook.shown_by("diagnose(before")
    assert "not in corpus" not in causes
    told = notebook.shown_by("ranked[")
    near, missed = (int(word) for word in told.split()[:3:2])
    assert 0 < near < missed
    assert told.count("when retrieving 50") == 3
    counts = dict(
        re.findall(r"^  (never retrieved|beyond k) +(\d+) \(\d+%\)$", causes, re.MULTILINE)
    )
    assert sum(map(int, counts.values())) == missed

    change = notebook.shown_by("compare(before, after")
    assert f"{before:.3f}   {after:.3f}" in change

    stages = notebook.shown_by("at_stage")
    means = {name: float(mean) for name, mean in map(str.split, stages.splitlines())}
    assert list(means) == ["BM25", "vectors", "EnsembleRetriever", "final"]
    assert means["BM25"] == pytest.approx(before)
    assert means["final"] == pytest.approx(after)
    assert means["vectors"] > means["EnsembleRetriever"]  # The text states this.

    agent = notebook.shown_by("create_agent")
    assert agent.count("searched for") == 2
    assert "union of 2 calls" in agent
    assert re.search(r"\d+ of \d+ in the prompt", agent)
