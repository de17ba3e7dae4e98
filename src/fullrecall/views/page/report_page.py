"""The page of one report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from fullrecall.measures import Measure
from fullrecall.views import terminal
from fullrecall.report.bounds import CONFIDENCE
from fullrecall.views.page.about import about
from fullrecall.views.page.causes import Causes, Diagnosis, gaining
from fullrecall.views.page.charts import STYLES, Chart, Curve, Figure, along, chart
from fullrecall.views.page.choices import Choice, choices, families, first_shown
from fullrecall.views.page.columns import Column, columns
from fullrecall.views.page.groupings import groupings
from fullrecall.views.page.payload import payload
from fullrecall.views.page.readings import Misses
from fullrecall.views.page.selection import selection
from fullrecall.views.page.shell import rendered

if TYPE_CHECKING:
    from fullrecall.report.report import Report
    from fullrecall.report.summary import Estimate, ScoreSummary, Summary

AXIS = 232
"""Length of the axis from 0 to 1 beside a mean."""


class Line(NamedTuple):
    """One measure of one score; `at`, `low` and `high` stand on an axis of `AXIS`."""

    column: Column
    label: str
    score: ScoreSummary
    estimate: Estimate
    misses: Misses
    at: float | None
    low: float | None
    high: float | None


class Panel(NamedTuple):
    """The chart of a measure over k, with the numbers of the choices that it shows."""

    chart: Chart
    caption: str
    choices: Sequence[int]


def report_page(
    report: Report,
    *,
    measures: Sequence[Measure] = (),
    diagnosis: Diagnosis | Literal[False] = False,
    explain: Callable[[Report], Diagnosis] | None = None,
    title: str | None = None,
) -> str:
    """Return the page of `report` as HTML; see `Report.to_html`.

    `explain` diagnoses the samples that the page shows where `diagnosis` is of others.
    """
    summary = report.summary(*measures)
    own = columns(report.methods, [(nth,) for nth in range(len(report.methods))])
    offered = choices(report.methods, measures)
    causes = Causes([diagnosis or None], own)
    first = first_shown(offered, own, causes.labels)
    held = selection(report.rows, own, offered, first)
    partly = held.sentence
    if partly and diagnosis and diagnosis.samples < len(report):
        partly += f" Causes and changes are from {diagnosis.samples:,} samples drawn at random."
        if explain is not None:
            causes.explain(0, explain(type(report).of(report.methods, held.rows)))
    parts = groupings(report.rows, held.rows, own, offered[first].measures)
    data = payload(((row,) for row in held.rows), own, offered, [""], causes, parts, held.failing)
    misses: Sequence[Sequence[Misses]] = data.misses[0]
    failing = data.failing
    if held.sentence:
        misses = held.misses
        missing, scored = held.failing[first]
        failing = replace(failing, samples=missing, scored=scored, unscored=held.unscored)
    lines = [
        [_line(c, s, m, misses[nth][place]) for nth, (c, s, m) in _scores(own, summary, choice)]
        for place, choice in enumerate(offered)
    ]
    panels = _panels(own, summary, offered)
    charted = {nth for panel in panels for nth in panel.choices if _cut(offered[nth])}
    return rendered(
        "report.html",
        data,
        title=title or "Context recall",
        samples=len(report),
        about=about(report),
        failing=failing,
        partly=partly,
        diagnosed=diagnosis is not False,
        changes=gaining(diagnosis or None),
        groupings=parts,
        stopped=report.stopped,
        choices=offered,
        first=first,
        lines=lines,
        some_unscored=any(score.unscored for score in summary),
        confidence=CONFIDENCE,
        notes=[*_group_notes(lines[first]), *terminal.notes(summary)],
        panels=panels,
        others=[nth for nth in range(len(offered)) if nth != first and nth not in charted],
        columns=own,
        causes=causes.lines,
        sides=[""],
        sliced=[line.label for line in lines[first]],
        axis=AXIS,
    )


def _scores(
    own: Sequence[Column], summary: Summary, choice: Choice
) -> Iterator[tuple[int, tuple[Column, ScoreSummary, Measure]]]:
    yield from enumerate(zip(own, summary, choice.measures, strict=True))


def _panels(own: Sequence[Column], summary: Summary, offered: Sequence[Choice]) -> list[Panel]:
    """Return a chart for each measure that is offered at several ks."""
    panels = []
    for family in families(offered):
        drawn = chart(
            Curve(column.letter, column.method.name, nth % STYLES, _figures(score, family))
            for nth, (column, score) in enumerate(zip(own, summary, strict=True))
        )
        if drawn is not None:
            panels.append(Panel(drawn, f"Mean of {family!r} @ k", _places(family, offered)))
    return panels


def _places(family: Measure, offered: Sequence[Choice]) -> list[int]:
    """Return the choices in which some score is read by a measure, at whatever k."""
    return [
        nth
        for nth, choice in enumerate(offered)
        if any(measure.whole == family for measure in choice.measures)
    ]


def _cut(choice: Choice) -> bool:
    return all(measure.k is not None for measure in choice.measures)


def _figures(score: ScoreSummary, family: Measure) -> list[Figure]:
    cuts = {m.k: one for m, one in score.items() if m.whole == family and m.k is not None}
    return [Figure(k, cuts[k].mean, cuts[k].interval) for k in sorted(cuts)]


def _line(column: Column, score: ScoreSummary, measure: Measure, misses: Misses) -> Line:
    def at(value: float | None) -> float | None:
        return None if value is None else along(value, 0, 1, AXIS)

    one = score[measure]
    low, high = (None, None) if one.interval is None else one.interval[:2]
    label = column.method.label(measure)
    return Line(column, label, score, one, misses, at(one.mean), at(low), at(high))


def _group_notes(lines: Sequence[Line]) -> Iterator[str]:
    for line in lines:
        one = line.estimate
        if one.groups < one.samples:
            yield (
                f"{line.label}: the mean is over {one.groups:,} groups of {one.samples:,} samples; "
                "each group counts once, by the mean of its samples"
            )
