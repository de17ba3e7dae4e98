"""Tables on terminals of any width: columns wrap, and no number is cut."""

from __future__ import annotations

import re
from io import BytesIO, StringIO, TextIOWrapper
from itertools import chain

import pytest
from tests.precision_by_id import PrecisionById

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Recall
from fullrecall.report import compare
from fullrecall.show import terminal
from fullrecall.show.sheet import Line, Section, Sheet
from fullrecall.stats.comparison import comparison_sheet
from fullrecall.stats.summary import summary_sheet


def printed(part: object, width: int) -> str:
    """Return the text that a terminal of this width would show."""
    return terminal.printed(terminal.console(StringIO(), width=width), [part])  # type: ignore[list-item]


def samples() -> list[Sample]:
    """Return twelve samples with some of their targets found."""
    return [
        Sample(id=n, retrieved_ids=["a", str(n % 3)], expected_ids=["a", "0"]) for n in range(12)
    ]


@pytest.mark.parametrize("width", [1, 30, 80])
def test_no_number_is_cut(width: int) -> None:
    """Each figure of each of fifty scores is printed in full, at any width."""
    scorers = [IdRecall(name=f"recall_{n}") for n in range(50)]
    report = evaluate(samples(), scorers, progress=False)
    text = printed(terminal.Grid(summary_sheet(report.summary())), width)
    assert "…" not in text
    mean = f"{report.summary()['recall_7'].mean:.3f}"
    whole = "  all retrieved "
    lines = [line for line in text.splitlines() if line.startswith(whole)]
    scores = [line.removeprefix(whole).split() for line in lines]
    assert list(chain(*scores)) == [mean] * 50
    heads = re.findall(r"(?<![\d.])\d{1,2}(?![\d.])", text.split("\nmean")[0])
    assert len(heads) == len(scores[0])
    if width >= 30:
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [20, 45, 80])
def test_a_comparison_too(width: int) -> None:
    """A comparison's difference, interval, and p are printed in full, at any width."""
    before = evaluate(samples(), IdRecall(), progress=False)
    worse = [Sample(**{**one.to_dict(), "retrieved_context_ids": ["a"]}) for one in samples()]
    after = evaluate(worse, IdRecall(), progress=False)
    text = printed(terminal.Grid(comparison_sheet(compare(before, after))), width)
    assert "…" not in text
    assert "95% interval" in text
    assert re.search(r"[+-]\.\d{3} to [+-]\.\d{3}", text)


def test_wide_letters_take_two_columns() -> None:
    """A Chinese name takes two columns a letter."""
    grid = terminal.Grid(Sheet(["召回率"], [Section("", [Line("x", ["1"])])]))
    assert "召回率" in printed(grid, 10)


def test_long_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table's row is never wrapped, a note is; plain text has no colors, and numbers none."""
    row = Line("x" * 30, ["1"])
    grid = terminal.Grid(Sheet(["mean"], [Section("", [row])]))
    assert f"{row.label}   " in printed(grid, 20)
    noted = terminal.text_of(Sheet([], [], ["word " * 60]))
    assert max(map(len, noted.splitlines())) <= terminal.WIDEST
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.printed(terminal.console(StringIO(), width=9), ["at 12"]) == "at 12\n"
    written = TextIOWrapper(BytesIO())
    assert terminal.printed(terminal.console(written, width=9), ["at 12"]) == "at 12\n"


def test_a_table_in_two_parts_has_no_row_without_a_value() -> None:
    """If scores have different headlines, each part of the table has only rows with values."""
    scorers = [IdRecall(name=f"recall_{n}") for n in range(6)]
    rows = evaluate(samples(), [*scorers, PrecisionById()], progress=False)
    text = printed(terminal.Grid(summary_sheet(rows.summary(Recall @ 1, Recall @ 2))), 80)
    parts = text.split("\n\n")
    assert sum("mean" in part for part in parts) == 2
    values = [line.split()[1:] for line in text.splitlines() if line.startswith("  recall@")]
    assert values
    assert all(set(cells) - {"-"} for cells in values)
    both = printed(terminal.Grid(summary_sheet(rows.summary())), 200)
    # Each scorer's headline is at k = 1.
    assert len(re.findall(r"^  @1 ", both, re.MULTILINE)) == 1
