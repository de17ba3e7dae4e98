"""The spread of a mean over samples that come in groups: cluster-robust, for large samples.

Calibration rests on estimates whose values lie outside of [0, 1], for which no bound holds for
every distribution; its intervals are measured, not proved (docs/formulas.md has the coverage).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import fsum, inf, sqrt
from typing import NamedTuple

from fullrecall.results.bounds import CONFIDENCE, Interval
from fullrecall.results.special import t_quantile

_ENOUGH = 2
"""Groups below which nothing is known of how they differ."""


class Spread(NamedTuple):
    """A mean over samples with what is known of its precision.

    `variance` is the mean's own, from `groups` independent groups of samples; `df` its degrees
    of freedom. Below two groups nothing is known: an infinite variance, no degrees of freedom.
    """

    mean: float
    variance: float
    df: float
    groups: int


def spread_of(values: Sequence[float], groups: Sequence[Hashable] | None = None) -> Spread:
    """Return the spread of the mean of `values`, of which there must be one.

    `groups` names the group of each value, None for one that stands for itself. The variance is
    the cluster-robust CR2 (Bell and McCaffrey, "Bias reduction in standard errors for linear
    regression with multi-stage samples", Survey Methodology 28(2), 2002) with Satterthwaite's
    degrees of freedom, for a mean. With every sample for itself, both are the usual s²/n and
    n - 1.
    """
    n = len(values)
    mean = fsum(values) / n
    members: dict[object, list[float]] = {}
    for position, (value, group) in enumerate(zip(values, groups or [None] * n, strict=True)):
        members.setdefault(position if group is None else group, []).append(value)
    if len(members) < _ENOUGH:
        return Spread(mean, inf, 0.0, len(members))
    off = [(fsum(each) - len(each) * mean, len(each)) for each in members.values()]
    variance = fsum(gap * gap / (1 - size / n) for gap, size in off) / n**2
    return Spread(mean, variance, _satterthwaite([size for _, size in off], n), len(members))


def mean_interval(spread: Spread, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the interval of a mean of values in [0, 1]; None below two groups.

    Wilson's score interval at the effective sample size: the variance is taken to shrink towards
    0 and 1 as that of a share does, mean · (1 - mean) / effective size. Sources: Wilson, JASA 22,
    1927; for the effective size with Student's t, Korn and Graubard, "Confidence intervals for
    proportions with small expected number of positive counts estimated from survey data", Survey
    Methodology 24(2), 1998. Where all groups are equal: Clopper and Pearson, Biometrika 26, 1934,
    for no exception among them.
    """
    if spread.groups < _ENOUGH:
        return None
    mean, share = spread.mean, spread.mean * (1 - spread.mean)
    if not (spread.variance > 0 and share > 0):
        off = 1.0 - ((1 - confidence) / 2) ** (1 / spread.groups)
        return Interval(mean - off * mean, mean + off * (1 - mean), confidence)
    t = t_quantile(spread.df, confidence)
    a = t * t * spread.variance / share
    centre, half = mean + a / 2, sqrt(a * share + a * a / 4)
    low, high = (centre - half) / (1 + a), (centre + half) / (1 + a)
    return Interval(max(0.0, low), min(1.0, high), confidence)


def _satterthwaite(sizes: Sequence[int], n: int) -> float:
    """Return the degrees of freedom of CR2 for groups of these sizes.

    n² / (Σ m² + Σ_{g≠h} b_g b_h) with b = m² / (n - m): what the general formula comes to where
    the only regressor is the constant. Equal groups give their number less one.
    """
    parts = [m * m / (n - m) for m in sizes]
    together = fsum(parts)
    return n * n / (fsum(m * m for m in sizes) + together**2 - fsum(b * b for b in parts))
