"""The tables and charts of a page: scores or changes by choice of measures; curves over k."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, NamedTuple

from fullrecall._util.counts import counted
from fullrecall.measures import Measure
from fullrecall.measures.budgets import Unit
from fullrecall.page.subject import Misses, SampleReading, Subject, misses_of
from fullrecall.show.sheet import Bar, Cell, Line, Section, Sheet
from fullrecall.show.text import NOTHING, between, one_line, shown
from fullrecall.stats.bounds import CONFIDENCE, Interval
from fullrecall.stats.change import Difference, difference_cells, difference_heads
from fullrecall.stats.comparison import Comparison
from fullrecall.stats.estimates import Estimate, ScoreSummary
from fullrecall.stats.summary import Summary, mean_cell

STYLES = 6
"""The number of colors of lines; each has its own dash, so that color is not needed to distinguish
them.
"""

_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 370, 12, 208
"""The margins of a chart of 420 by 252 units; the chart and its text scale with the page."""

_TICK_WIDTH = 22

Point = tuple[float, float]


class CurveMean(NamedTuple):
    """A mean of a curve with its interval; both are None for an undefined mean."""

    mean: float | None
    interval: Interval | None = None


@dataclass(frozen=True)
class Curve:
    """The curve of a score or of a report: its means by k or budget, and the number of its style.

    `hollow` dots mark the report before a change.
    """

    letter: str
    name: str
    style: int
    figures: Mapping[float, CurveMean]
    hollow: bool = False


@dataclass(frozen=True)
class Chart:
    """Curves of one measure over ascending `ks` or budgets, with y from 0 to 1.

    `counted` is the label of the x axis.
    """

    counted: str
    ks: Sequence[float]
    curves: Sequence[Curve]

    def x(self, k: float) -> float:
        """Return the x coordinate of a k, on a logarithmic axis.

        On this axis, the first ranks, where curves rise, get as much room as all later ones.
        """
        share = log2(k / self.ks[0]) / log2(self.ks[-1] / self.ks[0])
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    def y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        return round(_BOTTOM - value * (_BOTTOM - _TOP), 1)

    def dots(self, curve: Curve) -> list[Point]:
        """Return the points of a curve's means."""
        means = ((k, figure.mean) for k, figure in curve.figures.items())
        return [(self.x(k), self.y(mean)) for k, mean in means if mean is not None]

    def band(self, curve: Curve) -> list[Point]:
        """Return the corners of the band between the ends of a curve's intervals."""
        intervals = {self.x(k): figure.interval for k, figure in curve.figures.items()}
        bounded = [(x, interval) for x, interval in intervals.items() if interval is not None]
        highs = [(x, self.y(interval.high)) for x, interval in bounded]
        return highs + [(x, self.y(interval.low)) for x, interval in reversed(bounded)]

    @property
    def labeled(self) -> list[float]:
        """The ks whose numbers have room on the axis; the largest k is always included."""
        kept = [self.ks[-1]]
        for k in reversed(self.ks[:-1]):
            if self.x(kept[-1]) - self.x(k) >= _TICK_WIDTH:
                kept.append(k)
        return kept[::-1]


def chart(curves: Iterable[Curve], unit: Unit | None = None) -> Chart | None:
    """Return the chart of the curves that have a mean; None if they have fewer than two ks."""
    kept = [c for c in curves if any(figure.mean is not None for figure in c.figures.values())]
    ks = sorted({k for curve in kept for k in curve.figures})
    return Chart(unit or "k, the contexts", ks, kept) if len(ks) > 1 else None


def path(points: Sequence[Point]) -> str:
    """Return the data of an SVG path: a line through these points."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)


_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The possible largest values of the axis of differences, which is symmetric around 0."""

_BEFORE = 5
"""The number of the style for the report before a change: a quiet dashed line."""

_LISTS = {"retrieved": "Retrieved", "kept": "Kept", "read": "In the prompt"}


class ChartPanel(NamedTuple):
    """The chart of a measure over k, its numbers, and the choices of measures that show it."""

    chart: Chart
    caption: str
    sheet: Sheet
    choices: Sequence[int]


