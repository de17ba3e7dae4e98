"""The notebook for LlamaIndex runs, and shows what its text says that it shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.frameworks
NAME = "llama_index.ipynb"


@pytest.fixture(scope="module")
def notebook(run_notebook: Callable[..., Any]) -> Any:
    """The notebook after one run: all tests look at the same."""
    return run_notebook(NAME)


def row(table: str, name: str) -> list[float]:
    """Return the numbers in the row of a printed table that begins with `name`."""
    (line,) = (line for line in table.splitlines() if line.split()[:1] == [name])
    return [float(number) for number in re.findall(r"[-+]?\d*\.\d+|\d+", line.split(name, 1)[1])]


def test_one_question_shows_what_the_reranker_lost(notebook: Any) -> None:
    """The retrieved list scores higher than the final one, and the feedback names what is gone."""
    text = notebook.shown_by("with attach(engine):")
    retrieved, final = map(float, re.findall(r"(?:retrieved|reranking): ([\d.]+)", text))
    assert retrieved > final
    assert "retrieved, but lost on the way: " in text


def test_recall_is_seen_before_and_after_the_reranker(notebook: Any) -> None:
    """The table has each stage; what the reranker lost is in the list, with its ranks."""
    table = notebook.shown_by("print(stages)")
    (before, *_), (after, _, lost, scored) = row(table, "retrieved"), row(table, "final")
    through, _, dropped, _ = row(table, "SharedWords")
    assert before > through == after > 0.0
    assert (lost, scored) == (0, 47)
    listed = notebook.shown_by("stages.lost()")
    assert listed.startswith(f"{dropped:.0f} targets lost by the reranker")
    ranks = [int(rank) for rank in re.findall(r"rank +(\d+)", listed)]
    assert ranks
    assert all(1 <= rank <= 20 for rank in ranks)


def test_every_miss_has_a_cause(notebook: Any) -> None:
    """What the reranker lost is told from what was never among the first 20, by its rank."""
    text = notebook.shown_by("diagnose(before")
    causes = {
        name: int(re.search(rf"^ *{name} +(\d+) ", text, re.MULTILINE)[1])  # type: ignore[index]
        for name in ("beyond k", "dropped by stage")
    }
    lost = int(notebook.shown_by("stages.lost()").split()[0])
    assert causes["dropped by stage"] == lost
    assert causes["beyond k"] > lost
    assert int(re.search(r"missed +(\d+)", text)[1]) == sum(causes.values())  # type: ignore[index]
    details = notebook.shown_by("for miss in diagnosis.misses")
    assert "SharedWords has it no more" in details
    held = [int(more) for more in re.findall(r"hold (\d+) more than", details)]
    assert held == sorted(held)
    assert 0 < held[-1] < causes["beyond k"]


def test_the_fix_is_compared_over_the_same_questions(notebook: Any) -> None:
    """After is better than before, by as much as the table says, in more questions than it hurt."""
    before = row(notebook.shown_by("print(stages)"), "final")[0]
    after = row(notebook.shown_by("class RareWords"), "final")[0]
    text = notebook.shown_by("compare(before, after)")
    scores = row(text, "score")
    assert scores[:2] == [before, after]
    assert scores[2] == pytest.approx(after - before, abs=0.0015)
    assert after > before
    better, worse = (int(re.search(rf"(\d+) {word}", text)[1]) for word in ("better", "worse"))  # type: ignore[index]
    assert better > worse
    assert "47 samples" in text


def test_the_batch_runner_has_a_row_for_each_stage(notebook: Any) -> None:
    """LlamaIndex's own runner scores the attached engine's responses before and after reranking."""
    table = notebook.shown_by("BatchEvalRunner(")
    lines = [line.split() for line in table.splitlines()[1:]]
    assert [line[2] for line in lines] == ["retrieved", "RareWords", "final"]
    assert {tuple(line[4:]) for line in lines} == {("5", "0")}
    assert float(lines[0][3]) >= float(lines[2][3])
