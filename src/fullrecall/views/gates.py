"""What a gate decides, as a sheet and as lines with the outcome in front."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.views import markdown
from fullrecall.views.sheet import Cell, CellLike, Emphasis, Line, Section, Sheet
from fullrecall.views.text import shown

if TYPE_CHECKING:
    from rich.text import Text

    from fullrecall.results.gate import GateResult


class _Look(NamedTuple):
    """How an outcome stands out: its sign in Markdown, in a sheet, and on a terminal."""

    sign: str
    emphasis: Emphasis
    style: str


_LOOKS: Mapping[str, _Look] = {
    "pass": _Look("✅", "good", "bold green"),
    "fail": _Look("❌", "bad", "bold red"),
    "cannot_tell": _Look("⚠️", "unsure", "bold yellow"),
}


def outcomes(result: GateResult) -> Iterator[Text]:
    """Yield one line for each check of a gate, with its outcome in front."""
    from rich.text import Text

    for check in result.checks:
        style = _LOOKS[check.outcome].style
        yield Text.assemble((check.outcome.words, style), "  ", check.reason)


def gate_markdown(result: GateResult) -> str:
    """Return what a gate decides in GitHub's Markdown, the outcome in its first line."""
    lines = []
    for check in result.checks:
        sign, emphasis, _ = _LOOKS[check.outcome]
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
    title = f"{_LOOKS[result.outcome].sign} Recall gate: {markdown.escaped(result.sentence)}"
    return markdown.text_of(title, sheet)
