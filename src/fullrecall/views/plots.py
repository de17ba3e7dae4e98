"""Reports as plots by Matplotlib (extra `plot`): nothing is shown or saved, axes are returned.

Colors are those of Okabe and Ito ("Color Universal Design", 2008), which color-blind readers
tell apart; each line has a marker and a dash of its own too.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from fullrecall.errors import ParameterError, ReportError
from fullrecall.extras import pyplot
from fullrecall.measures.budgets import check_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from fullrecall.measures import Measure
    from fullrecall.measures.budgets import Cut, Unit
    from fullrecall.report.report import Report
    from fullrecall.results.summary import ScoreSummary

_STYLES: Sequence[tuple[str, str, Any]] = (
    ("#0072b2", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#009e73", "^", ":"),
    ("#cc79a7", "D", "-."),
    ("#56b4e9", "v", (0, (7, 2))),
    ("#000000", "P", (0, (3, 1, 1, 1))),
)
"""Color, marker and dash of each line in turn."""

_MOST_TICKS = 12


def curves(
    report: Report,
    measure: Measure,
    ax: Axes | None = None,
    *,
    scores: Iterable[str] | None = None,
    ks: Sequence[Cut],
    label: str | None = None,
) -> Axes:
    """Draw the mean of a measure of each score over k, or a budget; see `Report.plot`.

    Raises `ParameterError` for what is no k, and for budgets of several units.
    """
    cuts = [measure @ check_cut(k) for k in ks]
    units = {each.unit for each in cuts}
    if len(units) > 1:
        names = ", ".join(sorted(unit or "contexts" for unit in units))
        raise ParameterError(f"ks must be of one unit, got {names}: draw a plot for each")
    summary = report.summary(*cuts)
    chosen = [
        score
        for score in (summary if scores is None else map(summary.__getitem__, scores))
        if any(estimate.mean is not None for estimate in score.values())
    ]
    if not chosen:
        raise ReportError(f"nothing to plot: no score of this report has a mean of {measure!r}")
    plt = pyplot("Report.plot()")
    if ax is None:
        _, ax = plt.subplots(figsize=(7.0, 4.3), layout="constrained")
    for score in chosen:
        _draw(ax, score, cuts, score.name if label is None else f"{label}: {score.name}")
    _label(ax, sorted({float(each.amount or 0) for each in cuts}), units.pop())
    ax.set_ylabel(f"mean {measure.whole.name.replace('_', ' ')}")
    ax.set_title("means with 95% intervals", fontsize="medium")
    return ax


def _draw(ax: Axes, score: ScoreSummary, cuts: Sequence[Measure], name: str) -> None:
    """Draw the means of a score as a line, and their intervals as a band."""
    # By the lines that are there: several reports on one plot keep colors of their own.
    color, marker, dash = _STYLES[len(ax.lines) % len(_STYLES)]
    sample_count = score.scored + score.undefined + score.unscored
    looks: dict[str, Any] = {"color": color, "marker": marker, "linestyle": dash}
    estimates = [
        (float(cut.amount or 0), score[cut]) for cut in cuts if score[cut].mean is not None
    ]
    ks, means = [k for k, _ in estimates], [each.mean for _, each in estimates]
    ax.plot(ks, means, label=f"{name} ({score.scored:,} of {sample_count:,} scored)", **looks)  # type: ignore[arg-type]  # has no None
    bands = [(k, *each.interval[:2]) for k, each in estimates if each.interval is not None]
    at, low, high = zip(*sorted(bands), strict=True)
    ax.fill_between(at, low, high, color=color, alpha=0.15, lw=0)


def _label(ax: Axes, ticks: Sequence[float], unit: Unit | None) -> None:
    if len(ticks) > 1:
        # The first ranks, where curves rise, get as much room as all the later ones.
        ax.set_xscale("log", base=2)
    shown = ticks[:: max(1, ceil(len(ticks) / _MOST_TICKS))]
    ax.set_xticks(shown, [f"{tick:,.15g}" for tick in shown])
    ax.minorticks_off()
    ax.set_xlabel("k, the contexts counted" if unit is None else f"{unit} counted")
    ax.set_ylim(0, 1.02)
    ax.grid(axis="y", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
