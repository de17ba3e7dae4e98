"""The three writers of a sheet write the same content."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import Recall
from fullrecall.show import html, markdown, terminal
from fullrecall.show.sheet import Bar, Cell, Line, Section, Sheet
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


SCORES = Sheet(
    ["id_recall", "claim_recall_long", "third"],
    [
        Section(
            "mean",
            [
                Line("recall@1", [Cell("0.5", "strong", "0–1"), "0.25", "-"], "95%"),
                Line("ndcg", ["-", "-", "0.125"]),
            ],
        ),
        Section("", [Line("samples", ["12", "1,200", Cell("3", "bad")])]),
    ],
    ["a note\nof two lines"],
    "title",
    lead=["Better: it rose."],
)
RUNNING = Sheet(
    ["question", "lost", "gain"],
    [
        Section("one", [Line("q1", ["why?", "d1", "+1"]), Line("q2", ["who?", "", ""])]),
        Section("two", [Line("q3", ["how?", "d2", "0"])]),
    ],
    title="Misses",
    sides="lttr",
)
STEPS = Sheet(
    ["gain", "cost"],
    [Section("", [Line("raise k", ["+1", ""]), Line("rerank", ["+2", "high"])])],
    title="Do",
    sides="trr",
)

ON_A_TERMINAL = """\
Better: it rose.

                 id         claim
             recall   recall_long   third
─────────────────────────────────────────
mean
  recall@1      0.5          0.25       -
    95%         0–1             -       -
  ndcg            -             -   0.125

samples          12         1,200       3
a note of two lines

Misses
one

q1  why?
  lost: d1
  +1

q2  who?

two

q3  how?
  lost: d2
  0

Do
1. raise k: +1
2. rerank: +2, high
"""

ON_A_NARROW_ONE = """\
                 id
             recall
───────────────────
mean
  recall@1      0.5
    95%         0–1

samples          12

                   claim
             recall_long
────────────────────────
mean
  recall@1          0.25

samples            1,200

          third
───────────────
mean
  ndcg    0.125

samples       3
"""

IN_MARKDOWN = """\
### T

**title**

Better\\: it rose.

|  | id\\_recall | claim\\_recall\\_long | third |
| --- | ---: | ---: | ---: |
| **mean** |  |  |  |
| recall\\@1 | **0.5** | 0.25 | \\- |
| 95% | 0–1 |  |  |
| ndcg | \\- | \\- | 0.125 |
| samples | 12 | 1,200 | **3** |

- a note of two lines

**Do**

|  | gain | cost |
| --- | ---: | ---: |
| raise k | \\+1 |  |
| rerank | \\+2 | high |
"""


def test_tables_in_full() -> None:
    """Labels, small parts, sections, and columns that do not fit are at their places."""
    assert terminal.text_of(SCORES, Sheet(["empty"], []), RUNNING, STEPS) == ON_A_TERMINAL
    lines = (str(line).rstrip() for line in terminal.Grid(SCORES).lines(24))
    assert "".join(f"{line}\n" for line in lines) == ON_A_NARROW_ONE
    assert markdown.text_of("T", SCORES, Sheet(["empty"], []), STEPS) == IN_MARKDOWN


@pytest.mark.parametrize(("width", "columns"), [(41, 3), (40, 2), (33, 2), (32, 1)])
def test_a_table_is_as_wide_as_it_may_be(width: int, columns: int) -> None:
    """A column moves into another table only if it does not fit."""
    first = "\n".join(map(str, terminal.Grid(SCORES).lines(width))).split("\n\n")[0]
    assert len(first.splitlines()[1].split()) == columns


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b *c*", r"a\_b \*c\*"),
        ("see www.x.org", r"see www\.x.org"),
        ("ask @me", "ask @<!-- -->me"),
        ("me@home", r"me\@home"),
        ("fix #12", "fix #<!-- -->12"),
        ("# 12", r"\# 12"),
        (" two\n lines\x1b ", "two lines"),
    ],
)
def test_markdown_shows_a_text_as_it_is(text: str, escaped: str) -> None:
    """Markup, mentions, and references of a text stay text."""
    assert markdown.escaped(text) == escaped


def test_a_folded_table() -> None:
    """A folded table has its title above; an empty one is left out."""
    assert markdown.folded(Sheet(["h"], []), "all") == ""
    assert markdown.folded(STEPS, "all") == (
        "Do\n\n<details><summary>all</summary>\n\n|  | gain | cost |\n| --- | ---: | ---: |\n"
        "| raise k | \\+1 |  |\n| rerank | \\+2 | high |\n\n</details>\n"
    )


@pytest.mark.parametrize(
    ("value", "at"), [(0.0, 4.0), (-1.0, 4.0), (0.5, 120.0), (1.0, 236.0), (2.0, 236.0)]
)
def test_a_bar_stays_on_its_axis(value: float, at: float) -> None:
    """A value beyond the axis is drawn at its end."""
    assert html._on_axis(value, Bar(0.0, 1.0, value, None)) == at
    assert html._on_axis(value * 2 - 1, Bar(-1.0, 1.0, value, None)) == at


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
    assert "better 0: CANNOT TELL for every distribution" in together
    assert "id_recall rose from 0.000 to 0.175" in together
