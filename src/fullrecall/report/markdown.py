"""Reports, comparisons and gates in GitHub's Markdown, for a pull request or a job's summary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from fullrecall.errors import ParameterError
from fullrecall.report.terminal import comparison_notes, one_line
from fullrecall.report.text import shown

if TYPE_CHECKING:
    from fullrecall.report.comparison import Comparison, ScoreComparison
    from fullrecall.report.page import Diagnosis
    from fullrecall.report.summary import Summary
    from fullrecall.results.bounds import Interval
    from fullrecall.results.decision import Check
    from fullrecall.results.gate import GateResult

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+\-!|~&@:])")
_NAMED = 3
"""Targets of a sample that a table names."""

_MENTION = re.compile(r"(?<!\w)\\@(?=\w)|\\#(?=\w)")

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


def of_comparison(comparison: Comparison, flips: int = 5) -> str:
    """Return a comparison as tables; see `Comparison.to_markdown`."""
    if flips < 0:
        raise ParameterError(f"flips must be at least 0, got {flips}")
    several = sum(one.p_adjusted is not None for s in comparison for one in s.values()) > 1
    percent = f"{100 * comparison.confidence:g}% interval"
    heads = ["score", "before", "after", "change", percent, "p", *(["p (Holm)"] * several)]
    heads += ["better / same / worse"]
    rows = [
        [
            escaped(score.method.label(one.measure)),
            shown(one.before),
            shown(one.after),
            _change(one.difference),
            _between(one.interval, "+.3f"),
            _chance(one.p),
            *([_chance(one.p_adjusted)] * several),
            f"{one.wins:,} / {one.ties:,} / {one.losses:,}",
        ]
        for score in comparison
        for one in score.values()
    ]
    lines = [f"### Context recall, before and after: {len(comparison.pairs):,} samples", ""]
    lines += [*_table(heads, rows), ""]
    for score in comparison:
        lines += _flips(score, flips)
    lines += [f"- {escaped(note)}" for note in comparison_notes(comparison)]
    return "\n".join([*lines, ""])


def of_gate(result: GateResult) -> str:
    """Return what a gate decides as a table; see `GateResult.to_markdown`."""
    outcome = result.outcome
    lines = [f"### {_SIGNS[outcome]} Recall gate: {escaped(result.sentence)}", ""]
    lines += _table(
        ["", "rule", "value", "bounds", "samples", "coverage", "why"],
        [_row(check) for check in result.checks],
    )
    return "\n".join([*lines, ""])


def of_diagnosis(diagnosis: Diagnosis, misses: int = 3) -> str:
    """Return changes by their gain, and causes with examples; see `Diagnosis.to_markdown`."""
    if isinstance(misses, bool) or not isinstance(misses, int) or misses < 0:
        raise ParameterError(f"misses must be a whole number of at least 0, got {misses!r}")
    lines = [f"### Diagnosis of {len(diagnosis.misses):,} missed targets", ""]
    if diagnosis.changes:
        rows = [
            [
                escaped(one.action),
                escaped(one.gain_text),
                escaped(one.score),
                escaped(one.cost.text if one.cost is not None else "") or "-",
            ]
            for one in diagnosis.changes
        ]
        lines += [*_table(["what to change", "gain", "score", "cost"], rows, "lrll"), ""]
    counts = Counter(str(miss.cause) for miss in diagnosis.misses)
    fixes = {str(cause): fix for cause, fix in diagnosis.fixes.items()}
    examples: dict[str, list[str]] = {}
    for miss in diagnosis.misses:
        shown_ = examples.setdefault(str(miss.cause), [])
        if len(shown_) < misses:
            where = f"{escaped(one_line(miss.sample, 40))}, {escaped(miss.score)}"
            target, detail = one_line(miss.target, 80), one_line(miss.detail, 200)
            shown_.append(f"- {where}: {escaped(target)}: {escaped(detail)}")
    rows = [
        [escaped(cause.replace("_", " ")), f"{count:,}", escaped(fixes.get(cause, ""))]
        for cause, count in counts.most_common()
    ]
    if rows:
        lines += [*_table(["cause", "misses", "what to do"], rows, "lrl"), ""]
    for cause, _ in counts.most_common():
        if examples[cause]:
            lines += [f"**{escaped(cause.replace('_', ' '))}**", "", *examples[cause], ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return `text` as one line that Markdown shows as it is, links and HTML included."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = _SPECIAL.sub(r"\\\1", line).replace("www.", r"www\.")
    # A backslash alone stops neither mentions nor references: GitHub looks for them once Markdown
    # is read. The comment parts the sign from its name.
    return _MENTION.sub(lambda found: f"{found[0][1]}<!-- -->", line)


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


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], sides: str | None = None
) -> list[str]:
    """Return the lines of a table; `sides` aligns each column, "l" or "r": all but the first."""
    sides = sides or f"l{'r' * (len(heads) - 1)}"
    rule = ["---" if side == "l" else "---:" for side in sides]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]


def _between(interval: Interval | None, shape: str = ".3f") -> str:
    return "-" if interval is None else f"{interval.low:{shape}} to {interval.high:{shape}}"


def _change(difference: float | None) -> str:
    return "-" if difference is None else f"**{difference:+.3f}**"


def _chance(p: float | None) -> str:
    return "" if p is None else f"{p:.4f}"


def _flips(score: ScoreComparison, limit: int) -> Iterator[str]:
    """Yield a table of the samples whose score changed most, behind a line that opens it."""
    changed = score.main.flips
    if not changed or not limit:
        return
    most = "largest change" if limit == 1 else f"{limit:,} largest changes"
    first = f", the {most}" if len(changed) > limit else ""
    some = "sample" if len(changed) == 1 else "samples"
    label = escaped(score.method.label(score.main.measure))
    yield f"{len(changed):,} {some} changed in {label}{first}:"
    yield ""
    yield "<details><summary>What was found and lost</summary>"
    yield ""
    rows = [
        [
            escaped(one_line(flip.sample, 60)),
            escaped(one_line(flip.question or "", 200)),
            f"{flip.before:.3f} → {flip.after:.3f}",
            escaped(_named(flip.gained)),
            escaped(_named(flip.lost)),
        ]
        for flip in changed[:limit]
    ]
    yield from _table(["sample", "question", "score", "found now", "lost"], rows, "llrll")
    yield ""
    yield "</details>"
    yield ""


def _named(targets: Sequence[str]) -> str:
    more = [f"… and {len(targets) - _NAMED:,} more"] if len(targets) > _NAMED else []
    return "; ".join([*(one_line(target, 80) for target in targets[:_NAMED]), *more])
