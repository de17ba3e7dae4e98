"""Where the lines and dots of a page's charts stand; the template draws them as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

from fullrecall.views.html import swatch

if TYPE_CHECKING:
    from markupsafe import Markup

    from fullrecall.measures.budgets import Unit
    from fullrecall.results.bounds import Interval

STYLES = 6
"""Colors of lines; each has a dash of its own, so that color is not needed to tell them."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 390, 12, 208
"""In units of a chart, which has 420 by 252; it scales with the page, and its text with it."""

_MARGIN = 10
_LABEL_HEIGHT = 13
_TICK_WIDTH = 22


@dataclass(frozen=True)
class Figure:
    """One value of a curve with its interval, None for either where there is none."""

    k: float
    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Curve:
    """A score, or a report, by k or a budget, and how it is drawn.

    `hollow` dots stand for what was before.
    """

    letter: str
    name: str
    style: int
    figures: Sequence[Figure]
    hollow: bool = False


@dataclass(frozen=True)
class Drawn:
    """A curve in the units of the chart."""

    curve: Curve
    line: str
    band: str
    dots: Sequence[tuple[float, float]]
    label_at: tuple[float, float]


@dataclass(frozen=True)
class Chart:
    """Curves of one measure over k, or a budget, with what the axes need; y is always 0 to 1.

    `counted` says what the x axis counts. `k_positions` has every k with where it stands, `x_ticks`
    those that have room for their number.
    """

    counted: str
    ks: Sequence[float]
    curves: Sequence[Drawn]
    k_positions: Sequence[tuple[float, float]]
    x_ticks: Sequence[tuple[float, float]]
    y_ticks: Sequence[tuple[float, str]]

    @property
    def swatches(self) -> list[Markup]:
        """How each curve looks."""
        return [swatch(curve.curve.style, hollow=curve.curve.hollow) for curve in self.curves]


def chart(curves: Iterable[Curve], unit: Unit | None = None) -> Chart | None:
    """Return the chart of `curves`; None where there are fewer than two ks, which make no line."""
    kept = [curve for curve in curves if any(f.value is not None for f in curve.figures)]
    ks = sorted({figure.k for curve in kept for figure in curve.figures})
    if len(ks) < 2:  # noqa: PLR2004 - see above
        return None

    def x(k: float) -> float:
        # By its logarithm: the first ranks, where curves rise, get as much room as the later.
        share = log2(k / ks[0]) / log2(ks[-1] / ks[0])
        return round(_LEFT + _MARGIN + share * (_RIGHT - _LEFT - 3 * _MARGIN), 1)

    labels = _apart([_y(_points(curve)[-1][1]) for curve in kept])
    return Chart(
        unit or "k, the contexts",
        ks,
        [_drawn(curve, x, label) for curve, label in zip(kept, labels, strict=True)],
        [(x(k), k) for k in ks],
        [(x(k), k) for k in _labeled(ks, x)],
        [(_y(step / 4), f"{step / 4:g}") for step in range(5)],
    )


def _drawn(curve: Curve, x: Callable[[float], float], label: float) -> Drawn:
    points = _points(curve)
    bounded = [figure for figure in curve.figures if figure.interval is not None]
    edge = [(x(f.k), _y(f.interval.high)) for f in bounded if f.interval is not None]
    edge += [(x(f.k), _y(f.interval.low)) for f in reversed(bounded) if f.interval is not None]
    return Drawn(
        curve,
        _path([(x(k), _y(value)) for k, value in points]),
        f"{_path(edge)}Z" if len(bounded) > 1 else "",
        [(x(k), _y(value)) for k, value in points],
        (x(points[-1][0]) + 9, label + 4),
    )


def _points(curve: Curve) -> list[tuple[float, float]]:
    return [(figure.k, figure.value) for figure in curve.figures if figure.value is not None]


def _y(value: float) -> float:
    return round(_BOTTOM - value * (_BOTTOM - _TOP), 1)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)


def _apart(heights: Sequence[float]) -> list[float]:
    """Return label heights near `heights`, far enough from each other to be read."""
    placed = list(heights)
    lowest: float = _TOP - _LABEL_HEIGHT
    for at in sorted(range(len(placed)), key=lambda n: (heights[n], n)):
        lowest = placed[at] = max(placed[at], lowest + _LABEL_HEIGHT)
    return placed


def _labeled(ks: Sequence[float], x: Callable[[float], float]) -> list[float]:
    """Return the ks that have room for their number, the last one always."""
    kept = [ks[-1]]
    for k in reversed(ks[:-1]):
        if x(kept[-1]) - x(k) >= _TICK_WIDTH:
            kept.append(k)
    return kept[::-1]
