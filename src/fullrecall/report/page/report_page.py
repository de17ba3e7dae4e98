"""The page of one report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.report import terminal
from fullrecall.report.page.charts import STYLES, Chart, Curve, Figure, along, chart
from fullrecall.report.page.columns import Column, columns
from fullrecall.report.page.payload import Diagnosis, payload
from fullrecall.report.page.shell import rendered
from fullrecall.report.statistics import CONFIDENCE, FEW, unseen

if TYPE_CHECKING:
    from fullrecall.report.report import Report
    from fullrecall.report.summary import ScoreSummary

AXIS = 232
"""Length of the axis from 0 to 1 beside a mean."""


class Line(NamedTuple):
    """One score of the overview; `at`, `low` and `high` stand on an axis of `AXIS`."""

    column: Column
    score: ScoreSummary
    at: float | None
    low: float | None
    high: float | None


def report_page(
    report: Report, *, diagnosis: Diagnosis | None = None, title: str | None = None
) -> str:
    """Return the page of `report` as HTML; see `Report.to_html`."""
    scores = list(report.summary())
    own = columns(report.methods, [(nth,) for nth in range(len(report.methods))])
    data = payload(((row,) for row in report.rows), own, [""], [diagnosis])
    return rendered(
        "report.html",
        data,
        title=title or "Context recall",
        samples=len(report),
        stopped=report.stopped,
        lines=[_line(*pair) for pair in zip(own, scores, strict=True)],
        some_unscored=any(score.unscored for score in scores),
        confidence=next((s.interval.confidence for s in scores if s.interval is not None), None),
        labels=terminal.LABELS,
        charts=curves_of(own, scores),
        columns=own,
        causes=data.causes,
        sides=[""],
        few=FEW,
        unseen=lambda groups: unseen(groups, CONFIDENCE, tails=1),
        axis=AXIS,
    )


def curves_of(own: Sequence[Column], scores: Sequence[ScoreSummary]) -> list[Chart]:
    """Return a chart for each measure: recall, and what else is a headline."""
    measures = dict.fromkeys(column.method.measure for column in own)
    charts = [
        chart(
            measure,
            [
                Curve(
                    column.letter,
                    column.method.name,
                    nth % STYLES,
                    [Figure(k, v, score.at_intervals.get(k)) for k, v in score.at.items()],
                )
                for nth, (column, score) in enumerate(zip(own, scores, strict=True))
                if column.method.measure == measure
            ],
        )
        for measure in measures
    ]
    return [one for one in charts if one is not None]


def _line(column: Column, score: ScoreSummary) -> Line:
    def at(value: float | None) -> float | None:
        return None if value is None else along(value, 0, 1, AXIS)

    interval = score.interval
    return Line(
        column,
        score,
        at(score.mean),
        at(interval.low if interval else None),
        at(interval.high if interval else None),
    )
