"""Quantiles and tails of the core's own agree with SciPy's, which only the tests install."""

from __future__ import annotations

from itertools import product

import pytest
from scipy import special as scipy

from fullrecall.stats.special import beta_cdf, beta_quantile, gamma_cdf, gamma_quantile, t_quantile

SIZES = (0.5, 1, 1.5, 3.7, 10, 15.9, 16, 61.5, 500, 2000, 20_000)
CHANCES = (0.001, 0.005, 0.0125, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.999)
WITHIN = 1e-12


@pytest.mark.parametrize("a", SIZES)
def test_beta(a: float) -> None:
    """Shares of labels and of reviews: each quantile, and the way back."""
    for b, chance in product(SIZES, CHANCES):
        quantile = beta_quantile(a, b, chance)
        assert quantile == pytest.approx(scipy.betaincinv(a, b, chance), rel=WITHIN, abs=0)
        assert 1 - quantile == pytest.approx(1 - scipy.betaincinv(a, b, chance), rel=1e-9, abs=0)
        if quantile < 0.99:  # above, a float holds too few digits of the rest
            assert beta_cdf(a, b, quantile) == pytest.approx(chance, rel=1e-11, abs=0)


def test_t() -> None:
    """Confidence intervals: whole and broken degrees of freedom."""
    sizes = (1, 1.3, 2, 2.7, 3, 4, 5, 7.5, 9, 10, 15, 29, 30.5, 50, 99, 500, 1e3, 9999, 1e4, 1e6)
    for df, confidence in product(sizes, (0.5, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9999)):
        expected = scipy.stdtrit(df, 1 - (1 - confidence) / 2)
        assert t_quantile(df, confidence) == pytest.approx(expected, rel=WITHIN, abs=0)


def test_gamma() -> None:
    """Rates of rare relevant pairs."""
    for shape, chance in product((0.1, 0.3, *SIZES, 1e5), CHANCES):
        quantile = gamma_quantile(shape, chance)
        assert quantile == pytest.approx(scipy.gammaincinv(shape, chance), rel=1e-8, abs=0)
        assert gamma_cdf(shape, quantile) == pytest.approx(chance, rel=1e-6, abs=0)


def test_at_the_ends() -> None:
    """What cannot happen, and what must."""
    assert (beta_quantile(2, 3, 0), beta_quantile(2, 3, 1)) == (0, 1)
    assert (beta_cdf(2, 3, 0), beta_cdf(2, 3, 1)) == (0, 1)
    assert (gamma_quantile(2, 0), gamma_quantile(2, 1), gamma_cdf(2, 0)) == (0, float("inf"), 0)
    assert gamma_quantile(0.01, 1e-9) == 0  # below the smallest float