def tables(
    subject: Subject, summary: Summary | None, readings: Sequence[SampleReading]
) -> dict[str, Any]:
    """Return the tables and charts of a page, by their names in the page's template.

    `summary` is that of the report; None on a page of several reports.
    """
    if subject.comparison is not None:
        panels = list(_changed_panels(subject, subject.comparison))
        overview = _changes_sheet(subject, subject.comparison)
        return {"overview": overview, "panels": panels, "funnel": None}
    assert summary is not None  # noqa: S101 - a page without a comparison has one
    return {
        "overview": _scores_sheet(subject, summary, readings),
        "panels": list(_panels(subject, summary)),
        "funnel": _funnel_sheet(summary),
    }


def _scores_sheet(subject: Subject, summary: Summary, readings: Sequence[SampleReading]) -> Sheet:
    """Return a table of the scores of one report, with a section for each choice of measures."""
    scores = list(summary)
    # If all samples have a score, leave out the last column, which would have only dashes.
    gaps = any(score.unscored for score in scores)
    unjudged = any(score.unjudged for score in scores)
    percent = f"{CONFIDENCE:.0%} interval"
    heads = ["Mean", "0 to 1", percent, "Missed", "Scored", "Undefined", "Unscored"]
    heads += ["Unjudged"] * unjudged + ["If all unscored were 0 or 1"] * gaps

    def cells(measure: Measure, nth: int, choice: int) -> list[Cell]:
        score, misses = scores[nth], misses_of(readings, nth, choice)
        own = _score_cells(score, score[measure], misses)
        counts = [Cell(f"{score.unjudged:,}", "unsure" if score.unjudged else "")]
        return own + counts * unjudged + [_bounds_cell(score, score[measure])] * gaps

    return _overview(subject, heads, "lrllrrrr" + "r" * unjudged + "l" * gaps, cells)


def _score_cells(score: ScoreSummary, estimate: Estimate, misses: Misses) -> list[Cell]:
    groups = f"in {counted(estimate.groups, 'group')}" if estimate.groups < estimate.samples else ""
    return [
        Cell(shown(estimate.mean), "strong"),
        Cell("", bar=_bar(estimate.mean, estimate.interval, 0.0)),
        Cell(between(estimate.interval)),
        Cell(f"{misses.missed:,} of {misses.targets:,}"),
        Cell(f"{estimate.samples:,}", small=groups),
        Cell(f"{estimate.undefined:,}", "unsure" if estimate.undefined else ""),
        Cell(f"{score.unscored:,}", "unsure" if score.unscored else ""),
    ]


def _bounds_cell(score: ScoreSummary, estimate: Estimate) -> Cell:
    low, high = estimate.bounds or (None, None)
    return Cell(f"{shown(low)} to {shown(high)}" if score.unscored else NOTHING)


def _changes_sheet(subject: Subject, comparison: Comparison) -> Sheet:
    """Return a table of the changes of all scores, with a section for each choice of measures."""
    scores = list(comparison)
    pairs = zip(scores, subject.columns, strict=True)
    end = _end([score[measure] for score, column in pairs for measure in column.measures])
    _, _, _, percent, *counts = difference_heads(comparison.confidence)
    names = [one_line(name, _LONGEST_HEAD) for name in subject.reports]
    heads = ["Difference", f"-{end:g} to +{end:g}", percent, *names, *counts]
    heads.append("Compared")

    def cells(measure: Measure, nth: int, _: int) -> list[Cell]:
        return _change_cells(scores[nth][measure], end)

    return _overview(subject, heads, f"lrll{'r' * (len(heads) - 3)}", cells)


_LONGEST_HEAD = 24
"""The most characters of a report's name in a column head."""


def _overview(
    subject: Subject,
    heads: Sequence[str],
    sides: str,
    cells: Callable[[Measure, int, int], Sequence[Cell]],
) -> Sheet:
    """Return a table with a section for each choice of measures, and a line for each score in it.

    `cells` returns the cells of a line, for a measure, the index of its score, and the choice.
    """
    sections = []
    for choice, title in enumerate(subject.choice_labels):
        lines = []
        for nth, column in enumerate(subject.columns):
            measure = column.measures[choice]
            label = Cell(column.method.label(measure), letter=column.letter)
            lines.append(Line(label, cells(measure, nth, choice)))
        sections.append(Section(title, lines))
    return Sheet(heads, sections, corner="Score", sides=sides)


