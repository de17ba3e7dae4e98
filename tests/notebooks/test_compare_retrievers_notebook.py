"""The notebook that compares retrievers runs, and its figures agree with one another."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.tools]
NAME = "compare_retrievers.ipynb"
KS = (1, 3, 5, 10, 20, 50)


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


def test_recall_grows_with_k_and_the_smallest_k_reaches_its_target(
    notebook: Any, means: dict[tuple[str, str], tuple[float, float, float]]
) -> None:
    """The curves never fall, hold the means at 10, and say which k are enough."""
    shown = notebook.shown_by("report.plot(")
    assert "Figure" in shown
    curves = {}
    for name in ("BM25", "dense"):
        (line,) = re.findall(rf"^{name} +(@1 .+)$", shown, re.MULTILINE)
        curves[name] = {int(k): float(mean) for k, mean in re.findall(r"@(\d+) (\S+)", line)}
        assert tuple(curves[name]) == KS
        assert list(curves[name].values()) == sorted(curves[name].values())
        assert curves[name][10] == means[name, "id_recall"][0]
    told = notebook.shown_by("smallest = {")
    for name, curve in curves.items():
        (sentence,) = re.findall(rf"^{name}: (.+)$", told, re.MULTILINE)
        reached = re.findall(r"reaches 0.25 at k = (\d+): at least (\S+) \(95%", sentence)
        if reached:
            assert float(reached[0][1]) >= 0.25
            assert all(mean >= 0.25 for k, mean in curve.items() if k >= int(reached[0][0]))
        else:
            assert "reaches 0.25 at no k up to 50" in sentence
            assert re.search(rf"mean(?: at 50 is)? {curve[50]:.3f}", sentence)


def test_chunk_sizes_are_compared_at_equal_cost(notebook: Any) -> None:
    """No size reads more than the budget; smaller chunks are more; the change is theirs."""
    rows = {
        int(size): tuple(map(float, rest))
        for size, *rest in re.findall(
            r"(\d+): +(\S+) chunks, +(\d+) characters, span_recall (\S+), 95% from (\S+) to (\S+)",
            notebook.shown_by("BUDGET = 2_000"),
        )
    }
    assert list(rows) == [200, 400, 1600]
    assert rows[200][0] > rows[400][0] > rows[1600][0]
    assert all(0 < read <= 2000 for _, read, *_ in rows.values())
    assert all(low < mean < high for *_, mean, low, high in rows.values())
    told = notebook.shown_by("sized = compare")
    difference, low, high = map(float, re.findall(r"[+-]\d\.\d+", told))
    assert low < difference < high
    assert difference == pytest.approx(rows[1600][2] - rows[200][2], abs=0.0011)


def test_each_miss_has_one_cause(notebook: Any) -> None:
    """The causes of a score add up to what it missed, in the tables and in the sentences."""
    tables = notebook.shown_by("causes = {}").split("--- ")[1:]
    near = notebook.shown_by("near = sum")
    for table in tables:
        name = table.split()[0]
        counts = re.findall(
            r"^  ((?!missed)[a-z][a-z ]*?) +([\d,]+|-)(?: \(\d+%\))? +([\d,]+|-)(?: |$)",
            table,
            re.MULTILINE,
        )
        missed = list(map(int, re.findall(r"^  missed +(\d+) +(\d+)$", table, re.MULTILINE)[0]))
        for column, total in enumerate(missed, start=1):
            assert sum(int(row[column]) for row in counts if row[column] != "-") == total
        total, within = map(
            int, re.findall(rf"{name}: (\d+) pages are not in the first 10, (\d+) of", near)[0]
        )
        assert total == missed[0]
        assert 0 < within < total
    assert [table.split()[0] for table in tables] == ["BM25", "dense"]


def test_a_patchy_index_is_told_from_a_weak_retriever(notebook: Any) -> None:
    """What the index has lost is called so, with the remedy."""
    told = notebook.shown_by("patchy = measured")
    lost = int(re.findall(r"^(\d+) chunks lost", told, re.MULTILINE)[0])
    assert lost > 0
    causes = dict(re.findall(r"^ *\d+ (\w+): (.+)$", told, re.MULTILINE))
    assert causes["not_in_corpus"].startswith("Index it")
    assert causes.keys() & {"beyond_k", "never_retrieved"}
