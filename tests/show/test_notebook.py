"""Notebook display: small tables of escaped text, with the evidence and the coverage."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import Recall
from fullrecall.scorers.result import Method
from fullrecall.show.text import signed_between

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e"
CLAIMS = Method("claim_recall")


class Tags(HTMLParser):
    """The elements and the text of an HTML fragment."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.text = ""
        self.marked: list[str] = []
        self._marks = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element's name."""
        self.names.append(tag)
        self._marks += tag == "mark"

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        self._marks -= tag == "mark"

    def handle_data(self, data: str) -> None:
        """Keep a text, and whether it is marked."""
        self.text += f"{data} "
        if self._marks:
            self.marked.append(data)


def report_of(*retrieved: str) -> Report:
    """Return the ID recall of two samples, the second without a retrieval."""
    samples = [
        Sample(id="1", retrieved_context_ids=list(retrieved), reference_context_ids=["a", "b"]),
        Sample(id="2", reference_context_ids=["a"]),
    ]
    return evaluate(samples, [IdRecall()], progress=False)


def test_a_report_shows_its_summary_with_coverage() -> None:
    """Mean, interval, the interval's meaning, counts, and reasons are side by side."""
    report = report_of("a", "x")
    shown = Tags(report._repr_html_())
    for text in (
        "2 samples",
        "id_recall",
        "@3",
        "0.500",
        "95% interval",
        "no retrieval observed",
        "whatever the distribution of the scores",
    ):
        assert text in shown.text
    assert report.summary()._repr_html_() in report._repr_html_()


def test_a_comparison_shows_the_difference() -> None:
    """The paired difference has its interval, its number of samples, and the omitted ones."""
    comparison = compare(report_of("x"), report_of("a", "b"), Recall @ 3)
    shown = Tags(comparison._repr_html_())
    one = comparison["id_recall"][Recall @ 3]
    for text in (
        "+1.000",
        "compared",
        "95% interval",
        signed_between(one.interval),
        "1/0/0",
        "1 not compared in id_recall: unscored in one report or both",
    ):
        assert text in shown.text


@pytest.mark.rooms
def test_a_diagnosis_shows_gains_and_causes() -> None:
    """Proposed changes come before the causes, each with its action."""
    from fullrecall import diagnose

    samples = [
        Sample(id=str(n), retrieved_ids=["x", f"d{n}"], expected_ids=[f"d{n}"]) for n in range(9)
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    shown = diagnose(report, k=1)._repr_html_()
    assert shown.index("raise k from 1 to 2") < shown.index("beyond k")
    assert "9 (100%)" in shown
    assert "Nothing was missed" in diagnose(report, k=2)._repr_html_()


def test_the_smallest_k_shows_what_was_tested() -> None:
    """The smallest k is shown with its reason and the mean at each tested k."""
    samples = [Sample(retrieved_ids=["x", "d"], expected_ids=["d"])] * 90
    report = evaluate(samples, IdRecall(), progress=False)
    shown = report.smallest_k(0.9)._repr_html_()
    assert "k = 2" in shown
    assert "<b><bdi>2</bdi></b>" in shown
    assert "1.000" in shown
    assert "k = none" in report.smallest_k(1.0)._repr_html_()


def test_hostile_texts_are_shown_as_text() -> None:
    """Reasons and names with markup are shown as text."""
    report = evaluate(
        [Sample(retrieval={"error": EVIL}, reference_context_ids=["a"])],
        [IdRecall(name=EVIL)],
        progress=False,
    )
    html = report._repr_html_()
    assert not set(Tags(html).names) & {"script", "img"}
    assert EVIL[:-1] in Tags(html).text
    assert "\u202e" not in html
