"""What a gate decides, as a sheet and as lines with the outcome in front."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fullrecall.views import markdown
from fullrecall.views.sheet import Cell, Emphasis, Line, Section, Sheet
from fullrecall.views.text import shown

if TYPE_CHECKING:
    from rich.text import Text

    from fullrecall.results.decision import Check
    from fullrecall.results.gate import GateResult

SIGNS = {"pass": "✅", "fail": "❌", "cannot_tell": "⚠️"}
"""What stands before an outcome in Markdown."""

_KINDS: Mapping[str, Emphasis] = {"pass": "good", "fail": "bad", "cannot_tell": "unsure"}

_STYLES = {"pass": "bold green", "fail": "bold red", "cannot_tell": "bold yellow"}


def gate_sheet(result: GateResult) -> Sheet:
    """Return a line for each rule: its outcome, what it stands on, and the sentence that is why."""
    heads = ["", "value", "bounds", "samples", "coverage", "why"]
    lines = [Line(check.rule, _cells(check)) for check in result.checks]
    return Sheet(heads, [Section("", lines)], corner="rule", sides="llrrrrt")


def outcomes(result: GateResult) -> Iterator[Text]:
    """Yield one line for each check of a gate, with its outcome in front."""
    from rich.text import Text

    for check in result.checks:
        style = _STYLES[check.outcome]
        yield Text.assemble((check.outcome.words, style), "  ", check.reason)


def _cells(check: Check) -> list[Cell]:
    bounds = "" if check.lower is None else f"{shown(check.lower)} to {shown(check.upper)}"
    return [
        Cell(f"{SIGNS[check.outcome]} {check.outcome.words}", _KINDS[check.outcome]),
        Cell(shown(check.value)),
        Cell(bounds),
        Cell(f"{check.samples:,}"),
        Cell("" if check.coverage is None else f"{check.coverage:.1%}"),
        Cell(check.reason),
    ]


def gate_markdown(result: GateResult) -> str:
    """Return what a gate decides in GitHub's Markdown, the outcome in its first line."""
    outcome = result.outcome
    return markdown.text_of(
        f"{SIGNS[outcome]} Recall gate: {markdown.escaped(result.sentence)}", gate_sheet(result)
    )
