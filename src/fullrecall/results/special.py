"""The beta and the gamma distribution and their quantiles, Student's t, and binomial tails.

Incomplete integrals by their series and continued fractions, the latter by Lentz's method
(Applied Optics 15, 1976; Press et al., Numerical Recipes, 3rd ed., 2007, 6.2 and 6.4). The powers
before them by Loader's saddle-point expansion ("Fast and accurate computation of binomial
probabilities", 2000), which loses no digits where parameters are large. Quantiles by Newton's
method on the logarithms, within a bracket.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, lgamma, log, pi, sqrt
from statistics import NormalDist

_EPSILON = 2.0**-53
_TINY = 1e-300
_NEARLY_NORMAL = 10_000
"""Degrees of freedom from which the expansion about the normal distribution has all digits."""

_MOST_TERMS = 100_000
_MOST_STEPS = 2_000
_FARTHEST = 700.0
"""The largest step in logarithms: beyond, `exp` has no float."""
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
"""The coefficients of Stirling's series for the logarithm of the gamma function."""


def beta_cdf(a: float, b: float, x: float) -> float:
    """Return the probability, in [0, 1], that a beta variable with `a`, `b` > 0 is at most `x`."""
    if not 0 < x < 1:
        return 0.0 if x <= 0 else 1.0
    power = _beta_power(a, b, x)
    if x < (a + 1) / (a + b + 2):
        return power * _beta_fraction(a, b, x) / a
    return 1 - power * _beta_fraction(b, a, 1 - x) / b


def beta_quantile(a: float, b: float, chance: float) -> float:
    """Return the value that a beta variable with `a`, `b` > 0 is at most with this `chance`."""
    if not 0 < chance < 1:
        return 0.0 if chance <= 0 else 1.0
    if chance > beta_cdf(a, b, 0.5):  # found from the nearer end
        return 1 - _beta_quantile_below(b, a, 1 - chance)
    return _beta_quantile_below(a, b, chance)


def _beta_quantile_below(a: float, b: float, chance: float) -> float:
    """Return a quantile that is at most a half."""
    return _quantile(
        chance,
        lambda x: beta_cdf(a, b, x),
        lambda x: _beta_power(a, b, x) / (1 - x),
        min(0.5, a / (a + b)),
        0.5,
    )


def t_quantile(df: float, confidence: float) -> float:
    """Return what Student's t with `df` degrees of freedom exceeds, either way, by this chance.

    With the probability `confidence`, in (0, 1), its absolute value is at most this.
    """
    if df >= _NEARLY_NORMAL:
        return _nearly_normal_quantile(df, confidence)
    share = beta_quantile(0.5, df / 2, confidence)  # of t² in t² + df
    rest = 1 - share
    if share > 0.5:  # noqa: PLR2004 - the smaller of both has all digits
        rest = beta_quantile(df / 2, 0.5, 1 - confidence)
        share = 1 - rest
    return sqrt(df * share / rest)


