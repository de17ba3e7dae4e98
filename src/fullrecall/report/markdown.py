"""Reports and gates in GitHub's Markdown, for a pull request or a job's summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fullrecall.report.text import shown

if TYPE_CHECKING:
    from fullrecall.report.bounds import Interval
    from fullrecall.report.check import Check, GateResult
    from fullrecall.report.summary import Summary

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+\-!|~&@:])")
_SIGNS = {"pass": "✅", "fail": "❌", "cannot_tell": "⚠️"}


def of_summary(summary: Summary) -> str:
    """Return a summary as tables; see `Report.to_markdown`."""
    scores = list(summary)
    lines = [f"### Context recall, {summary.samples:,} samples", ""]
    if summary.stopped is not None:
        lines += [f"**Not all samples**: {escaped(summary.stopped)}", ""]
    heads = ["score", "mean", "95% interval", "scored", "undefined", "unscored", "if unscored"]
    rows = []
    for score in scores:
        low, high = score.bounds or (None, None)
        for one in score.estimates.values():
            main = one is score.main
            rows.append([
                escaped(score.method.label(one.measure)),
                shown(one.mean),
                _between(one.interval),
                f"{score.scored:,}" if main else "",
                f"{score.undefined:,}" if main else "",
                f"{score.unscored:,}" if main else "",
                f"{shown(low)} to {shown(high)}" if main and score.unscored else "",
            ])  # fmt: skip
    lines += _table(heads, rows)
    reasons = [
        f"- {count:,} unscored in {escaped(score.name)}: {escaped(reason)}"
        for score in scores
        for reason, count in score.reasons.items()
    ]
    return "\n".join([*lines, *(["", *reasons] if reasons else []), ""])


def of_gate(result: GateResult) -> str:
    """Return what a gate decides as a table; see `GateResult.to_markdown`."""
    outcome = result.outcome
    lines = [f"### {_SIGNS[outcome]} Recall gate: {outcome.words}", ""]
    lines += _table(
        ["", "rule", "value", "bounds", "samples", "coverage", "why"],
        [_row(check) for check in result.checks],
    )
    return "\n".join([*lines, ""])


def escaped(text: str) -> str:
    """Return `text` as one line that Markdown shows as it is, links and HTML included."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return _SPECIAL.sub(r"\\\1", line)


def _row(check: Check) -> list[str]:
    bounds = "" if check.lower is None else f"{check.lower:.3f} to {check.upper:.3f}"
    return [
        f"{_SIGNS[check.outcome]} {check.outcome.words}",
        escaped(check.rule),
        shown(check.value),
        bounds,
        f"{check.samples:,}",
        "" if check.coverage is None else f"{check.coverage:.1%}",
        escaped(check.reason),
    ]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rule = ["---", *("---:" for _ in heads[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]


def _between(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"
