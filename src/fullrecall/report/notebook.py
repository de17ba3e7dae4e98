"""Results, summaries and comparisons as a notebook shows them: small tables, no script.

They take the notebook's own colors, light or dark. Every text in them is escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fullrecall.markup import visible
from fullrecall.report import terminal
from fullrecall.results.bounds import CONFIDENCE

if TYPE_CHECKING:
    from markupsafe import Markup

    from fullrecall.findings import Evidence, Finding
    from fullrecall.results.comparison import Comparison
    from fullrecall.report.page import Diagnosis
    from fullrecall.report.report import Report
    from fullrecall.results.smallest_k import SmallestK
    from fullrecall.results.summary import Summary
    from fullrecall.result import Result
    from fullrecall.results.bounds import Interval

TARGETS_SHOWN = 50
"""Targets of one result that its table lists."""

_CHARACTERS_SHOWN = 400


def result_html(result: Result) -> str:
    """Return a result: its score, its reason, and each target with its evidence."""
    score = str(result.status) if result.score is None else f"{result.score:.3f}"
    rows = [_target(finding) for finding in result.findings[:TARGETS_SHOWN]]
    rows += [
        [_cut(target), visible("not judged"), _dash(None), _dash(None), visible(why)]
        for target, why in result.unmeasured
    ]
    more = len(result.findings) - TARGETS_SHOWN
    return str(
        _markup("<div><p><b>{}</b> {}: {}</p>{}{}</div>").format(
            visible(result.method.name),
            score,
            visible(result.reason),
            _table(["target", "outcome", "rank", "credit", "evidence"], rows) if rows else "",
            _markup("<p>and {} more targets</p>").format(f"{more:,}") if more > 0 else "",
        )
    )


def summary_html(summary: Summary) -> str:
    """Return a summary: for each measure of each score its mean and interval, and coverage."""
    heads = ["score", "mean", f"{CONFIDENCE:.0%} interval"]
    heads += ["scored", "groups", "undefined", "unscored"]
    rows = [
        [
            visible(score.method.label(one.measure)),
            _markup("<b>{}</b>").format(_number(one.mean)),
            _interval(one.interval),
            *(f"{n:,}" for n in (one.samples, one.groups, one.undefined, score.unscored)),
        ]
        for score in summary
        for one in score.estimates.values()
    ]
    return str(
        _markup("<div>{}{}</div>").format(_table(heads, rows), _notes(terminal.notes(summary)))
    )


def report_html(report: Report) -> str:
    """Return a report's summary, with how many samples it is of."""
    return str(
        _markup("<div><p>{} samples</p>{}</div>").format(
            f"{len(report):,}", _markup(summary_html(report.summary()))
        )
    )


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison: for each score the paired difference, and what it stands on."""
    percent = f"{100 * comparison.confidence:g}% interval"
    heads = ["score", "before", "after", "difference", percent, "guaranteed", "p", "p (Holm)"]
    heads += ["better", "same", "worse", "compared"]
    rows = [
        [
            visible(score.method.label(one.measure)),
            _number(one.before),
            _number(one.after),
            _markup("<b>{}</b>").format(_number(one.difference, "+.3f")),
            _interval(one.interval, "+.3f"),
            _interval(one.guaranteed, "+.3f"),
            _number(one.p),
            _number(one.p_adjusted),
            *(f"{n:,}" for n in (one.wins, one.ties, one.losses, one.samples)),
        ]
        for score in comparison
        for one in score.values()
    ]
    notes = terminal.comparison_notes(comparison)
    return str(_markup("<div>{}{}</div>").format(_table(heads, rows), _notes(notes)))


def smallest_k_html(found: SmallestK) -> str:
    """Return the smallest k with its reason, and each k that was tested, ascending."""
    rows = [
        [
            _markup("<b>{}</b>").format(one.k) if one.k == found.k else str(one.k),
            f"{one.mean:.3f}",
            f"{one.p:.4f}",
        ]
        for one in reversed(found.tested)
    ]
    k = "none" if found.k is None else f"{found.k:,}"
    return str(
        _markup("<div><p><b>k = {}</b></p><p>{}</p>{}</div>").format(
            k,
            visible(found.reason),
            _table(["k", "mean", f"p of below {found.target:g}"], rows) if rows else "",
        )
    )


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """Return what to change by its gain, and how many misses of each score have each cause."""
    changes = [
        [
            visible(change.action),
            _markup("<b>{}</b>").format(change.gain_text),
            visible(change.score),
            visible(change.cost.text if change.cost is not None else ""),
        ]
        for change in diagnosis.changes
        if change.gain > 0
    ]
    counts: dict[str, Counter[str]] = {}
    for miss in diagnosis.misses:
        counts.setdefault(miss.score, Counter())[str(miss.cause)] += 1
    total = sum(counts.values(), Counter())
    fixes = {str(cause): fix for cause, fix in diagnosis.fixes.items()}
    causes = [
        [
            visible(cause.replace("_", " ")),
            *(f"{of[cause]:,} of {of.total():,}" for of in counts.values()),
            visible(fixes.get(cause, "")),
        ]
        for cause, _ in total.most_common()
    ]
    if not causes:
        return "<div><p>Nothing was missed.</p></div>"
    return str(
        _markup("<div>{}{}</div>").format(
            _table(["what to change", "gain", "score", "cost"], changes) if changes else "",
            _table(["why it was missed", *map(visible, counts), "what to do"], causes),
        )
    )


def _notes(sentences: Iterable[str]) -> Markup:
    """Return one paragraph for each sentence."""
    return _markup("").join(
        _markup("<p>{}</p>").format(visible(sentence)) for sentence in sentences
    )


def _target(finding: Finding) -> list[object]:
    credit = finding.credit_at()
    found = "found" if finding.found_at() else "found in part" if credit else "missed"
    verdict = f", judged {finding.verdict}" if finding.verdict else ""
    return [
        _cut(finding.target.label),
        visible(f"{found}{verdict}"),
        _dash(finding.rank),
        f"{credit:.3f}",
        _markup("<br>").join(_evidence(item) for item in finding.evidence) or _dash(None),
    ]


def _evidence(item: Evidence) -> Markup:
    place = f"rank {item.rank}"
    if item.quote is None:
        known = "" if item.similarity is None else f", similarity {item.similarity:.2f}"
        return _markup("{}{}").format(place, known)
    # `mark` has a color of its own on either ground; what was not found there is not marked.
    shape = "{}: <mark>{}</mark>" if item.verified else "{}, not in the context: <s>{}</s>"
    return _markup(shape).format(place, _cut(item.quote))


def _table(heads: Sequence[object], rows: Iterable[Sequence[object]]) -> Markup:
    cell = _markup('<td style="text-align:left;vertical-align:top">{}</td>')
    line = _markup("<tr>{}</tr>")
    head = _markup("").join(
        _markup('<th style="text-align:left">{}</th>').format(name) for name in heads
    )
    body = _markup("").join(
        line.format(_markup("").join(cell.format(value) for value in row)) for row in rows
    )
    return _markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, body)


def _markup(source: str) -> Markup:
    """Return our own markup; what is formatted into it is escaped."""
    from markupsafe import Markup

    return Markup(source)  # noqa: S704


def _cut(text: str) -> Markup:
    over = len(text) > _CHARACTERS_SHOWN
    return visible(f"{text[: _CHARACTERS_SHOWN - 1]}…" if over else text)


def _dash(value: object) -> str:
    return "–" if value is None else str(value)  # noqa: RUF001 - a dash for no value


def _number(value: float | None, shape: str = ".3f") -> str:
    return _dash(None) if value is None else format(value, shape)


def _interval(interval: Interval | None, shape: str = ".3f") -> str:
    if interval is None:
        return _dash(None)
    return f"{interval.low:{shape}} to {interval.high:{shape}}"
