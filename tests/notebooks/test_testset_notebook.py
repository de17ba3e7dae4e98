"""The notebook about test sets runs, and its figures agree with one another."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.tools
NAME = "testset.ipynb"


def test_the_scripted_model_is_named_as_such(notebook: Any) -> None:
    """Text and code say that the model is scripted."""
    assert "is no model" in notebook.prose
    assert 'name="a script, no model"' in "".join(cell.source for cell in notebook.cells)


def test_one_request_for_each_accepted_question(notebook: Any) -> None:
    """One request is sent for each accepted question, and rejected passages are named."""
    shown = notebook.shown_by("from fullrecall.testset import generate")
    accepted, drafts = map(int, re.findall(r"(\d+) of (\d+) drafts accepted", shown)[0])
    calls = int(re.findall(r"Sent (\d+) calls", shown)[0])
    assert (accepted, drafts, calls) == (12, 14, 13)
    assert "about 12 calls" in shown
    counts = {what: int(n) for n, what in re.findall(r"^ +(\d+)  (.+)$", shown, re.MULTILINE)}
    assert counts == {"quote not in the document": 1, "copied words": 1}


def test_a_quote_stands_where_it_says_and_nothing_is_paid_twice(notebook: Any) -> None:
    """Quotes have the right offsets, and a second run sends no request."""
    assert notebook.shown_by("documents[quote.source][quote.start").rstrip().endswith("True")
    assert notebook.shown_by("again = generate").strip() == "0 requests; True"


def test_the_review_and_the_retriever_have_their_figures(notebook: Any) -> None:
    """A complete review gives its figures, and recall is shown for each chunk size."""
    shown = notebook.shown_by("apply_review(testset.samples")
    assert "12 of 12 drawn were reviewed: 12 good, 0 bad" in shown
    assert "PASS: at least 100.0%" in shown
    means = re.findall(r"^(\d+) (0\.\d+|1\.0)$", notebook.shown_by("def search"), re.MULTILINE)
    assert [int(size) for size, _ in means] == [60, 120, 400]
    assert all(0.5 < float(mean) <= 1 for _, mean in means)
