"""The quickstart notebook runs from top to bottom, with the outputs that its text names."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.tools
NAME = "quickstart.ipynb"


def number(pattern: str, text: str) -> float:
    """Return the number that a pattern finds in a text."""
    found = re.search(pattern, text, re.MULTILINE)
    assert found is not None, text
    return float(found[1])


def test_the_third_cell_ends_with_a_number_that_matters(notebook: Any) -> None:
    """The third cell ends with recall and its interval, in the range of real retrievers."""
    assert "monday.summary" in notebook.cells[1].source
    recall = number(r"^  @5 +(\S+)$", notebook.cells[1].shown)
    assert 0.6 <= recall <= 0.9


def test_the_named_cause_is_the_defect_and_its_gain_is_measured(notebook: Any) -> None:
    """The copies crowd pages out, and the measured gain of the fix equals the predicted one."""
    causes = notebook.shown_by("diagnose(monday")
    shares = re.findall(r"^  (\D+?) +\d+ \((\d+)%\)$", causes, re.MULTILINE)
    assert max(shares, key=lambda share: int(share[1]))[0] == "crowded out"
    assert "drop duplicates before the list is cut: +0." in causes
    compared = notebook.shown_by("predicted = next")
    predicted, measured = re.findall(r"[+-]\d\.\d+", compared)
    assert float(predicted) == pytest.approx(float(measured), abs=0.02)
    change = notebook.shown_by("change = compare(")
    assert change.startswith("Better: id_recall@5 rose from ")
    assert compared.count("->") == 3


def test_the_gate_passes_what_changes_nothing_and_stops_the_defect(notebook: Any) -> None:
    """The gate passes an unchanged pull request, and fails the defect."""
    first, second = notebook.shown_by("gate.check(").strip().splitlines()
    assert first.startswith("no clearing: FAIL: change of id_recall@5 is at most -")
    assert second.startswith("nothing changed: PASS: change of id_recall@5 is 0: all lists of 60")


def test_slices_and_misses_say_what_is_left(notebook: Any) -> None:
    """The lowest slice comes first, and the page is one file."""
    shown = notebook.shown_by("slices(")
    means = [float(mean) for mean in re.findall(r"^  \D+ (\d\.\d{3}) ", shown, re.MULTILINE)]
    assert means == sorted(means)
    assert len(means) == 5
    assert shown.count("->") == 3
    assert int(notebook.shown_by("to_html(").split()[0]) > 100
