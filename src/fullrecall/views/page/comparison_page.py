"""The page of a comparison: two reports of the same samples, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.counts import counted
from fullrecall.measures import Measure
from fullrecall.views import terminal
from fullrecall.report.bounds import CONFIDENCE
from fullrecall.views.page.causes import Causes, Diagnosis, gaining
from fullrecall.views.page.charts import Chart, Curve, Figure, along, chart
from fullrecall.views.page.choices import choices, first_shown, labels_of
from fullrecall.views.page.columns import Column, columns
from fullrecall.views.page.groupings import Groupings, change_groupings
from fullrecall.views.page.payload import payload
from fullrecall.views.page.selection import LOWEST, MOST_ROWS
from fullrecall.views.page.shell import rendered
from fullrecall.views.page.turns import MOST_TURNED, Turns, turns

if TYPE_CHECKING:
    from fullrecall.report.comparison import Comparison, ScoreComparison
    from fullrecall.report.difference import Difference
    from fullrecall.report.row import Row

AXIS = 232
"""Length of the axis of differences."""

_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_BEFORE, _AFTER = 5, 0
"""Styles of the two curves: a quiet dashed one, and one that stands out."""


class Line(NamedTuple):
    """One measure of one score; `at`, `low` and `high` stand on the axis of differences."""

    column: Column
    label: str
    one: Difference
    at: float | None
    low: float | None
    high: float | None


class Panel(NamedTuple):
    """The chart of a measure of one score over k, with its differences and their choices."""

    chart: Chart
    caption: str
    differences: Sequence[Difference]
    choices: Sequence[int]


def comparison_page(
    comparison: Comparison,
    *,
    diagnoses: tuple[Diagnosis | None, Diagnosis | None] = (None, None),
    title: str | None = None,
) -> str:
    """Return the page of `comparison` as HTML; see `Comparison.to_html`."""
    methods = [score.method for score in comparison]
    own = columns(methods, [comparison.places[score.name] for score in comparison])
    offered = choices(methods, comparison.measures)
    causes = Causes(diagnoses, own)
    (rows, partly), sides = _rows(comparison), ["before", "after"]
    first = first_shown(offered, own, causes.labels)
    shown = list(zip(own, offered[first].measures, strict=True))
    parts = Groupings() if partly else change_groupings(rows, shown)
    of_all: Sequence[Turns] = ()
    if partly:
        of_all = turns(comparison.drawn(MOST_TURNED), own, offered)
        partly += _said_of_all(comparison, diagnoses[1])
    data = payload(rows, own, offered, sides, causes, parts, turned_of_all=of_all)
    turned = replace(data.turned, **of_all[first]._asdict()) if of_all else data.turned
    end = _end(comparison)
    asked = sum(one.p_adjusted is not None for score in comparison for one in score.values())
    return rendered(
        "comparison.html",
        data,
        title=title or "Context recall, before and after",
        samples=len(rows),
        partly=partly,
        comparison=comparison,
        choices=offered,
        first=data.first,
        lines=[
            [_line(*each, end) for each in zip(own, comparison, choice.measures, strict=True)]
            for choice in offered
        ],
        end=end,
        several=asked > 1,
        notes=terminal.comparison_notes(comparison),
        panels=[
            panel
            for nth, (column, score) in enumerate(zip(own, comparison, strict=True))
            for panel in _panels(column, score, [choice.measures[nth] for choice in offered])
        ],
        columns=own,
        causes=causes.lines,
        turned=turned,
        diagnosed=diagnoses[1] is not None,
        changes=gaining(diagnoses[1]),
        groupings=parts,
        sliced=labels_of(offered[first], own),
        confidence=CONFIDENCE,
        sides=sides,
        axis=AXIS,
    )


def _rows(comparison: Comparison) -> tuple[list[tuple[Row | None, Row | None]], str]:
    """Return the samples of the page: of too many those that changed most, and says so."""
    both, old, new = map(len, (comparison.pairs, comparison.only_before, comparison.only_after))
    if both + old + new <= MOST_ROWS:
        return list(comparison.rows), ""
    chosen: dict[int, tuple[Row | None, Row | None]] = {}
    for score in comparison:
        for one in score.main.changes.changed()[:LOWEST]:
            chosen.setdefault(one.before.position, (one.before, one.after))
    sentence = (
        f"The table below holds {counted(len(chosen), 'sample')} of {both:,} that both reports "
        f"have: at most {LOWEST:,} for each score, those that changed most. What is filtered, "
        "searched and sorted is these; means, differences and counts are of all."
    )
    return list(chosen.values()), sentence


def _said_of_all(comparison: Comparison, diagnosis: Diagnosis | None) -> str:
    """Return what of a page of some samples is estimated from others, drawn at random."""
    said = ""
    if len(comparison.pairs) > MOST_TURNED:
        said = f" What fails now, was mended or still fails is of {MOST_TURNED:,} drawn at random."
    if diagnosis is not None and diagnosis.samples < len(comparison.after):
        said += f" Causes and changes are from {diagnosis.samples:,} samples drawn at random."
    return said


def _end(comparison: Comparison) -> float:
    """Return the end of an axis that holds all differences with their intervals."""
    reach = [0.0]
    for score in comparison:
        for one in score.values():
            values = (one.difference, *(one.interval or ())[:2])
            reach += [abs(value) for value in values if value is not None]
    return next(end for end in _ENDS if end >= min(max(reach), 1.0))


def _line(column: Column, score: ScoreComparison, measure: Measure, end: float) -> Line:
    def at(value: float | None) -> float | None:
        return None if value is None else along(value, -end, end, AXIS)

    one = score[measure]
    low, high = (one.interval or (None, None))[:2]
    return Line(column, column.method.label(measure), one, at(one.difference), at(low), at(high))


def _panels(column: Column, score: ScoreComparison, offered: Sequence[Measure]) -> Iterator[Panel]:
    """Yield a chart of one score for each measure that is offered at several ks."""
    for family in dict.fromkeys(measure.whole for measure in offered):
        cuts = {m.k: one for m, one in score.items() if m.whole == family and m.k is not None}
        differences = [cuts[k] for k in sorted(cuts)]
        drawn = _chart(differences)
        if drawn is not None:
            places = [nth for nth, measure in enumerate(offered) if measure.whole == family]
            yield Panel(drawn, f"{column.method.name}: mean of {family!r} @ k", differences, places)


def _chart(differences: Sequence[Difference]) -> Chart | None:
    def figures(side: Callable[[Difference], float | None]) -> list[Figure]:
        return [Figure(one.measure.k or 0, side(one), None) for one in differences]

    return chart(
        [
            Curve("", "before", _BEFORE, figures(lambda one: one.before), hollow=True),
            Curve("", "after", _AFTER, figures(lambda one: one.after)),
        ]
    )