def _nearly_normal_quantile(df: float, confidence: float) -> float:
    """Return the quantile of Student's t by its expansion about the normal distribution's.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.7.5.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    square = z * z
    terms = (
        (square + 1) / 4,
        ((5 * square + 16) * square + 3) / 96,
        (((3 * square + 19) * square + 17) * square - 15) / 384,
        ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92160,
    )
    total = 1.0
    for power, term in enumerate(terms, start=1):
        total += term / df**power
    return z * total


def gamma_cdf(shape: float, x: float) -> float:
    """Return the probability that a gamma variable of this `shape` > 0 and scale 1 is at most x."""
    if x <= 0:
        return 0.0
    power = _gamma_power(shape, x)
    if x >= shape + 1:
        return 1 - power * _gamma_fraction(shape, x)
    term = total = 1 / shape
    for n in range(1, _MOST_TERMS):
        term *= x / (shape + n)
        total += term
        if term < total * _EPSILON:
            break
    return power * total


def gamma_quantile(shape: float, chance: float) -> float:
    """Return the value that a gamma variable of this `shape` is at most with this `chance`."""
    if not 0 < chance < 1:
        return 0.0 if chance <= 0 else inf
    top = shape + 10 * sqrt(shape) + 10
    while gamma_cdf(shape, top) < chance:
        top *= 2
    return _quantile(
        chance, lambda x: gamma_cdf(shape, x), lambda x: _gamma_power(shape, x), shape, top
    )


def binomial_tail(least: int, trials: int, share: float) -> float:
    """Return the probability of `least` or more of `trials`, each with probability `share`."""
    if least <= 0:
        return 1.0
    return 0.0 if least > trials else beta_cdf(least, trials - least + 1, share)


def _quantile(
    chance: float,
    cdf: Callable[[float], float],
    slope: Callable[[float], float],
    start: float,
    top: float,
) -> float:
    """Return x in (0, `top`] with cdf(x) = `chance`; `slope` is the density times x.

    Newton's method on log cdf against log x, which is concave for most distributions; halving, in
    logarithms, where a step would leave the bracket.
    """
    low, high, x = 0.0, top, start
    for _ in range(_MOST_STEPS):
        value = cdf(x)
        low, high = (x, high) if value < chance else (low, x)
        rate = slope(x)
        following = -1.0
        if value > 0 and rate > 0:
            step = value * log(value / chance) / rate
            if abs(step) <= 2 * _EPSILON:
                return x
            following = x * exp(-step) if abs(step) < _FARTHEST else -1.0
        if not low < following < high:
            following = sqrt(low * high) if low else high / 1024
        if following in (0.0, x, low, high):  # one float wide
            return following
        x = following
    return x


def _beta_power(a: float, b: float, x: float) -> float:
    """Return x^a (1 - x)^b / B(a, b)."""
    n = a + b
    excess = _stirling_rest(n) - _stirling_rest(a) - _stirling_rest(b)
    away = _deviance(a, n * x) + _deviance(b, n * (1 - x))
    return sqrt(a / n * b / (2 * pi)) * exp(excess - away)


def _gamma_power(shape: float, x: float) -> float:
    """Return x^shape e^-x / Γ(shape)."""
    return sqrt(shape / (2 * pi)) * exp(-_stirling_rest(shape) - _deviance(shape, x))


def _stirling_rest(z: float) -> float:
    """Return what Stirling's formula leaves of log Γ(z + 1)."""
    if z < 16:  # noqa: PLR2004 - from there the series has all digits
        return lgamma(z + 1) - (z + 0.5) * log(z) + z - 0.5 * log(2 * pi)
    square, total = z * z, 0.0
    for coefficient in reversed(_STIRLING):
        total = total / square + coefficient
    return total / z


def _deviance(z: float, mean: float) -> float:
    """Return z log(z / mean) + mean - z, to all digits where both are near."""
    if abs(z - mean) >= 0.1 * (z + mean):
        return z * log(z / mean) + mean - z
    part = (z - mean) / (z + mean)
    total, term = (z - mean) * part, 2 * z * part
    for n in range(3, 1000, 2):
        term *= part * part
        if total == (more := total + term / n):
            break
        total = more
    return total


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta integral."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        before = value
        for part in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + part * d)
            c = _away_from_zero(1 + part / c)
            value *= c * d
        if abs(value - before) <= _EPSILON * value:
            break
    return value


def _gamma_fraction(shape: float, x: float) -> float:
    """Return the continued fraction of the upper incomplete gamma integral."""
    b = x + 1 - shape
    c, d = 1 / _TINY, 1 / _away_from_zero(b)
    value = d
    for n in range(1, _MOST_TERMS):
        part = -n * (n - shape)
        b += 2
        d = 1 / _away_from_zero(part * d + b)
        c = _away_from_zero(b + part / c)
        value *= c * d
        if abs(c * d - 1) <= _EPSILON:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
