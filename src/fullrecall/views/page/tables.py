"""The tables and charts of a page as sheets: scores or changes by each choice, and over k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fullrecall.results.bounds import CONFIDENCE
from fullrecall.results.calls import over_tokens
from fullrecall.views.comparisons import difference_cells, difference_heads
from fullrecall.views.page.charts import STYLES, Chart, Curve, Figure, chart
from fullrecall.views.sheet import Bar, Cell, Line, Section, Sheet
from fullrecall.views.summaries import mean_cell
from fullrecall.views.text import NOTHING, between, shown

if TYPE_CHECKING:
    from fullrecall.measures import Measure
    from fullrecall.measures.budgets import Unit
    from fullrecall.results.bounds import Interval
    from fullrecall.results.difference import Difference
    from fullrecall.results.summary import Estimate, ScoreSummary, Summary
    from fullrecall.views.page.choices import Column, Family, Subject
    from fullrecall.views.page.readings import Misses

_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""How far the axis of differences may reach."""

_BEFORE = 5
"""The style of what was before: a quiet dashed line."""


_Found: TypeAlias = (
    "tuple[str, Unit | None, Sequence[int], list[Curve], Mapping[float, Sequence[Difference]]]"
)
"""A chart before it is drawn: caption, unit, choices, curves, and the differences by k."""


class Panel(NamedTuple):
    """The chart of a measure over k, its numbers, and the choices with which it is shown."""

    chart: Chart
    caption: str
    sheet: Sheet
    choices: Sequence[int]


def scores_sheet(subject: Subject, summary: Summary, misses: Sequence[Sequence[Misses]]) -> Sheet:
    """Return the scores of one report: a section for each choice, a line for each score."""
    gaps = any(score.unscored for score in summary)
    percent = f"{CONFIDENCE:.0%} interval"
    heads = ["Mean", "0 to 1", percent, "Missed", "Scored", "Undefined", "Unscored"]
    heads += ["If all unscored were 0 or 1"] * gaps
    sections = [
        Section(
            choice.label,
            [
                Line(_label(c, m), _score_cells(s, s[m], misses[nth][nth_choice], heads))
                for nth, (c, s, m) in enumerate(
                    zip(subject.columns, summary, choice.measures, strict=True)
                )
            ],
        )
        for nth_choice, choice in enumerate(subject.choices)
    ]
    return Sheet(heads, sections, corner="Score", sides="lrllrrrr" + "l" * gaps)


def _score_cells(
    score: ScoreSummary, estimate: Estimate, misses: Misses, heads: Sequence[str]
) -> list[Cell]:
    low, high = estimate.bounds or (None, None)
    gaps = f"{shown(low)} to {shown(high)}" if score.unscored else NOTHING
    cells = [
        Cell(shown(estimate.mean), "strong"),
        Cell("", bar=_bar(estimate.mean, estimate.interval, 0.0)),
        Cell(between(estimate.interval)),
        Cell(f"{misses.missed:,} of {misses.targets:,}"),
        Cell(f"{estimate.samples:,}"),
        Cell(f"{estimate.undefined:,}", "unsure" if estimate.undefined else ""),
        Cell(f"{score.unscored:,}", "unsure" if score.unscored else ""),
        Cell(gaps),
    ]
    return _labeled(cells[: len(heads)], heads)


def changes_sheet(subject: Subject) -> Sheet:
    """Return each later report against the first: a section for each choice.

    Of more than two reports each has its line, the first one too.
    """
    end, several = _end(subject), len(subject.names) > 2 or bool(_adjusted(subject) > 1)  # noqa: PLR2004 - before and after
    _, _, *others = difference_heads(subject.confidence, several=several)
    percent, *counts = others[1:]
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
    changes, names = subject.changes(column.method.name, measure), subject.names
    label = _label(column, measure)
    several = len(names) > 2  # noqa: PLR2004 - before and after
    if several:
        mean = next(iter(subject.reports.values())).summary(measure)[column.method.name][measure]
        cells = [Cell(""), Cell("", bar=Bar(-end, end, None, None)), *[Cell("")] * (len(heads) - 2)]
        cells[4], cells[-1] = Cell(shown(mean.mean)), Cell(f"{mean.samples:,}")
        yield Line(label._replace(text=names[0], small=label.text), _labeled(cells, heads))
    for name, change in zip(names[1:], changes, strict=True):
        line_label = label._replace(text=name, small=label.text) if several else label
        yield Line(line_label, _change_cells(change, heads, end))


def _change_cells(change: Difference, heads: Sequence[str], end: float) -> list[Cell]:
    holm = "p (Holm)" in heads
    before, after, difference, interval, *others = difference_cells(change, several=holm)
    axis = Cell("", bar=_bar(change.difference, change.interval, -end, end))
    compared = Cell(f"{change.samples:,}")
    return _labeled([difference, axis, interval, before, after, *others, compared], heads)


def panels(subject: Subject, summary: Summary | None) -> list[Panel]:
    """Return a chart for each measure that is offered at several ks.

    Of one report it has a curve for each score; of several there is one chart for each score, with
    a curve for each report.
    """
    panels_data: list[_Found] = []
    for family, numbers in subject.families.items():
        caption = f"Mean of {family.measure!r} @ {family.unit or 'k'}"
        if summary is not None:
            figures = [_means(score, family) for score in summary]
            panels_data.append(
                (caption, family.unit, numbers, _scores_curves(subject, figures), {})
            )
            continue
        for column in subject.columns:
            curves, changes = _curves_of(subject, column, family)
            name = f"{column.method.name}: {caption[:1].lower()}{caption[1:]}"
            panels_data.append((name, family.unit, numbers, curves, changes))
    drawn = [
        (caption, numbers, chart(of, unit), changes)
        for caption, unit, numbers, of, changes in panels_data
    ]
    if summary is not None:
        everywhere = list(range(len(subject.choices)))
        drawn += [(*each, {}) for each in _over_budgets(subject, summary, everywhere)]
    return [
        Panel(drawing, caption, _panel_sheet(drawing, changes), numbers)
        for caption, numbers, drawing, changes in drawn
        if drawing is not None
    ]


