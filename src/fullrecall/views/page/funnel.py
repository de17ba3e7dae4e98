"""Where targets are lost: how many each list of the records has, from retrieved to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall.views.sheet import Bar, Cell, Line, Section, Sheet
from fullrecall.views.text import shown

if TYPE_CHECKING:
    from fullrecall.results.summary import Summary

_NAMES = {"retrieved": "Retrieved", "kept": "Kept", "read": "In the prompt"}


def funnel_sheet(summary: Summary | None) -> Sheet | None:
    """Return the references by ID that each list has, and those that are lost on the way to it.

    None where no record has two of the lists, or none of them lost anything.
    """
    funnel = None if summary is None else summary.funnel
    if funnel is None:
        return None
    before, lines = funnel.references, []
    for name, count in funnel.found.items():
        share = count / funnel.references
        cells = [
            Cell(shown(share), "strong", label="Recall"),
            Cell("", bar=Bar(0.0, 1.0, share, None), label="0 to 1"),
            Cell(f"{count:,} of {funnel.references:,}", label="Found"),
            Cell(f"{before - count:,}", label="Lost here"),
        ]
        lines.append(Line(_NAMES[name], cells))
        before = count
    heads = ["Recall", "0 to 1", "Found", "Lost here"]
    return Sheet(heads, [Section("", lines)], corner="List", sides="lrlrr")
