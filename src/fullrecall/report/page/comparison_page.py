"""The page of a comparison: two reports of the same samples, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.report.page.charts import Chart, Curve, Figure, along, chart
from fullrecall.report.page.columns import Column, columns
from fullrecall.report.page.payload import Diagnosis, payload
from fullrecall.report.page.shell import rendered
from fullrecall.result import Method

if TYPE_CHECKING:
    from fullrecall.report.comparison import Comparison, ScoreComparison
    from fullrecall.report.row import Row

AXIS = 232
"""Length of the axis of differences."""

_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_BEFORE, _AFTER = 5, 0
"""Styles of the two curves: a quiet dashed one, and one that stands out."""


class Line(NamedTuple):
    """One score of the overview; `at`, `low` and `high` stand on the axis of differences."""

    column: Column
    score: ScoreComparison
    at: float | None
    low: float | None
    high: float | None


def comparison_page(
    comparison: Comparison,
    *,
    diagnoses: tuple[Diagnosis | None, Diagnosis | None] = (None, None),
    title: str | None = None,
) -> str:
    """Return the page of `comparison` as HTML; see `Comparison.to_html`."""
    methods, places = _common(comparison)
    own = columns(methods, places)
    rows = list(_rows(comparison))
    sides = ["before", "after"]
    data = payload(rows, own, sides, diagnoses)
    end = _end(comparison)
    charts = [(score, _chart(score)) for score in comparison]
    return rendered(
        "comparison.html",
        data,
        title=title or "Context recall, before and after",
        samples=len(rows),
        comparison=comparison,
        lines=[_line(*pair, end) for pair in zip(own, comparison, strict=True)],
        end=end,
        charts=[(score, drawn) for score, drawn in charts if drawn is not None],
        columns=own,
        causes=data.causes,
        sides=sides,
        axis=AXIS,
    )


def _common(comparison: Comparison) -> tuple[list[Method], list[tuple[int, int]]]:
    """Return the methods that both reports have, with the ks of both, and where they stand."""
    before, after = (
        {method.name: (place, method) for place, method in enumerate(report.methods)}
        for report in (comparison.before, comparison.after)
    )
    methods, places = [], []
    for score in comparison:
        (one, ours), (two, theirs) = before[score.method.name], after[score.method.name]
        methods.append(replace(ours, ks=tuple(k for k in ours.ks if k in theirs.ks)))
        places.append((one, two))
    return methods, places


def _rows(comparison: Comparison) -> Iterator[tuple[Row | None, Row | None]]:
    """Yield the pairs, then what one report alone has."""
    yield from comparison.pairs
    only_before, only_after = set(comparison.only_before), set(comparison.only_after)
    yield from ((row, None) for row in comparison.before if row.label in only_before)
    yield from ((None, row) for row in comparison.after if row.label in only_after)


def _end(comparison: Comparison) -> float:
    """Return the end of an axis that holds all differences with their intervals."""
    reach = [0.0]
    for score in comparison:
        reach += [abs(v) for v in (score.difference, *(score.interval or ())[:2]) if v is not None]
    return next(end for end in _ENDS if end >= min(max(reach), 1.0))


def _line(column: Column, score: ScoreComparison, end: float) -> Line:
    def at(value: float | None) -> float | None:
        return None if value is None else along(value, -end, end, AXIS)

    low, high = (score.interval or (None, None))[:2]
    return Line(column, score, at(score.difference), at(low), at(high))


def _chart(score: ScoreComparison) -> Chart | None:
    def figures(values: Sequence[float]) -> list[Figure]:
        return [Figure(k, value, None) for k, value in zip(score.at, values, strict=True)]

    ends = list(score.at.values())
    return chart(
        score.method.measure,
        [
            Curve("", "before", _BEFORE, figures([one.before for one in ends]), hollow=True),
            Curve("", "after", _AFTER, figures([one.after for one in ends])),
        ],
    )
