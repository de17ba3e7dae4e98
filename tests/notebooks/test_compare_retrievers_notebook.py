"""The notebook that compares retrievers runs, and its figures agree with one another."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.tools]
NAME = "compare_retrievers.ipynb"


@pytest.fixture(scope="module")
def means(notebook: Any) -> dict[str, tuple[float, float, float]]:
    """Return mean, low and high by retriever, as the notebook shows them."""
    rows = re.findall(
        r"^(BM25|dense|both) +@5 (\S+), 95% from (\S+) to (\S+)$",
        notebook.shown_by("reports = {"),
        re.MULTILINE,
    )
    return {name: tuple(map(float, rest)) for name, *rest in rows}  # type: ignore[misc]


def test_each_mean_is_in_its_interval(means: dict[str, tuple[float, float, float]]) -> None:
    """Each of three means is in its interval and in the range of real retrievers."""
    assert set(means) == {"BM25", "dense", "both"}
    assert all(0.4 < low < mean < high < 1 for mean, low, high in means.values())


def test_the_comparison_is_of_the_same_means(
    notebook: Any, means: dict[str, tuple[float, float, float]]
) -> None:
    """Dense vectors are better, and their three or fewer lost questions are listed."""
    told = notebook.shown_by("comparison = compare")
    assert f"rose from {means['BM25'][0]:.3f} to {means['dense'][0]:.3f}" in told
    worse = int(re.findall(r"(\d+) worse", told)[0])
    assert worse > 0  # The text below the cell discusses these questions.
    assert len(re.findall(r"^worse: ", told, re.MULTILINE)) == min(3, worse)


def test_choose_drops_the_worst_and_cannot_tell_the_others(notebook: Any) -> None:
    """One retriever is dropped early, and 60 questions do not separate the other retrievers."""
    told = notebook.shown_by("choose(asked")
    assert "CANNOT TELL" in told
    assert re.search(r"^BM25 .*dropped$", told, re.MULTILINE)


def test_small_chunks_are_better_at_equal_cost(notebook: Any) -> None:
    """The interval of the difference excludes zero, as the text says."""
    told = notebook.shown_by("budget = Recall @ tokens(400)")
    assert re.search(r"^800 against 150: -\S+, 95% from -\S+ to -\S+$", told, re.MULTILINE)


def test_a_patchy_index_is_told_from_a_weak_retriever(notebook: Any) -> None:
    """The pages that the index lacks are named as such, with the fix."""
    told = notebook.shown_by("patchy = evaluate")
    lost = int(re.findall(r"^(\d+) chunks lost", told, re.MULTILINE)[0])
    assert lost > 0
    causes = dict(re.findall(r"^ *\d+ (\w+): (.+)$", told, re.MULTILINE))
    assert causes["not_in_corpus"].startswith("Index it")
    assert causes.keys() & {"beyond_k", "never_retrieved"}
