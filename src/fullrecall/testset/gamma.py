"""Quantiles of the gamma distribution, without SciPy."""

from __future__ import annotations

from math import exp, lgamma, log, sqrt
from statistics import NormalDist

_TERMS = 10_000
_PRECISION = 1e-14
_HALVINGS = 200


def gamma_quantile(share: float, shape: float) -> float:
    """Return the value below which `share` of a gamma distribution of scale 1 lies.

    `share` is in (0, 1), `shape` above 0. By bisection of the regularized incomplete gamma
    function, to a relative error of about 1e-12.
    """
    low, high = 0.0, _wilson_hilferty(share, shape)
    while regularized(shape, high) < share:
        low, high = high, 2 * high + 1e-300
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high) or high - low <= _PRECISION * high:
            break
        if regularized(shape, middle) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def regularized(shape: float, value: float) -> float:
    """Return the regularized lower incomplete gamma function P(shape, value), in [0, 1].

    By its power series below shape + 1, by Legendre's continued fraction above: Abramowitz and
    Stegun, "Handbook of Mathematical Functions", 6.5.29 and 6.5.31.
    """
    if value <= 0:
        return 0.0
    front = exp(shape * log(value) - value - lgamma(shape))
    if value < shape + 1:
        return min(1.0, front * _series(shape, value))
    return max(0.0, 1 - front * _fraction(shape, value))


def _series(shape: float, value: float) -> float:
    term = total = 1 / shape
    for n in range(1, _TERMS):
        term *= value / (shape + n)
        total += term
        if term < total * _PRECISION:
            break
    return total


def _fraction(shape: float, value: float) -> float:
    """Return the continued fraction, evaluated from its numerators and denominators."""
    before, now = 0.0, 1.0
    under_before, under = 1.0, value + 1 - shape
    ratio = now / under
    for n in range(1, _TERMS):
        a, b = -n * (n - shape), value + 2 * n + 1 - shape
        before, now = now, b * now + a * before
        under_before, under = under, b * under + a * under_before
        if under:
            now, before, under_before, under = now / under, before / under, under_before / under, 1.0
            if abs(now - ratio) <= _PRECISION * abs(now):
                return now
            ratio = now
    return ratio


def _wilson_hilferty(share: float, shape: float) -> float:
    """Return about the quantile: Wilson and Hilferty, "The distribution of chi-square", 1931."""
    deviate = NormalDist().inv_cdf(share)
    root = 1 - 1 / (9 * shape) + deviate / (3 * sqrt(shape))
    return max(shape * root**3, 1e-12)
