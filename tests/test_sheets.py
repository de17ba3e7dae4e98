"""One sheet, three writers: what one says, the others say."""

from __future__ import annotations

import pytest

from fullrecall.measures import Recall
from fullrecall.views import html, markdown, terminal
from fullrecall.views.comparisons import Verdict, verdict_of
from fullrecall.views.sheet import Cell, Line, Section, Sheet

HOSTILE = "<b>x</b> [a](b) \x1b[31m |"

SHEET = Sheet(
    ["first", "second"],
    [
        Section("one part", [Line("a", [Cell("1", "strong", "0–2"), "2"], "95%")]),
        Section("another", [Line("b", ["3", Cell("4", "bad")])]),
    ],
    ["what it stands on"],
    "all of it",
)


@pytest.mark.parametrize(
    "write", [terminal.text_of, html.text_of, lambda s: markdown.text_of("", s)]
)
def test_each_writer_says_all(write: object) -> None:
    """Heads, titles of sections, labels, cells, their small parts, and notes."""
    text = write(SHEET).replace("\\", "")  # type: ignore[operator]
    for part in ("first", "second", "one part", "another", "what it stands on", "0–2"):
        assert part in text
    for part in "ab1234":
        assert part in text


def test_foreign_text_is_text() -> None:
    """No writer lets markup, a table's rule, or a control character through."""
    sheet = Sheet(["x"], [Section("", [Line(HOSTILE, [HOSTILE])])], [HOSTILE])
    assert "<b>x" not in html.text_of(sheet)
    assert "\x1b" not in html.text_of(sheet) + markdown.text_of("", sheet)
    assert "<b>" not in markdown.text_of("", sheet)
    assert "\x1b" not in terminal.text_of(sheet)


def test_an_empty_sheet_is_nothing_but_its_notes() -> None:
    """No head stands over no row."""
    sheet = Sheet(["head"], [Section("", [])], ["Nothing was missed."])
    for text in (terminal.text_of(sheet), html.text_of(sheet), markdown.text_of("", sheet)):
        assert "head" not in text
        assert "Nothing was missed" in text


def test_running_text_has_lines_of_its_own_on_a_terminal() -> None:
    """A column of text does not widen a table: each row is a block, a list is numbered."""
    blocks = Sheet(["question", "lost"], [Section("", [Line("q1", ["why?", "d1"])])], sides="ltt")
    assert "q1  why?\n  lost: d1" in terminal.text_of(blocks)
    numbered = Sheet(["gain"], [Section("", [Line("raise k", ["+1"])])], title="Do", sides="tr")
    assert terminal.text_of(numbered) == "Do\n1. raise k: +1\n"


class Difference:
    """What a verdict reads of a difference."""

    def __init__(self, low: float, high: float, wins: int, losses: int) -> None:
        from fullrecall.results import Interval

        self.interval = Interval(low, high, 0.95)
        self.wins, self.losses, self.samples = wins, losses, 10
        self.measure = Recall


@pytest.mark.parametrize(
    ("ends", "turns", "word"),
    [
        ((0.1, 0.2), (4, 0), Verdict.BETTER),
        ((-0.2, -0.1), (0, 4), Verdict.WORSE),
        ((-0.1, 0.1), (2, 2), Verdict.CANNOT_TELL),
        ((-0.3, 0.3), (0, 0), Verdict.UNCHANGED),
    ],
)
def test_the_verdict_is_that_of_the_interval(
    ends: tuple[float, float], turns: tuple[int, int], word: Verdict
) -> None:
    """Better above 0, worse below, and no word for what may be either."""
    assert verdict_of(Difference(*ends, *turns)) is word  # type: ignore[arg-type]
