"""Student's t: its tails and its quantiles, as weighted sums of two gamma variables."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from fullrecall.stats.bounds import root
from fullrecall.stats.gamma_sum import log_probability_below_zero

_FARTHEST = 300.0
"""The logarithm of the largest quantile searched and, negated, of the smallest."""


def t_tails(df: float, t: float) -> float:
    """Return the probability that |T| > |t| for Student's T with `df` degrees of freedom."""
    # t² / (t² + df) is a beta variable: the share of one gamma variable in the sum of two.
    weights, shapes = np.array([t * t, -df], float), np.array([df / 2, 0.5])
    return exp(log_probability_below_zero(weights, shapes))


def t_quantile(df: float, confidence: float) -> float:
    """Return the two-sided quantile of Student's t with `df` degrees of freedom.

    With the probability `confidence`, in (0, 1), the absolute value of t is at most this.
    """

    def beyond(logarithm: float) -> float:
        tails = t_tails(df, exp(logarithm))
        return log((1 - confidence) / tails) if tails else inf

    nearest = (-_FARTHEST, log(1 - confidence))
    return exp(root(beyond, -_FARTHEST, _FARTHEST, 0.0, nearest))
