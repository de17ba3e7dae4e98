"""Reports as plots by Matplotlib (extra `plot`): nothing is shown or saved, axes are returned.

Colours are those of Okabe and Ito ("Color Universal Design", 2008), which colour-blind readers
tell apart; each line has a marker and a dash of its own too.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fullrecall.errors import ReportError
from fullrecall.extras import pyplot
from fullrecall.parameters import check_k

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from fullrecall.diagnosis import Diagnosis
    from fullrecall.measures import Measure
    from fullrecall.report.comparison import Comparison
    from fullrecall.report.report import Report

_STYLES = (
    ("#0072b2", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#009e73", "^", ":"),
    ("#cc79a7", "D", "-."),
    ("#56b4e9", "v", (0, (7, 2))),
    ("#000000", "P", (0, (3, 1, 1, 1))),
)
"""Colour, marker and dash of each line in turn."""


def curves(
    report: Report,
    measure: Measure,
    ax: Axes | None = None,
    *,
    scores: Iterable[str] | None = None,
    ks: Sequence[int],
) -> Axes:
    """Draw the mean of a measure of each score over k; see `Report.plot`."""
    cuts = {check_k(k, "ks"): measure @ k for k in ks}
    summary = report.summary(*cuts.values())
    every = list(summary) if scores is None else [_score(summary, name) for name in scores]
    chosen = [score for score in every if any(one.mean is not None for one in score.values())]
    if not chosen:
        raise ReportError(f"nothing to plot: no score of this report has a mean of {measure!r}")
    ax = _axes(ax, "Report.plot()")
    for nth, score in enumerate(chosen):
        coverage = f"{score.scored:,} of {score.scored + score.undefined + score.unscored:,} scored"
        values = {k: score[cut].mean for k, cut in cuts.items()}
        _curve(ax, values, nth, label=f"{score.name} ({coverage})")
        bands = [(float(k), score[cut].interval) for k, cut in sorted(cuts.items())]
        known = [(k, band) for k, band in bands if band is not None]
        low, high = ([band[end] for _, band in known] for end in (0, 1))
        color = _STYLES[nth % len(_STYLES)][0]
        ax.fill_between([k for k, _ in known], low, high, color=color, alpha=0.15, lw=0)
    _label(ax, list(cuts), f"mean {_words(measure)}")
    ax.set_title("mean over samples, with 95% intervals", fontsize="medium")
    return ax


def before_after(
    comparison: Comparison, ax: Axes | None = None, *, scores: Iterable[str] | None = None
) -> Axes:
    """Draw the mean of each score over k, before and after; see `Comparison.plot`."""
    every = list(comparison) if scores is None else [_score(comparison, name) for name in scores]
    chosen = [score for score in every if any(one.samples for one in score.at.values())]
    if not chosen:
        raise ReportError("nothing to plot: no score has a sample to compare at any k")
    ax = _axes(ax, "Comparison.plot()")
    for nth, score in enumerate(chosen):
        name = f"{score.name} ({score.main.samples:,} compared)"
        before = {k: one.before for k, one in score.at.items()}
        after = {k: one.after for k, one in score.at.items()}
        _curve(ax, before, nth, label=f"{name}, before", markerfacecolor="white", linestyle="--")
        _curve(ax, after, nth, label=f"{name}, after", linestyle="-")
    what = " and ".join(dict.fromkeys(_words(score.method.headline) for score in chosen))
    _label(ax, [k for score in chosen for k in score.at], f"mean {what}")
    return ax


def plot_causes(diagnosis: Diagnosis, ax: Axes | None = None) -> Axes:
    """Draw how many targets were missed by each cause, the most frequent on top.

    Returns `ax`, a new one if it is None. Raises `ReportError` where nothing was missed,
    `MissingExtraError` without Matplotlib.
    """
    counts = Counter(str(miss.cause) for miss in diagnosis.misses)
    if not counts:
        raise ReportError("nothing to plot: the diagnosis has no missed target")
    ax = _axes(ax, "plot_causes()")
    ordered = sorted(counts, key=lambda cause: (counts[cause], cause))
    total = counts.total()
    bars = ax.barh(
        [cause.replace("_", " ") for cause in ordered],
        [counts[cause] for cause in ordered],
        color=_STYLES[0][0],
    )
    shares = [f"{counts[cause]:,} ({counts[cause] / total:.0%})" for cause in ordered]
    ax.bar_label(bars, shares, padding=4)
    ax.margins(x=0.18)
    ax.set_xlabel(f"targets missed, of {total:,}")
    ax.locator_params(axis="x", integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _words(measure: Measure) -> str:
    return measure.whole.name.replace("_", " ")


def _axes(ax: Axes | None, purpose: str) -> Axes:
    plt = pyplot(purpose)
    if ax is not None:
        return ax
    _, made = plt.subplots(figsize=(7.0, 4.3), layout="constrained")
    own: Axes = made
    return own


def _curve(
    ax: Axes, values: Mapping[int, float | None], nth: int, *, label: str, **style: Any
) -> None:
    color, marker, dash = _STYLES[nth % len(_STYLES)]
    known = [(k, value) for k, value in values.items() if value is not None]
    looks: dict[str, Any] = {"color": color, "marker": marker, "linestyle": dash, **style}
    ax.plot([float(k) for k, _ in known], [value for _, value in known], label=label, **looks)


def _label(ax: Axes, ks: Sequence[int], what: str) -> None:
    ticks = sorted(set(ks))
    if len(ticks) > 1:
        ax.set_xscale("log", base=2)
    ax.set_xticks(ticks, [str(k) for k in ticks])
    ax.minorticks_off()
    ax.set_xlabel("k, the contexts counted")
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