def _over_budgets(
    subject: Subject, summary: Summary, numbers: Sequence[int]
) -> Iterator[tuple[str, Sequence[int], Chart | None]]:
    """Yield charts over calls and tokens, where agents made several calls and nobody asked."""
    table, units = subject.last.table, {family.unit for family in subject.families}
    curves = {nth: score.over_calls for nth, score in enumerate(summary) if score.over_calls}
    for unit in ("calls", "tokens") if curves else ():
        if unit in units:
            continue
        figures: list[list[Figure]] = []
        for nth, score in enumerate(summary):
            by_call = dict(enumerate(curves[nth].means, 1)) if nth in curves else {}
            means = by_call if unit == "calls" else over_tokens(table, nth, score.method.headline)
            figures.append([Figure(amount, mean, None) for amount, mean in means.items()])
        yield f"Mean over {unit}", numbers, chart(_scores_curves(subject, figures), unit)


def _scores_curves(subject: Subject, figures: Sequence[Sequence[Figure]]) -> list[Curve]:
    """Return a curve for each score of one report."""
    return [
        Curve(column.letter, column.method.name, nth % STYLES, of)
        for nth, (column, of) in enumerate(zip(subject.columns, figures, strict=True))
    ]


def _means(score: ScoreSummary, family: Family) -> list[Figure]:
    cuts = family.amounts(score)
    return [Figure(k, score[cut].mean, score[cut].interval) for k, cut in cuts.items()]


def _curves_of(
    subject: Subject, column: Column, family: Family
) -> tuple[list[Curve], Mapping[float, Sequence[Difference]]]:
    """Return a curve for each report, and the differences from the first by k."""
    index = subject.columns.index(column)
    cuts = family.amounts(choice.measures[index] for choice in subject.choices)
    changes = {k: subject.changes(column.method.name, cut) for k, cut in cuts.items()}
    first = [Figure(k, of[0].before, None) for k, of in changes.items()]
    curves = [Curve("", subject.names[0], _BEFORE, first, hollow=True)]
    for nth, name in enumerate(subject.names[1:]):
        figures = [Figure(k, of[nth].after, None) for k, of in changes.items()]
        curves.append(Curve("", name, nth % (STYLES - 1), figures))
    return curves, changes


def _panel_sheet(drawn: Chart, changes: Mapping[float, Sequence[Difference]]) -> Sheet:
    """Return the numbers of a chart: a line for each curve, and for the change at last."""
    lines = []
    for line in drawn.curves:
        figures = {figure.k: figure for figure in line.curve.figures}
        cells = [_figure_cell(figures[k]) if k in figures else Cell(NOTHING) for k in drawn.ks]
        lines.append(Line(Cell(line.curve.name, letter=line.curve.letter), cells))
    if changes:
        cells = [_difference_cell(changes[k][-1]) for k in drawn.ks]
        lines.append(Line("difference", cells))
    corner = f"at {drawn.counted.partition(',')[0]}"
    return Sheet([f"{k:,.15g}" for k in drawn.ks], [Section("", lines)], corner=corner)


def _figure_cell(figure: Figure) -> Cell:
    return Cell(
        shown(figure.value), small="" if figure.interval is None else between(figure.interval)
    )


def _difference_cell(change: Difference) -> Cell:
    _, _, difference, interval, *_ = difference_cells(change, several=False)
    return difference._replace(small=interval.text)


def others_sheet(subject: Subject, summary: Summary, first: int, charted: set[int]) -> Sheet:
    """Return the means of the choices that neither open the page nor are in a chart."""
    others = [nth for nth in range(len(subject.choices)) if nth not in {first, *charted}]
    lines = [
        Line(
            Cell(column.method.name, letter=column.letter),
            [mean_cell(score[subject.choices[nth].measures[score_index]]) for nth in others],
        )
        for score_index, (column, score) in enumerate(zip(subject.columns, summary, strict=True))
    ]
    heads = [subject.choices[nth].label for nth in others]
    return Sheet(heads, [Section("", lines if others else [])], corner="Mean")


def _label(column: Column, measure: Measure) -> Cell:
    return Cell(column.method.label(measure), letter=column.letter)


def _labeled(cells: Sequence[Cell], heads: Sequence[str]) -> list[Cell]:
    """Return cells that name themselves where a narrow window has no room for heads."""
    labels = [head.replace("\n", " ") for head in heads]
    return [cell._replace(label=label) for cell, label in zip(cells, labels, strict=True)]


def _bar(value: float | None, interval: Interval | None, low: float, high: float = 1.0) -> Bar:
    return Bar(low, high, value, None if interval is None else (interval.low, interval.high))


def _differences(subject: Subject) -> Iterator[Difference]:
    for choice in subject.choices:
        for column, measure in zip(subject.columns, choice.measures, strict=True):
            yield from subject.changes(column.method.name, measure)


def _adjusted(subject: Subject) -> int:
    return sum(compared.p_adjusted is not None for compared in _differences(subject))


def _end(subject: Subject) -> float:
    """Return the end of an axis that holds all differences with their intervals."""
    reach = [0.0]
    for compared in _differences(subject):
        values = (compared.difference, *(compared.interval or ())[:2])
        reach += [abs(value) for value in values if value is not None]
    return next(end for end in _ENDS if end >= min(max(reach), 1.0))
