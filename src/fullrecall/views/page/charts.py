"""Where the lines and dots of a page's charts stand; the template draws them as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullrecall.measures.budgets import Unit
    from fullrecall.results.bounds import Interval

STYLES = 6
"""Colors of lines; each has a dash of its own, so that color is not needed to tell them."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 370, 12, 208
"""In units of a chart, which has 420 by 252; it scales with the page, and its text with it."""

_TICK_WIDTH = 22

Point = tuple[float, float]


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
class Chart:
    """Curves of one measure over the `ks`, ascending, or over a budget; y is always 0 to 1.

    `counted` says what the x axis counts.
    """

    counted: str
    ks: Sequence[float]
    curves: Sequence[Curve]

    def x(self, k: float) -> float:
        """Return where a k stands.

        By its logarithm: the first ranks, where curves rise, get as much room as the later.
        """
        share = log2(k / self.ks[0]) / log2(self.ks[-1] / self.ks[0])
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    def y(self, value: float) -> float:
        """Return where a value stands."""
        return round(_BOTTOM - value * (_BOTTOM - _TOP), 1)

    def dots(self, curve: Curve) -> list[Point]:
        """Return where the values of a curve stand."""
        return [(self.x(f.k), self.y(f.value)) for f in curve.figures if f.value is not None]

    def band(self, curve: Curve) -> list[Point]:
        """Return the corners of the band that the intervals of a curve make."""
        bounded = [(self.x(f.k), f.interval) for f in curve.figures if f.interval is not None]
        highs = [(x, self.y(interval.high)) for x, interval in bounded]
        return highs + [(x, self.y(interval.low)) for x, interval in reversed(bounded)]

    @property
    def labeled(self) -> list[float]:
        """The ks that have room for their number, the last one always."""
        kept = [self.ks[-1]]
        for k in reversed(self.ks[:-1]):
            if self.x(kept[-1]) - self.x(k) >= _TICK_WIDTH:
                kept.append(k)
        return kept[::-1]


def chart(curves: Iterable[Curve], unit: Unit | None = None) -> Chart | None:
    """Return the chart of `curves`; None where there are fewer than two ks, which make no line."""
    kept = [curve for curve in curves if any(f.value is not None for f in curve.figures)]
    ks = sorted({figure.k for curve in kept for figure in curve.figures})
    return Chart(unit or "k, the contexts", ks, kept) if len(ks) > 1 else None


def path(points: Sequence[Point]) -> str:
    """Return a line through points, in SVG's words."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