def _change_cells(change: Difference, end: float) -> list[Cell]:
    before, after, difference, interval, *others = difference_cells(change)
    axis = Cell("", bar=_bar(change.difference, change.interval, -end, end))
    return [difference, axis, interval, before, after, *others, Cell(f"{change.samples:,}")]


def _panels(subject: Subject, summary: Summary) -> Iterator[ChartPanel]:
    """Yield a chart for each measure with several ks; the chart has a curve for each score."""
    for family, numbers in subject.families.items():
        curves = []
        for nth, (column, score) in enumerate(zip(subject.columns, summary, strict=True)):
            figures = {
                k: CurveMean(score[cut].mean, score[cut].interval)
                for k, cut in family.amounts(score).items()
            }
            curves.append(Curve(column.letter, column.method.name, nth % STYLES, figures))
        drawn = chart(curves, family.unit)
        if drawn is not None:
            caption = f"Mean of {family.measure!r} @ {family.unit or 'k'}"
            yield ChartPanel(drawn, caption, _panel_sheet(drawn, {}), numbers)


def _changed_panels(subject: Subject, comparison: Comparison) -> Iterator[ChartPanel]:
    """Yield a chart for each score and each measure with several ks: its means before and after."""
    for family, numbers in subject.families.items():
        for score, column in zip(comparison, subject.columns, strict=True):
            changes = {k: score[cut] for k, cut in family.amounts(column.measures).items()}
            before = {k: CurveMean(change.before) for k, change in changes.items()}
            after = {k: CurveMean(change.after) for k, change in changes.items()}
            names = list(subject.reports)
            curves = [
                Curve("", names[0], _BEFORE, before, hollow=True),
                Curve("", names[1], 0, after),
            ]
            drawn = chart(curves, family.unit)
            if drawn is not None:
                caption = f"{score.name}: mean of {family.measure!r} @ {family.unit or 'k'}"
                yield ChartPanel(drawn, caption, _panel_sheet(drawn, changes), numbers)


def _panel_sheet(drawn: Chart, changes: Mapping[float, Difference]) -> Sheet:
    """Return the numbers of a chart: a line for each curve, and a last line for the change."""
    lines = []
    for curve in drawn.curves:
        cells = [mean_cell(*curve.figures.get(k, ())) for k in drawn.ks]
        lines.append(Line(Cell(curve.name, letter=curve.letter), cells))
    if changes:
        differences = [difference_cells(changes[k]) for k in drawn.ks]
        cells = [each[2]._replace(small=each[3].text) for each in differences]
        lines.append(Line("difference", cells))
    corner = f"at {drawn.counted.partition(',')[0]}"
    return Sheet([f"{k:,.15g}" for k in drawn.ks], [Section("", lines)], corner=corner)


def _funnel_sheet(summary: Summary) -> Sheet | None:
    """Return a table of the references that each list found, and of those that it lost.

    A list has lost a reference that the previous list has and this list does not have. Returns None
    if no retrieval has two of the lists, or if no list has lost a reference.
    """
    if summary.funnel is None:
        return None
    references = before = summary.funnel.references
    heads, lines = ["Recall", "0 to 1", "Found", "Lost here"], []
    for name, count in summary.funnel.found.items():
        share = count / references
        cells = [
            Cell(shown(share), "strong"),
            Cell("", bar=Bar(0.0, 1.0, share, None)),
            Cell(f"{count:,} of {references:,}"),
            Cell(f"{before - count:,}"),
        ]
        lines.append(Line(_LISTS[name], cells))
        before = count
    return Sheet(heads, [Section("", lines)], corner="List", sides="lrlrr")


def _bar(value: float | None, interval: Interval | None, low: float, high: float = 1.0) -> Bar:
    return Bar(low, high, value, None if interval is None else (interval.low, interval.high))


def _end(differences: Sequence[Difference]) -> float:
    """Return the end of an axis that includes all differences with their intervals."""
    reach = [0.0]
    for each in differences:
        values = (each.difference, *(each.interval or ())[:2])
        reach += [abs(value) for value in values if value is not None]
    return next(end for end in _ENDS if end >= min(max(reach), 1.0))
