"""What a gate decides, as a sheet and as lines with the outcome in front."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fullrecall.views import markdown, terminal
from fullrecall.views.sheet import Cell, CellLike, Emphasis, Line, Section, Sheet
from fullrecall.views.text import shown

if TYPE_CHECKING:
    from rich.text import Text

    from fullrecall.results.gate import GateResult


_LOOKS: Mapping[str, tuple[str, Emphasis]] = {
    "pass": ("✅", "good"),
    "fail": ("❌", "bad"),
    "cannot_tell": ("⚠️", "unsure"),
}
"""How an outcome stands out: its sign in Markdown, and its emphasis."""


def outcome_lines(result: GateResult) -> Iterator[Text]:
    """Yield one line for each check of a gate, with its outcome in front."""
    from rich.text import Text

    for check in result.checks:
        _, emphasis = _LOOKS[check.outcome]
        style = f"bold {terminal.STYLES[emphasis]}"
        yield Text.assemble((check.outcome.words, style), "  ", check.reason)


def gate_markdown(result: GateResult) -> str:
    """Return what a gate decides in GitHub's Markdown, the outcome in its first line."""
    lines = []
    for check in result.checks:
        sign, emphasis = _LOOKS[check.outcome]
        cells: list[CellLike] = [
            Cell(f"{sign} {check.outcome.words}", emphasis),
            shown(check.value),
            "" if check.lower is None else f"{shown(check.lower)} to {shown(check.upper)}",
            f"{check.samples:,}",
            "" if check.coverage is None else f"{check.coverage:.1%}",
            check.reason,
        ]
        lines.append(Line(check.rule, cells))
    heads = ["", "value", "bounds", "samples", "coverage", "why"]
    sheet = Sheet(heads, [Section("", lines)], corner="rule", sides="llrrrrt")
    title = f"{_LOOKS[result.outcome][0]} Recall gate: {markdown.escaped(result.sentence)}"
    return markdown.text_of(title, sheet)
