"""The parts of a page at their limits: charts, ranges of characters, metadata, titles, sizes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from tests.page.page_source import block

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import ReportError
from fullrecall.measures import Recall
from fullrecall.page import page as pages
from fullrecall.page.samples import _range, metadata_text
from fullrecall.page.tables import Chart, Curve, CurveMean, chart, path
from fullrecall.stats.bounds import Interval

KS = [1.0, 2.0, 4.0, 8.0]


def asked(**fields: Any) -> Sample:
    """Return a sample that is found at rank 2."""
    lists = {"retrieved_context_ids": ["a", "b"], "reference_context_ids": ["b"]}
    return Sample(**{"user_input": "?", **lists, **fields})


def report(*samples: Sample) -> Report:
    """Return a report by ID."""
    return evaluate(samples or [asked()], IdRecall(), progress=False)


def curve(figures: dict[float, CurveMean]) -> Curve:
    """Return a curve of these figures."""
    return Curve("A", "id_recall", 0, figures)


def test_a_chart_has_a_logarithmic_axis() -> None:
    """Doubled ks are equally far apart, and means go from the bottom to the top."""
    drawn = Chart("k", KS, [])
    assert [drawn.x(k) for k in KS] == [44.0, 152.7, 261.3, 370.0]
    assert [drawn.y(value) for value in (0, 0.25, 1)] == [208.0, 159.0, 12.0]
    line = curve(
        {1.0: CurveMean(0.25, Interval(0.0, 0.5)), 2.0: CurveMean(None), 8.0: CurveMean(1)}
    )
    assert drawn.dots(line) == [(44.0, 159.0), (370.0, 12.0)]
    assert drawn.band(line) == [(44.0, 110.0), (44.0, 208.0)]
    assert path([(1, 2), (3.5, 4)]) == "M1 2L3.5 4"


def test_a_tick_is_labeled_if_it_has_room() -> None:
    """The last k has a label, and each smaller one that is far enough from the next label."""
    assert Chart("k", KS, []).labeled == KS
    dense = Chart("k", [float(k) for k in range(1, 65)], [])
    kept = dense.labeled
    assert (kept[:4], kept[-1]) == ([1, 2, 3, 4], 64)
    assert all(dense.x(b) - dense.x(a) >= 22 for a, b in pairwise(kept))
    # Each k without a label is too near to the next one with a label.
    for k in set(dense.ks) - set(kept):
        assert dense.x(min(each for each in kept if each > k)) - dense.x(k) < 22
    # (370 - 44) / log2(k) is the room of a factor of two: 22.0 here, and less there.
    assert Chart("k", [1.0, 2**13.8, 2**14.8], []).labeled == [1.0, 2**13.8, 2**14.8]
    assert Chart("k", [1.0, 2**13.9, 2**14.9], []).labeled == [1.0, 2**14.9]


def test_a_chart_needs_two_ks() -> None:
    """One k makes no line; a curve without a mean is left out."""
    mean, none = CurveMean(0.5), CurveMean(None)
    assert chart([curve({1.0: mean})]) is None
    assert chart([curve({1.0: none, 2.0: none})]) is None
    drawn = chart([curve({2.0: mean, 1.0: none}), curve({3.0: none})])
    assert drawn is not None
    assert (drawn.ks, len(drawn.curves), drawn.counted) == ([1.0, 2.0], 1, "k, the contexts")
    named = chart([curve({1.0: mean, 2.0: mean})], "calls")
    assert named is not None
    assert named.counted == "calls"


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({}, None),
        ({"a": 1}, '{\n "a": 1\n}'),
        ({"a": "é", "b": [1]}, '{\n "a": "é",\n "b": [1]\n}'),
        ({"a": {(1, 2): 3}}, "{'a': {(1, 2): 3}}"),
    ],
)
def test_metadata_has_a_line_for_each_key(metadata: dict[str, Any], text: str | None) -> None:
    """Values that JSON cannot hold are shown as Python writes them."""
    assert metadata_text(metadata) == text


@pytest.mark.parametrize(("length", "brief"), [(299, 299), (300, 300), (301, 301)])
def test_a_long_question_is_cut_in_the_table(length: int, brief: int) -> None:
    """The table has 300 characters of a question, and a mark if more follow."""
    page = report(asked(user_input="q" * length)).to_html()
    (entry,) = block(page, "index")["samples"]
    assert len(entry["q"]) == brief
    assert entry["q"].endswith("…") == (length > 300)


def test_titles_and_names() -> None:
    """A page has a title; that of a comparison names both reports."""
    one, other = report(), report(asked(retrieved_context_ids=["b", "a"]))
    assert "<title>Context recall</title>" in one.to_html()
    assert "<title>Mine</title>" in one.to_html(title="Mine")
    both = compare(one, other)
    assert "<title>Context recall, before and after</title>" in both.to_html()
    assert "<title>Mine</title>" in both.to_html(title="Mine")
    named = pages.comparison_page(both, names=("old", "new"))
    assert "<title>Context recall, old and new</title>" in named


def test_a_page_holds_so_many_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of the most samples has a page, and a larger one has none."""
    monkeypatch.setattr(pages, "MOST_ROWS", 2)
    pages.check_size(report(asked(), asked()))
    with pytest.raises(ReportError, match="at most 2 samples, got 3"):
        pages.check_size(report(asked(), asked(), asked()))


@pytest.mark.parametrize(
    ("after", "size", "end"),
    [(0, 250, "0.02"), (0, 100, "0.05"), (2, 100, "0.1"), (5, 100, "0.2"), (50, 100, "1")],
)
def test_the_axis_of_differences_fits_them(after: int, size: int, end: str) -> None:
    """The axis ends at the smallest of a few ends that holds the difference and its interval."""
    before = [asked() for _ in range(size)]
    worse = [asked(retrieved_context_ids=["a"]) if n < after else asked() for n in range(size)]
    page = compare(report(*before), report(*worse), Recall).to_html()
    assert f"-{end} to +{end}" in page


@pytest.mark.parametrize(
    ("start", "end", "place"),
    [
        (0, 1, (0, 1)),
        (0, 4, (0, 4)),
        (3, 4, (3, 4)),
        (0, 5, None),
        (2, 2, None),
        (3, 2, None),
        (-1, 2, None),
        (None, 2, None),
        (1, None, None),
    ],
)
def test_a_mark_is_within_its_text(start: Any, end: Any, place: Any) -> None:
    """A range of at least one character of the text is marked, and no other."""
    assert _range("text", start, end) == place
    assert _range(None, start, end) is None
