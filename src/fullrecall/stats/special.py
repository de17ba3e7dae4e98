"""Quantiles of the beta and the gamma distribution, Student's t, and binomial tails.

The beta distribution is that of G_a / (G_a + G_b) for independent gamma variables, so that a sum of
two of them, weighted, is at most 0 with its probability (`fullrecall.stats.gamma_sum`). Quantiles
are found in logarithms, where small ones keep their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, inf, lgamma, log, sqrt

import numpy as np

from fullrecall.stats.bounds import root
from fullrecall.stats.gamma_sum import log_probability_below_zero

_EPSILON = 2.0**-53
_LEAST = -700.0
"""The logarithm of the least quantile that is told from 0."""

_FAR = 20.0
"""Standard deviations above its mean at which all of a gamma distribution is below, to a float."""


def beta_cdf(a: float, b: float, x: float) -> float:
    """Return the probability, in [0, 1], that a beta variable with `a`, `b` > 0 is at most `x`."""
    if not 0 < x < 1:
        return 0.0 if x <= 0 else 1.0
    return exp(log_probability_below_zero(np.array([1 - x, -x]), np.array([a, b], float)))


@lru_cache(maxsize=1024)
def beta_quantile(a: float, b: float, chance: float) -> float:
    """Return the value that a beta variable with `a`, `b` > 0 is at most with this `chance`."""
    if not 0 < chance < 1:
        return 0.0 if chance <= 0 else 1.0
    if chance > beta_cdf(a, b, 0.5):  # found from the nearer end
        return 1 - _quantile(lambda x: beta_cdf(b, a, x), 1 - chance, 0.5)
    return _quantile(lambda x: beta_cdf(a, b, x), chance, 0.5)


def t_quantile(df: float, confidence: float) -> float:
    """Return what Student's t with `df` degrees of freedom exceeds, either way, by this chance.

    With the probability `confidence`, in (0, 1), its absolute value is at most this.
    """
    share = beta_quantile(0.5, df / 2, confidence)  # of t² in t² + df
    rest = 1 - share
    if share > 0.5:  # noqa: PLR2004 - the smaller of both has all digits
        rest = beta_quantile(df / 2, 0.5, 1 - confidence)
        share = 1 - rest
    return sqrt(df * share / rest)


def t_tails(df: float, t: float) -> float:
    """Return the probability that Student's t with `df` degrees of freedom is `t` away from 0."""
    return beta_cdf(df / 2, 0.5, df / (df + t * t))


def gamma_cdf(shape: float, x: float) -> float:
    """Return the probability that a gamma variable of this `shape` > 0 and scale 1 is at most x."""
    if x <= 0:
        return 0.0
    if x > shape + _FAR * (sqrt(shape) + 2):
        return 1.0
    # The series of the lower incomplete gamma function: all its terms are above 0, nothing cancels.
    term = total = 1 / shape
    steps = shape
    while term > total * _EPSILON:
        steps += 1
        term *= x / steps
        total += term
    return min(1.0, exp(shape * log(x) - x - lgamma(shape)) * total)


def gamma_quantile(shape: float, chance: float) -> float:
    """Return the value that a gamma variable of this `shape` is at most with this `chance`."""
    if not 0 < chance < 1:
        return 0.0 if chance <= 0 else inf
    return _quantile(lambda x: gamma_cdf(shape, x), chance, shape + _FAR * (sqrt(shape) + 2))


def _quantile(cdf: Callable[[float], float], chance: float, most: float) -> float:
    """Return x in (0, `most`] with cdf(x) = `chance`; 0 for one that is too small for a float."""

    def beyond(logarithm: float) -> float:
        share = cdf(exp(logarithm))
        return log(share / chance) if share else -inf

    if beyond(_LEAST) >= 0:
        return 0.0
    return exp(root(beyond, _LEAST, log(most), log(most), (_LEAST, -inf)))
