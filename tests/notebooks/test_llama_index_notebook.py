"""The LlamaIndex notebook runs, with the outputs that its text names."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.tools]
NAME = "llama_index.ipynb"


def row(table: str, name: str) -> list[float]:
    """Return the numbers in the row of a printed table that begins with `name`."""
    (line,) = (line for line in table.splitlines() if line.split()[:1] == [name])
    return [float(number) for number in re.findall(r"[-+]?\d*\.\d+|\d+", line.split(name, 1)[1])]


def test_one_question_shows_what_the_reranker_lost(notebook: Any) -> None:
    """The retrieved list scores higher than the final one; the feedback names lost targets."""
    text = notebook.shown_by("with capture_retrievals():")
    retrieved, final = map(float, re.findall(r"(?:retrieved|reranking): ([\d.]+)", text))
    assert retrieved > final
    assert "retrieved, then dropped: " in text


def test_recall_is_seen_before_and_after_the_reranker(notebook: Any) -> None:
    """Both lists are scored; the targets that the reranker dropped are listed, with their ranks."""
    shown = notebook.shown_by("retrieved, recall")
    before, after = map(float, re.findall(r"(?:retrieved|reranked): ([\d.]+) of 60", shown))
    assert before > after > 0.0
    listed = notebook.shown_by("dropped_by_stage")
    assert "targets dropped by the reranker" in listed
    ranks = [int(rank) for rank in re.findall(r"rank +(\d+)", listed)]
    assert ranks
    assert all(1 <= rank <= 20 for rank in ranks)


def test_every_miss_has_a_cause(notebook: Any) -> None:
    """The rank separates targets that the reranker lost from those outside the first 20."""
    text = notebook.shown_by("print(diagnosis)")
    causes = {
        name: int(count)
        for name, count in re.findall(r"^  ([a-z][a-z ]*?) +(\d+) \(", text, re.MULTILINE)
    }
    lost = int(notebook.shown_by("dropped_by_stage").split()[0])
    assert causes["dropped by stage"] == lost
    farther = sum(causes.values()) - lost
    assert 0 < farther < lost
    assert int(re.search(r"missed +(\d+)", text)[1]) == sum(causes.values())  # type: ignore[index]
    details = notebook.shown_by("for miss in diagnosis.misses")
    assert "VectorIndexRetriever had it at rank" in details
    held = [int(more) for more in re.findall(r"hold (\d+) more than", details)]
    assert held == sorted(held)
    assert 0 < held[-1] <= farther


def test_the_fix_is_compared_at_equal_depth(notebook: Any) -> None:
    """Recall among the first five is better than before, and that at rank 1 is shown, too."""
    text = notebook.shown_by("compare(before, after, Recall @ 5)")
    at_5, at_1 = text.split("0.00 -> ")[0], text.rsplit("before   after", 1)[1]
    before, after, change = row(at_5, "@5")[:3]
    assert before < after
    assert change == pytest.approx(after - before, abs=0.0015)
    before, after, change = row(at_1, "@1")[:3]
    assert change == pytest.approx(after - before, abs=0.0015)
    better, worse = (int(re.search(rf"(\d+) {word}", at_5)[1]) for word in ("better", "worse"))  # type: ignore[index]
    assert better > worse
    assert "63 samples" in text


def test_the_batch_runner_makes_a_report(notebook: Any) -> None:
    """LlamaIndex's batch runner scores all responses of the attached engine."""
    table = notebook.shown_by("BatchEvalRunner(")
    assert re.search(r"scored +5\b", table)
    assert re.search(r"unscored +0\b", table)
