"""The quickstart notebook runs from top to bottom, and shows what its text says it shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.tools
NAME = "quickstart.ipynb"


@pytest.fixture(scope="module")
def notebook(run_notebook: Callable[..., Any]) -> Any:
    """Return the notebook, run once for all tests."""
    return run_notebook(NAME)


def test_one_question_with_its_ranks(notebook: Any) -> None:
    """The recall at each k is that of the ranks shown, and the last one is the score."""
    first = notebook.shown_by("IdRecall().score(sample)")
    ranks = re.findall(r"at rank (\S+)", notebook.shown_by("finding.rank"))
    found = [int(rank) for rank in ranks if rank != "None"]
    at = dict(re.findall(r"recall@(\d) = (\S+)", notebook.shown_by("finding.rank")))
    assert {int(k): float(value) for k, value in at.items()} == {
        k: sum(rank <= k for rank in found) / len(ranks) for k in (1, 2, 3)
    }
    assert first.startswith(f"{at['3']} - {len(found)} of {len(ranks)} found in 3 retrieved")
    assert "missed: eiffel-place" in first


def test_each_scorer_names_what_it_missed(notebook: Any) -> None:
    """Whole texts differ where the passage stands inside a longer chunk; its characters do not."""
    shown = notebook.shown_by("TextRecall()", "SpanRecall()").splitlines()
    lines = {line.split()[0]: line for line in shown if line}
    assert lines["text_recall"].split()[1] == "0.0"
    assert lines["span_recall"].split()[1] == "0.5"
    assert "1887" in lines["text_recall"]
    assert "1887" not in lines["span_recall"]
    assert all("330 metres" in line for line in lines.values())


def test_claims_come_with_quotes_of_what_was_retrieved(notebook: Any) -> None:
    """The score is the share of the claims with evidence, and each quote stands at its rank."""
    retrieved = notebook.shown_by("ClaimRecall()")
    claims = re.findall(r"^([+-]) (.+)$", retrieved, re.MULTILINE)
    supported = [claim for sign, claim in claims if sign == "+"]
    assert float(retrieved.split()[0]) == pytest.approx(len(supported) / len(claims))
    assert [claim for sign, claim in claims if sign == "-"] == [
        "The Eiffel Tower weighs 10,100 tonnes."
    ]
    (source,) = [cell.source for cell in notebook.cells if cell.source.startswith("retrieved = [")]
    texts = re.findall(r'"(.+)",', source)
    quotes = re.findall(r"rank (\d): ['\"](.+)['\"]$", retrieved, re.MULTILINE)
    assert len(quotes) >= len(supported)
    assert all(quote in texts[int(rank) - 1] for rank, quote in quotes)


def test_each_case_at_the_edge_has_its_own_status(notebook: Any) -> None:
    """Nothing retrieved is 0.0; what is not measured has no number and a reason."""
    lines = notebook.shown_by("nothing retrieved").splitlines()
    told = {line[:20].strip(): line[20:].split(maxsplit=2) for line in lines if line}
    assert {case: (status, score) for case, (status, score, _) in told.items()} == {
        "nothing retrieved": ("scored", "0.0"),
        "nothing to find": ("undefined", "None"),
        "retrieval not seen": ("unscored", "None"),
        "retriever failed": ("unscored", "None"),
    }
    assert "TimeoutError" in told["retriever failed"][2]


def test_the_summary_the_misses_and_the_saved_report_agree(notebook: Any) -> None:
    """One mean in all places, inside its interval, over the samples that have a score."""
    table = notebook.shown_by("report.summary(Recall")
    ((mean,), (interval,)) = (
        re.findall(r"^  @2 +(\S+)$", table, re.MULTILINE),
        re.findall(r"(0\.\d+), from 0\.\d+ to 0\.\d+", notebook.shown_by("score.interval.low")),
    )
    assert mean == interval
    told = notebook.shown_by("score.interval.low")
    low, high = map(float, re.findall(r"from (\S+) to (\S+)", told)[0])
    assert low < float(mean) < high
    assert re.search(r"^40 scored, 1 unscored: no retrieval observed", told, re.MULTILINE)

    # By the rule that the cell itself gives: three in four bring their document, at rank 2.
    targets = sum(2 if n % 5 == 0 else 1 for n in range(40))
    missed = notebook.shown_by("report.missed(k=1)")
    assert missed.startswith(f"{targets} documents are not at rank 1")
    assert re.search(r"^Question 1: doc-1 at rank 2$", missed, re.MULTILINE)
    expected = sum((1 / (2 if n % 5 == 0 else 1)) for n in range(40) if n % 4) / 40
    assert float(mean) == pytest.approx(expected, abs=0.0005)

    kept = notebook.shown_by("report.to_html").splitlines()
    assert kept[0] == "True"
    assert int(kept[1].split()[0]) > 10
