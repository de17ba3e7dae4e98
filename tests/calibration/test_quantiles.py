"""Fullrecall's own quantiles and tail probabilities agree with SciPy's, a test dependency."""

from __future__ import annotations

from itertools import product

import pytest
from scipy import special as scipy

from fullrecall.calibration.estimation import t_quantile
from fullrecall.stats.gamma_sum import t_tails

WITHIN = 1e-12


def test_t() -> None:
    """Student's t agrees with SciPy for whole and fractional degrees of freedom."""
    sizes = (1, 1.3, 2, 2.7, 3, 4, 5, 7.5, 9, 10, 15, 29, 30.5, 50, 99, 500, 1e3, 9999, 1e4, 1e6)
    for df, confidence in product(sizes, (0.5, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9999)):
        expected = scipy.stdtrit(df, 1 - (1 - confidence) / 2)
        assert t_quantile(df, confidence) == pytest.approx(expected, rel=WITHIN, abs=0)
        assert t_tails(df, expected) == pytest.approx(1 - confidence, rel=1e-9, abs=0)
