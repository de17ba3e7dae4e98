"""The three writers of a sheet write the same content."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import Recall
from fullrecall.show import html, markdown, terminal
from fullrecall.show.sheet import Cell, Line, Section, Sheet
from fullrecall.stats.change import verdict_of

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
    """Each writer writes heads, section titles, labels, cells, their small parts, and notes."""
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
    """A sheet without rows is written as its notes, without heads."""
    sheet = Sheet(["head"], [Section("", [])], ["Nothing was missed."])
    for text in (terminal.text_of(sheet), html.text_of(sheet), markdown.text_of("", sheet)):
        assert "head" not in text
        assert "Nothing was missed" in text


def test_running_text_has_lines_of_its_own_on_a_terminal() -> None:
    """A column of text on a terminal is a block below its row, and does not widen the table."""
    blocks = Sheet(["question", "lost"], [Section("", [Line("q1", ["why?", "d1"])])], sides="ltt")
    assert terminal.text_of(blocks) == "\nq1  why?\n  lost: d1\n"
    numbered = Sheet(["gain"], [Section("", [Line("raise k", ["+1"])])], title="Do", sides="tr")
    assert terminal.text_of(numbered) == "Do\n1. raise k: +1\n"


def report(values: Sequence[int]) -> Report:
    """Return a report of one target a sample, found or not."""
    samples = [
        Sample(id=str(n), expected_ids=["d"], retrieved_ids=["d"] if found else ["x"])
        for n, found in enumerate(values)
    ]
    return evaluate(samples, IdRecall(), progress=False)


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ([0] * 20, [1] * 20, "Better"),
        ([1] * 20, [0] * 20, "Worse"),
        ([0, 1] * 10, [1, 0] * 10, "CANNOT TELL"),
        ([0, 1] * 10, [0, 1] * 10, "Unchanged"),
    ],
)
def test_the_verdict_is_that_of_the_outcome(before: list[int], after: list[int], word: str) -> None:
    """The first line says Better above 0, Worse below, and neither for an undecided change."""
    comparison = compare(report(before), report(after), Recall)
    assert verdict_of(comparison[0].main).text == word
    assert str(comparison).startswith(f"{word}: id_recall ")
    assert comparison.to_markdown().startswith(f"### {word}")
    assert comparison.to_dict()["sentences"][0].startswith(f"{word}: ")


def test_several_that_are_compared_are_decided_at_one_error_rate() -> None:
    """A change whose interval excludes 0 only before correction gets no verdict."""
    reports = {"first": report([0] * 40)}
    reports |= {f"better {n}": report([1] * 7 + [0] * 33) for n in range(6)}
    alone = compare(reports["first"], reports["better 0"], Recall)
    assert verdict_of(alone[0].main).text == "Better"
    together = str(compare(reports, Recall))
    assert "better 0: CANNOT TELL for every law" in together
    assert "id_recall rose from 0.000 to 0.175" in together
