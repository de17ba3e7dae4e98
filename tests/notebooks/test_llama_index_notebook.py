"""The notebook for LlamaIndex runs, and shows what its text says that it shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.frameworks

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def outputs(run_notebook: Callable[..., Any]) -> dict[str, str]:
    """What each cell printed, by the cell's source, from one run of the whole notebook."""
    return {source: _COLOUR.sub("", text) for source, text in run_notebook("llama_index.ipynb")}


def shown(outputs: dict[str, str], code: str) -> str:
    """Return what the one cell printed that contains `code`."""
    (found,) = (text for source, text in outputs.items() if code in source)
    return found


def row(table: str, name: str) -> list[float]:
    """Return the numbers in the row of a printed table that begins with `name`."""
    (line,) = (line for line in table.splitlines() if line.split()[:1] == [name])
    return [float(number) for number in re.findall(r"[-+]?\d*\.\d+|\d+", line.split(name, 1)[1])]


def test_one_question_shows_what_the_reranker_lost(outputs: dict[str, str]) -> None:
    """The retrieved list scores higher than the final one, and the feedback names what is gone."""
    text = shown(outputs, "attach(engine)\n")
    retrieved, final = map(float, re.findall(r"(?:retrieved|reranking): ([\d.]+)", text))
    assert retrieved > final
    assert "retrieved, but lost on the way: " in text


def test_recall_is_seen_before_and_after_the_reranker(outputs: dict[str, str]) -> None:
    """The table has each stage; what the reranker lost is in the list, with its ranks."""
    table = shown(outputs, "print(stages)")
    (before, *_), (after, _, lost, scored) = row(table, "retrieved"), row(table, "final")
    through, _, dropped, _ = row(table, "SharedWords")
    assert before > through == after > 0.0
    assert (lost, scored) == (0, 47)
    listed = shown(outputs, "stages.lost()")
    assert listed.startswith(f"{dropped:.0f} targets lost by the reranker")
    ranks = [int(rank) for rank in re.findall(r"rank +(\d+)", listed)]
    assert ranks
    assert all(1 <= rank <= 20 for rank in ranks)


def test_the_misses_of_the_retriever_are_another_list(outputs: dict[str, str]) -> None:
    """Most of what is missed was never retrieved: no reranker brings that back."""
    text = shown(outputs, 'stages["retrieved"].missed()')
    never = int(text.split()[0])
    lost = int(shown(outputs, "stages.lost()").split()[0])
    assert never > lost > 0
    assert len(text.splitlines()) == 7


def test_the_fix_is_compared_over_the_same_questions(outputs: dict[str, str]) -> None:
    """After is better than before, by as much as the table says, in more questions than it hurt."""
    before = row(shown(outputs, "print(stages)"), "final")[0]
    after = row(shown(outputs, "class RareWords"), "final")[0]
    text = shown(outputs, "compare(before, after)")
    scores = row(text, "score")
    assert scores[:2] == [before, after]
    assert scores[2] == pytest.approx(after - before, abs=0.0015)
    assert after > before
    better, worse = (int(re.search(rf"(\d+) {word}", text)[1]) for word in ("better", "worse"))  # type: ignore[index]
    assert better > worse
    assert "47 samples" in text


def test_the_batch_runner_has_a_row_for_each_stage(outputs: dict[str, str]) -> None:
    """LlamaIndex's own runner scores the attached engine's responses before and after reranking."""
    table = shown(outputs, "BatchEvalRunner(")
    lines = [line.split() for line in table.splitlines()[1:]]
    assert [line[2] for line in lines] == ["retrieved", "RareWords", "final"]
    assert {tuple(line[4:]) for line in lines} == {("5", "0")}
    assert float(lines[0][3]) >= float(lines[2][3])
