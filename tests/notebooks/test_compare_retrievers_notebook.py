"""The notebook that compares retrievers runs, and its figures agree with one another."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.tools]
NAME = "compare_retrievers.ipynb"


@pytest.fixture(scope="module")
def notebook(run_notebook: Callable[..., Any]) -> Any:
    """Return the notebook, run once for all tests."""
    return run_notebook(NAME)


@pytest.fixture(scope="module")
def means(notebook: Any) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Return mean, low and high by retriever and score, as the notebook shows them."""
    rows = re.findall(
        r"^(BM25|dense) +(\w+) +@10 (\S+), 95% from (\S+) to (\S+)$",
        notebook.shown_by("reports = {", "measured(retriever)"),
        re.MULTILINE,
    )
    return {(name, score): tuple(map(float, rest)) for name, score, *rest in rows}  # type: ignore[misc]


@pytest.fixture(scope="module")
def asked(notebook: Any) -> int:
    """Return how many questions there are."""
    return int(re.findall(r"pages, (\d+) questions", notebook.shown_by("documents, questions"))[0])


def test_each_mean_stands_in_its_interval(
    means: dict[tuple[str, str], tuple[float, float, float]],
) -> None:
    """Both retrievers, both scores; the whole text of a page is no easier to bring than a chunk."""
    assert set(means) == {
        (name, score) for name in ("BM25", "dense") for score in ("id_recall", "span_recall")
    }
    assert all(0 < low < mean < high < 1 for mean, low, high in means.values())
    for name in ("BM25", "dense"):
        assert means[name, "span_recall"][0] <= means[name, "id_recall"][0]


def test_the_comparison_is_of_the_same_means(
    notebook: Any, means: dict[tuple[str, str], tuple[float, float, float]], asked: int
) -> None:
    """The difference is that of the two means, its sign that of the interval; flips add up."""
    told = notebook.shown_by("change.interval.low")
    before, after, difference = map(
        float, re.findall(r"^from (\S+) to (\S+): (\S+)$", told, re.MULTILINE)[0]
    )
    assert (before, after) == (means["BM25", "id_recall"][0], means["dense", "id_recall"][0])
    assert difference == pytest.approx(after - before, abs=0.0011)
    low, high = map(float, re.findall(r"^95% from (\S+) to (\S+)$", told, re.MULTILINE)[0])
    assert low < difference < high
    better, worse, same = map(
        int, re.findall(r"(\d+) questions better, (\d+) worse, (\d+) the same", told)[0]
    )
    assert better + worse + same == asked
    assert worse > 0  # which the text goes on to speak of
    assert len(re.findall(r"^worse: ", told, re.MULTILINE)) == min(3, worse)
    assert "id_recall@10: " in notebook.shown_by("print(comparison)")


def test_a_patchy_index_is_told_from_a_weak_retriever(notebook: Any) -> None:
    """What the index has lost is called so, with the remedy."""
    told = notebook.shown_by("patchy = measured")
    lost = int(re.findall(r"^(\d+) chunks lost", told, re.MULTILINE)[0])
    assert lost > 0
    causes = dict(re.findall(r"^ *\d+ (\w+): (.+)$", told, re.MULTILINE))
    assert causes["not_in_corpus"].startswith("Index it")
    assert causes.keys() & {"beyond_k", "never_retrieved"}
