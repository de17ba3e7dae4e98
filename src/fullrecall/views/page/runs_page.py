"""The page of several reports of the same questions, in the order in which they were made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.measures import Measure
from fullrecall.views import terminal
from fullrecall.report.bounds import CONFIDENCE
from fullrecall.views.page.causes import Causes, Diagnosis, gaining
from fullrecall.views.page.charts import along
from fullrecall.views.page.choices import choices, first_shown, labels_of
from fullrecall.views.page.columns import Column, columns
from fullrecall.views.page.groupings import change_groupings
from fullrecall.views.page.payload import payload
from fullrecall.views.page.shell import rendered

if TYPE_CHECKING:
    from fullrecall.report.difference import Difference
    from fullrecall.report.runs import Runs
    from fullrecall.report.summary import Estimate, ScoreSummary

AXIS = 232
"""Length of the axis from 0 to 1 beside a mean."""


class Line(NamedTuple):
    """One measure of one score in one report; `change` is that since the first, None for it."""

    column: Column
    label: str
    run: str
    score: ScoreSummary
    estimate: Estimate
    change: Difference | None
    at: float | None
    low: float | None
    high: float | None


def runs_page(runs: Runs, *, diagnosis: Diagnosis | None = None, title: str | None = None) -> str:
    """Return the page of `runs` as HTML; see `Runs.to_html`."""
    names = [[method.name for method in report.methods] for report in runs.values()]
    places = [tuple(of.index(score.name) for of in names) for score in runs.scores]
    own = columns(runs.scores, places)
    offered = choices(runs.scores, runs.measures)
    rows, sides = list(runs.rows), list(runs)
    causes = Causes([None] * (len(sides) - 1) + [diagnosis], own)
    first = first_shown(offered, own, causes.labels)
    parts = change_groupings(rows, list(zip(own, offered[first].measures, strict=True)))
    data = payload(rows, own, offered, sides, causes, parts)
    return rendered(
        "runs.html",
        data,
        title=title or "Context recall, run by run",
        samples=len(rows),
        partly="",
        runs=sides,
        stopped=[(name, report.stopped) for name, report in runs.items() if report.stopped],
        choices=offered,
        first=data.first,
        lines=[
            [
                line
                for column, measure in zip(own, choice.measures, strict=True)
                for line in _lines(runs, column, measure)
            ]
            for choice in offered
        ],
        confidence=CONFIDENCE,
        notes=[
            f"{name}: {note}"
            for name, comparison in zip(sides[1:], runs.comparisons, strict=True)
            for note in terminal.comparison_notes(comparison)[:1]
        ],
        columns=own,
        causes=causes.lines,
        turned=data.turned,
        diagnosed=diagnosis is not None,
        changes=gaining(diagnosis),
        groupings=parts,
        sliced=labels_of(offered[first], own),
        sides=sides,
    )


def _lines(runs: Runs, column: Column, measure: Measure) -> Iterator[Line]:
    def at(value: float | None) -> float | None:
        return None if value is None else along(value, 0, 1, AXIS)

    name, label = column.method.name, column.method.label(measure)
    changes = [None, *runs.changes(name, measure)]
    for (run, report), change in zip(runs.items(), changes, strict=True):
        score = report.summary(*runs.measures)[name]
        one = score[measure]
        low, high = (None, None) if one.interval is None else one.interval[:2]
        yield Line(column, label, run, score, one, change, at(one.mean), at(low), at(high))
