"""Coordinates of the lines and dots of a page's charts; the template draws them as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import NamedTuple

from fullrecall.measures.budgets import Unit
from fullrecall.stats.bounds import Interval

STYLES = 6
"""Colors of lines; each has a dash of its own, so that color is not needed to tell them."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 370, 12, 208
"""In units of a chart, which has 420 by 252; the chart and its text scale with the page."""

_TICK_WIDTH = 22

Point = tuple[float, float]


class CurveMean(NamedTuple):
    """A mean of a curve with its interval; both are None for an undefined mean."""

    mean: float | None
    interval: Interval | None = None


@dataclass(frozen=True)
class Curve:
    """A score, or a report, with its figures by k or a budget, and its style.

    `hollow` dots mark the report before a change.
    """

    letter: str
    name: str
    style: int
    figures: Mapping[float, CurveMean]
    hollow: bool = False


@dataclass(frozen=True)
class Chart:
    """Curves of one measure over ascending `ks` or budgets; y always goes from 0 to 1.

    `counted` labels the x axis.
    """

    counted: str
    ks: Sequence[float]
    curves: Sequence[Curve]

    def x(self, k: float) -> float:
        """Return the x coordinate of a k, on a logarithmic axis.

        The first ranks, where curves rise, get as much room as later ones.
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
        """The ks that have room for their number; always includes the last."""
        kept = [self.ks[-1]]
        for k in reversed(self.ks[:-1]):
            if self.x(kept[-1]) - self.x(k) >= _TICK_WIDTH:
                kept.append(k)
        return kept[::-1]


def chart(curves: Iterable[Curve], unit: Unit | None = None) -> Chart | None:
    """Return the chart of `curves`; None for fewer than two ks, which make no line."""
    kept = [c for c in curves if any(figure.mean is not None for figure in c.figures.values())]
    ks = sorted({k for curve in kept for k in curve.figures})
    return Chart(unit or "k, the contexts", ks, kept) if len(ks) > 1 else None


def path(points: Sequence[Point]) -> str:
    """Return a line through points as an SVG path."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
