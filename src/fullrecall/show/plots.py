"""Reports as Matplotlib plots (extra `plot`): they return axes, and neither show nor save them.

Colors are those of Okabe and Ito ("Color Universal Design", 2008), which color-blind readers
can tell apart. Each line also has its own marker and dashes.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall._util.extras import pyplot
from fullrecall.errors import ReportError
from fullrecall.measures import Measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_STYLES: Sequence[tuple[str, str, Any]] = (
    ("#0072b2", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#009e73", "^", ":"),
    ("#cc79a7", "D", "-."),
    ("#56b4e9", "v", (0, (7, 2))),
    ("#000000", "P", (0, (3, 1, 1, 1))),
)
"""The color, the marker and the dash of each line, in turn."""

_MOST_TICKS = 12


class PlotLine(NamedTuple):
    """A line of a plot: its name, the numbers of scored and of all samples, and its points.

    A point is (k or budget, mean, interval); the last two may be None.
    """

    label: str
    scored: int
    samples: int
    points: Sequence[tuple[float, float | None, Sequence[float] | None]]


def drawn(curves: Sequence[PlotLine], ax: Axes | None, measure: Measure, unit: str | None) -> Axes:
    """Draw means over k, or over a budget of `unit`; return the axes.

    Raises `ReportError` if no curve has a mean.
    """
    chosen = [curve for curve in curves if any(mean is not None for _, mean, _ in curve.points)]
    if not chosen:
        raise ReportError(f"nothing to plot: no score of this report has a mean of {measure!r}")
    plt = pyplot("Report.plot()")
    if ax is None:
        _, ax = plt.subplots(figsize=(7.0, 4.3), layout="constrained")
    for curve in chosen:
        _draw(ax, curve)
    _label(ax, sorted({k for k, _, _ in chosen[0].points}), unit)
    ax.set_ylabel(f"mean {measure.name.replace('_', ' ')}")
    ax.set_title("means with 95% intervals", fontsize="medium")
    return ax


def _draw(ax: Axes, curve: PlotLine) -> None:
    """Draw the means of a score as a line, and their intervals as a band."""
    # Choose the style by the number of existing lines, so that several reports on one plot differ.
    color, marker, dash = _STYLES[len(ax.lines) % len(_STYLES)]
    looks: dict[str, Any] = {"color": color, "marker": marker, "linestyle": dash}
    points = [(k, mean, interval) for k, mean, interval in curve.points if mean is not None]
    ks, means = [k for k, _, _ in points], [mean for _, mean, _ in points]
    name = f"{curve.label} ({curve.scored:,} of {curve.samples:,} scored)"
    ax.plot(ks, means, label=name, **looks)
    bands = [(k, *interval[:2]) for k, _, interval in points if interval is not None]
    at, low, high = zip(*sorted(bands), strict=True)
    ax.fill_between(at, low, high, color=color, alpha=0.15, lw=0)


def _label(ax: Axes, ticks: Sequence[float], unit: str | None) -> None:
    if len(ticks) > 1:
        # On this scale, the first ranks, where curves rise, get as much room as all later ones.
        ax.set_xscale("log", base=2)
    shown = ticks[:: max(1, ceil(len(ticks) / _MOST_TICKS))]
    ax.set_xticks(shown, [f"{tick:,.15g}" for tick in shown])
    ax.set_xlabel("k, the contexts counted" if unit is None else f"{unit} counted")
    ax.set_ylim(0, 1.02)
    ax.grid(axis="y", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
