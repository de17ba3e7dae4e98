"""The tables and charts of a page as sheets: scores or changes by each choice, and over k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.results.bounds import CONFIDENCE
from fullrecall.views.comparisons import difference_cells, difference_heads
from fullrecall.views.page.charts import STYLES, Chart, Curve, Figure, chart
from fullrecall.views.sheet import Bar, Cell, Line, Section, Sheet
from fullrecall.views.text import NOTHING, between, shown

if TYPE_CHECKING:
    from fullrecall.measures import Measure
    from fullrecall.results.bounds import Interval
    from fullrecall.results.change import Difference
    from fullrecall.results.summary import Estimate, ScoreSummary, Summary
    from fullrecall.views.page.choices import Column, Subject
    from fullrecall.views.page.readings import Misses

_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""How far the axis of differences may reach."""

_BEFORE = 5
"""The style of what was before: a quiet dashed line."""

_LISTS = {"retrieved": "Retrieved", "kept": "Kept", "read": "In the prompt"}


class Panel(NamedTuple):
    """The chart of a measure over k, its numbers, and the choices with which it is shown."""

    chart: Chart
    caption: str
    sheet: Sheet
    choices: Sequence[int]


def tables(
    subject: Subject, summary: Summary | None, misses: Sequence[Sequence[Misses]]
) -> dict[str, Any]:
    """Return the tables and charts of a page, by the names of the template.

    `summary` is that of a page of one report, None on one of several.
    """
    if summary is None:
        panels = list(_changed_panels(subject))
        return {"overview": _changes_sheet(subject), "panels": panels, "funnel": None}
    return {
        "overview": _scores_sheet(subject, summary, misses),
        "panels": [*_panels(subject, summary), *_over_calls(subject, summary)],
        "funnel": _funnel_sheet(summary),
    }


def _scores_sheet(subject: Subject, summary: Summary, misses: Sequence[Sequence[Misses]]) -> Sheet:
    """Return the scores of one report: a section for each choice, a line for each score."""
    gaps = any(score.unscored for score in summary)
    percent = f"{CONFIDENCE:.0%} interval"
    heads = ["Mean", "0 to 1", percent, "Missed", "Scored", "Undefined", "Unscored"]
    heads += ["If all unscored were 0 or 1"] * gaps
    sections = []
    for nth, choice in enumerate(subject.choices):
        lines = []
        for column, score, measure, missed in zip(
            subject.columns, summary, choice.measures, misses, strict=True
        ):
            cells = _score_cells(score, score[measure], missed[nth])
            lines.append(Line(_label(column, measure), _labeled(cells[: len(heads)], heads)))
        sections.append(Section(choice.label, lines))
    return Sheet(heads, sections, corner="Score", sides="lrllrrrr" + "l" * gaps)


def _score_cells(score: ScoreSummary, estimate: Estimate, misses: Misses) -> list[Cell]:
    low, high = estimate.bounds or (None, None)
    return [
        Cell(shown(estimate.mean), "strong"),
        Cell("", bar=_bar(estimate.mean, estimate.interval, 0.0)),
        Cell(between(estimate.interval)),
        Cell(f"{misses.missed:,} of {misses.targets:,}"),
        Cell(f"{estimate.samples:,}"),
        Cell(f"{estimate.undefined:,}", "unsure" if estimate.undefined else ""),
        Cell(f"{score.unscored:,}", "unsure" if score.unscored else ""),
        Cell(f"{shown(low)} to {shown(high)}" if score.unscored else NOTHING),
    ]


def _changes_sheet(subject: Subject) -> Sheet:
    """Return each later report against the first: a section for each choice.

    Of more than two reports each has its line, the first one too.
    """
    differences = [
        each
        for choice in subject.choices
        for column, measure in zip(subject.columns, choice.measures, strict=True)
        for each in subject.changes(column.method.name, measure)
    ]
    end = _end(differences)
    _, _, _, percent, *counts = difference_heads(subject.confidence)
    heads = ["Difference", f"-{end:g} to +{end:g}", percent, "Before", "After", *counts]
    heads.append("Compared")
    sections = [
        Section(
            choice.label,
            [
                line
                for column, measure in zip(subject.columns, choice.measures, strict=True)
                for line in _change_lines(subject, column, measure, heads, end)
            ],
        )
        for choice in subject.choices
    ]
    return Sheet(heads, sections, corner="Score", sides=f"lrll{'r' * (len(heads) - 3)}")


def _change_lines(
    subject: Subject, column: Column, measure: Measure, heads: Sequence[str], end: float
) -> Iterator[Line]:
    label, several = _label(column, measure), len(subject.names) > 2  # noqa: PLR2004 - before and after
    if several:
        mean = next(iter(subject.reports.values())).summary(measure)[column.method.name][measure]
        cells = [Cell(""), Cell("", bar=Bar(-end, end, None, None)), *[Cell("")] * (len(heads) - 2)]
        cells[4], cells[-1] = Cell(shown(mean.mean)), Cell(f"{mean.samples:,}")
        label = label._replace(small=label.text)
        yield Line(label._replace(text=subject.names[0]), _labeled(cells, heads))
    for name, change in zip(
        subject.names[1:], subject.changes(column.method.name, measure), strict=True
    ):
        before, after, difference, interval, *others = difference_cells(change)
        axis = Cell("", bar=_bar(change.difference, change.interval, -end, end))
        compared = Cell(f"{change.samples:,}")
        cells = [difference, axis, interval, before, after, *others, compared]
        yield Line(label._replace(text=name) if several else label, _labeled(cells, heads))


