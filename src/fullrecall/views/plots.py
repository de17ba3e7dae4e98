"""Reports as plots by Matplotlib (extra `plot`): nothing is shown or saved, axes are returned.

Colors are those of Okabe and Ito ("Color Universal Design", 2008), which color-blind readers
tell apart; each line has a marker and a dash of its own too.
"""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from fullrecall.errors import ParameterError, ReportError
from fullrecall.extras import pyplot
from fullrecall.measures.budgets import check_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from fullrecall.diagnosis.diagnosis import Diagnosis
    from fullrecall.measures import Measure
    from fullrecall.measures.budgets import Cut, Unit
    from fullrecall.report.report import Report
    from fullrecall.results.comparison import Comparison, ScoreComparison
    from fullrecall.results.difference import Difference

_STYLES = (
    ("#0072b2", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#009e73", "^", ":"),
    ("#cc79a7", "D", "-."),
    ("#56b4e9", "v", (0, (7, 2))),
    ("#000000", "P", (0, (3, 1, 1, 1))),
)
"""Color, marker and dash of each line in turn."""

_HATCHES = ("", "//", "..", "xx", "--", "oo")
"""Patterns of bars in turn, so that color is not needed to tell them."""

_GROUP = 0.8
"""Height of the bars of one cause together, of 1.0 between two causes."""


def curves(
    report: Report,
    measure: Measure,
    ax: Axes | None = None,
    *,
    scores: Iterable[str] | None = None,
    ks: Sequence[Cut],
    label: str | None = None,
) -> Axes:
    """Draw the mean of a measure of each score over k, or a budget; see `Report.plot`."""
    cuts, unit = _read_at(measure, ks)
    summary = report.summary(*cuts.values())
    every = list(summary) if scores is None else [_score(summary, name) for name in scores]
    chosen = [
        score for score in every if any(estimate.mean is not None for estimate in score.values())
    ]
    if not chosen:
        raise ReportError(f"nothing to plot: no score of this report has a mean of {measure!r}")
    ax = _axes(ax, "Report.plot()")
    for score in chosen:
        coverage = f"{score.scored:,} of {score.scored + score.undefined + score.unscored:,} scored"
        values = {k: score[cut].mean for k, cut in cuts.items()}
        name = score.name if label is None else f"{label}: {score.name}"
        nth = _style(ax, (id(report) if label is None else label, score.name))
        _curve(ax, values, nth, label=f"{name} ({coverage})")
        bands = [(float(k), score[cut].interval) for k, cut in sorted(cuts.items())]
        intervals = [(k, band) for k, band in bands if band is not None]
        low, high = ([band[end] for _, band in intervals] for end in (0, 1))
        color = _STYLES[nth % len(_STYLES)][0]
        ax.fill_between([k for k, _ in intervals], low, high, color=color, alpha=0.15, lw=0)
    _label(ax, list(cuts), f"mean {_words(measure)}", unit)
    ax.set_title("means with 95% intervals", fontsize="medium")
    return ax


def _read_at(measure: Measure, ks: Sequence[Cut]) -> tuple[dict[float, Measure], Unit | None]:
    """Return the measure at each number of contexts or of a budget's unit, and the unit.

    Raises `ParameterError` for what is no k, and for budgets of several units.
    """
    every = [measure @ check_cut(k) for k in ks]
    units = {each.unit for each in every}
    if len(units) > 1:
        names = ", ".join(sorted(unit or "contexts" for unit in units))
        raise ParameterError(f"ks must be of one unit, got {names}: draw a plot for each")
    at = {each.amount: each for each in every if each.amount is not None}
    return at, next(iter(units), None)


def before_after(
    comparison: Comparison,
    measure: Measure | None = None,
    ax: Axes | None = None,
    *,
    scores: Iterable[str] | None = None,
) -> Axes:
    """Draw the mean of each score over k, before and after; see `Comparison.plot`."""
    every = list(comparison) if scores is None else [_score(comparison, name) for name in scores]
    read = {score.name: _cuts(score, measure or score.method.headline) for score in every}
    cuts = {name: differences for name, (differences, _) in read.items()}
    chosen = [
        score
        for score in every
        if any(difference.samples for difference in cuts[score.name].values())
    ]
    if not chosen:
        raise ReportError("nothing to plot: no score has a sample to compare at any k")
    ax = _axes(ax, "Comparison.plot()")
    for score in chosen:
        at, nth = cuts[score.name], _style(ax, (id(comparison), score.name))
        compared = max(difference.samples for difference in at.values())
        name = f"{score.name} ({compared:,} compared)"
        before = {k: difference.before for k, difference in at.items()}
        after = {k: difference.after for k, difference in at.items()}
        _curve(ax, before, nth, label=f"{name}, before", markerfacecolor="white", linestyle="--")
        _curve(ax, after, nth, label=f"{name}, after", linestyle="-")
        _changes(ax, at, _STYLES[nth % len(_STYLES)][0])
    ax.set_title(
        f"bands: before plus the {comparison.confidence:.0%} interval of the change",
        fontsize="medium",
    )
    drawn = dict.fromkeys(_words(measure or score.method.headline) for score in chosen)
    unit = read[chosen[0].name][1]
    ks = [k for score in chosen for k in cuts[score.name]]
    _label(ax, ks, f"mean {' and '.join(drawn)}", unit)
    return ax


def _changes(ax: Axes, at: Mapping[float, Difference], color: str) -> None:
    """Draw where the mean after lies, seen from the mean before: the interval of the change."""
    intervals = [
        (float(k), change.before + change.interval.low, change.before + change.interval.high)
        for k, change in at.items()
        if change.before is not None and change.interval is not None
    ]
    if intervals:
        ks, low, high = zip(*intervals, strict=True)
        ax.fill_between(ks, low, high, color=color, alpha=0.15, lw=0)
        # A band over one k has no width: its ends are drawn too.
        ax.vlines(ks, low, high, color=color, alpha=0.6, lw=1)


def _cuts(score: ScoreComparison, measure: Measure) -> tuple[dict[float, Difference], Unit | None]:
    """Return the differences of a measure by k, ascending, or by the first budget's unit."""
    family = [each for each in score if each.whole == measure.whole and each.k is not None]
    unit = None if any(each.unit is None for each in family) else family[0].unit if family else None
    cuts = {m.amount: score[m] for m in family if m.unit == unit and m.amount is not None}
    return {k: cuts[k] for k in sorted(cuts)}, unit


def plot_causes(diagnosis: Diagnosis, ax: Axes | None = None, *, score: str | None = None) -> Axes:
    """Draw how many targets each score missed by each cause, the most frequent on top.

    A bar for each score, with its share of that score's misses: counts of different scores do not
    add up. `score`, such as "id_recall@5", draws one alone. Returns `ax`, a new one if it is None.
    Raises `ReportError` where nothing was missed or the score has no miss, `MissingExtraError`
    without Matplotlib.
    """
    counts: dict[str, Counter[str]] = {}
    for miss in diagnosis.misses:
        counts.setdefault(miss.score, Counter())[str(miss.cause)] += 1
    if not counts:
        raise ReportError("nothing to plot: the diagnosis has no missed target")
    if score is not None and score not in counts:
        raise ReportError(f"no miss of {score!r} to plot: choose one of {', '.join(counts)}")
    ax = _axes(ax, "plot_causes()")
    _bars(ax, counts if score is None else {score: counts[score]})
    ax.margins(x=0.18)
    ax.locator_params(axis="x", integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _bars(ax: Axes, counts: Mapping[str, Counter[str]]) -> None:
    """Draw one group of bars for each cause, in it one bar for each score, the first on top."""
    causes = set().union(*counts.values())
    ordered = sorted(
        causes, key=lambda cause: (max(_share(of, cause) for of in counts.values()), cause)
    )
    height = _GROUP / len(counts)
    for nth, (score, of) in enumerate(counts.items()):
        shift = ((len(counts) - 1) / 2 - nth) * height
        bars = ax.barh(
            [position + shift for position in range(len(ordered))],
            [of[cause] for cause in ordered],
            height,
            color=_STYLES[nth % len(_STYLES)][0],
            hatch=_HATCHES[nth % len(_HATCHES)],
            edgecolor="white",
            label=f"{score}, of {of.total():,}",
        )
        labels = [f"{of[cause]:,} ({_share(of, cause):.0%})" for cause in ordered]
        ax.bar_label(bars, labels, padding=4)
    ax.set_yticks(range(len(ordered)), [cause.replace("_", " ") for cause in ordered])
    if len(counts) == 1:
        ax.set_xlabel(f"targets missed by {next(iter(counts))}, of {of.total():,}")
    else:
        ax.set_xlabel("targets missed, for each score apart")
        ax.legend(frameon=False, fontsize="small", loc="lower right")


def _share(counts: Counter[str], cause: str) -> float:
    return counts[cause] / counts.total()


def _words(measure: Measure) -> str:
    return measure.whole.name.replace("_", " ")


def _axes(ax: Axes | None, purpose: str) -> Axes:
    plt = pyplot(purpose)
    if ax is not None:
        return ax
    _, axes = plt.subplots(figsize=(7.0, 4.3), layout="constrained")
    own: Axes = axes
    return own


_Drawn: TypeAlias = tuple[int | str, str]
"""A report, by its label or its identity, and a score."""

_styles: WeakKeyDictionary[Any, dict[_Drawn, int]] = WeakKeyDictionary()
"""The style of each score of a report on a figure: drawn there again, it looks alike."""


def _style(ax: Axes, drawn: _Drawn) -> int:
    styles = _styles.setdefault(ax.figure, {})
    return styles.setdefault(drawn, len(styles))


def _curve(
    ax: Axes, values: Mapping[float, float | None], nth: int, *, label: str, **style: Any
) -> None:
    color, marker, dash = _STYLES[nth % len(_STYLES)]
    points = [(k, value) for k, value in values.items() if value is not None]
    looks: dict[str, Any] = {"color": color, "marker": marker, "linestyle": dash, **style}
    ax.plot([float(k) for k, _ in points], [value for _, value in points], label=label, **looks)


_MOST_TICKS = 12


def _label(ax: Axes, ks: Sequence[float], what: str, unit: Unit | None = None) -> None:
    ticks = sorted(set(ks))
    if len(ticks) > 1:
        ax.set_xscale("log", base=2)
    shown = ticks[:: max(1, ceil(len(ticks) / _MOST_TICKS))]
    ax.set_xticks(shown, [f"{tick:,.15g}" for tick in shown])
    ax.minorticks_off()
    ax.set_xlabel("k, the contexts counted" if unit is None else f"{unit} counted")
    ax.set_ylabel(what)
    ax.set_ylim(0, 1.02)
    ax.grid(axis="y", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")


def _score(scores: Any, name: str) -> Any:
    try:
        return scores[name]
    except KeyError as error:
        raise ReportError(str(error.args[0])) from None