def _panels(subject: Subject, summary: Summary) -> Iterator[Panel]:
    """Yield a chart for each measure that is offered at several ks, with a curve for each score."""
    for family, numbers in subject.families.items():
        figures = [
            [
                Figure(k, score[cut].mean, score[cut].interval)
                for k, cut in family.amounts(score).items()
            ]
            for score in summary
        ]
        drawn = chart(_scores_curves(subject, figures), family.unit)
        if drawn is not None:
            caption = f"Mean of {family.measure!r} @ {family.unit or 'k'}"
            yield Panel(drawn, caption, _panel_sheet(drawn, {}), numbers)


def _over_calls(subject: Subject, summary: Summary) -> Iterator[Panel]:
    """Yield a chart over calls, where agents made several and nobody asked."""
    if any(family.unit == "calls" for family in subject.families):
        return
    curves = [() if score.over_calls is None else score.over_calls.means for score in summary]
    figures = [[Figure(n, mean, None) for n, mean in enumerate(means, 1)] for means in curves]
    drawn = chart(_scores_curves(subject, figures), "calls") if any(curves) else None
    if drawn is not None:
        everywhere = range(len(subject.choices))
        yield Panel(drawn, "Mean over calls", _panel_sheet(drawn, {}), list(everywhere))


def _scores_curves(subject: Subject, figures: Sequence[Sequence[Figure]]) -> list[Curve]:
    """Return a curve for each score of one report."""
    return [
        Curve(column.letter, column.method.name, nth % STYLES, of)
        for nth, (column, of) in enumerate(zip(subject.columns, figures, strict=True))
    ]


def _changed_panels(subject: Subject) -> Iterator[Panel]:
    """Yield a chart for each measure at several ks and each score, with a curve a report."""
    for family, numbers in subject.families.items():
        for nth, column in enumerate(subject.columns):
            name = column.method.name
            cuts = family.amounts(choice.measures[nth] for choice in subject.choices)
            changes = {k: subject.changes(name, cut) for k, cut in cuts.items()}
            first = [Figure(k, of[0].before, None) for k, of in changes.items()]
            curves = [Curve("", subject.names[0], _BEFORE, first, hollow=True)]
            for later, report in enumerate(subject.names[1:]):
                figures = [Figure(k, of[later].after, None) for k, of in changes.items()]
                curves.append(Curve("", report, later % (STYLES - 1), figures))
            drawn = chart(curves, family.unit)
            if drawn is not None:
                caption = f"{name}: mean of {family.measure!r} @ {family.unit or 'k'}"
                yield Panel(drawn, caption, _panel_sheet(drawn, changes), numbers)


def _panel_sheet(drawn: Chart, changes: Mapping[float, Sequence[Difference]]) -> Sheet:
    """Return the numbers of a chart: a line for each curve, and for the change at last."""
    lines = []
    for line in drawn.curves:
        figures = {figure.k: figure for figure in line.curve.figures}
        cells = [_figure_cell(figures.get(k)) for k in drawn.ks]
        lines.append(Line(Cell(line.curve.name, letter=line.curve.letter), cells))
    if changes:
        differences = [difference_cells(changes[k][-1]) for k in drawn.ks]
        cells = [each[2]._replace(small=each[3].text) for each in differences]
        lines.append(Line("difference", cells))
    corner = f"at {drawn.counted.partition(',')[0]}"
    return Sheet([f"{k:,.15g}" for k in drawn.ks], [Section("", lines)], corner=corner)


def _figure_cell(figure: Figure | None) -> Cell:
    if figure is None:
        return Cell(NOTHING)
    small = "" if figure.interval is None else between(figure.interval)
    return Cell(shown(figure.value), small=small)


def _funnel_sheet(summary: Summary) -> Sheet | None:
    """Return the references by ID that each list has, and those that are lost on the way to it.

    None where no record has two of the lists, or none of them lost anything.
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
        lines.append(Line(_LISTS[name], _labeled(cells, heads)))
        before = count
    return Sheet(heads, [Section("", lines)], corner="List", sides="lrlrr")


def _label(column: Column, measure: Measure) -> Cell:
    return Cell(column.method.label(measure), letter=column.letter)


def _labeled(cells: Sequence[Cell], heads: Sequence[str]) -> list[Cell]:
    """Return cells that name themselves where a narrow window has no room for heads."""
    return [
        cell._replace(label=head.replace("\n", " "))
        for cell, head in zip(cells, heads, strict=True)
    ]


def _bar(value: float | None, interval: Interval | None, low: float, high: float = 1.0) -> Bar:
    return Bar(low, high, value, None if interval is None else (interval.low, interval.high))


def _end(differences: Sequence[Difference]) -> float:
    """Return the end of an axis that holds all differences with their intervals."""
    reach = [0.0]
    for each in differences:
        values = (each.difference, *(each.interval or ())[:2])
        reach += [abs(value) for value in values if value is not None]
    return next(end for end in _ENDS if end >= min(max(reach), 1.0))
