"""Calibration's variances and Holm's method equal those of SciPy and statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

from fullrecall.stats.bounds import holm

VALUES = [1.0, 0.5, 1.0, 0.0, 1.0, 2 / 3, 1.0, 0.25, 1.0, 1.0, 0.5, 0.75, 1.0, 1 / 3, 1.0]
GROUPS = [name for name in "abcde" for _ in range(3)]


def clustered(values: list[float], groups: list[str]) -> Any:
    """Return statsmodels' regression on a constant, with cluster-robust errors."""
    import statsmodels.api as sm

    codes = np.unique(groups, return_inverse=True)[1]
    model = sm.OLS(values, np.ones(len(values)))
    return model.fit(cov_type="cluster", cov_kwds={"groups": codes, "use_correction": True})


def test_unequal_groups_follow_the_formula_of_bell_and_mccaffrey() -> None:
    """CR2 and its degrees of freedom are those of the general matrix formulas."""
    from fullrecall.calibration.estimation import spread_of

    groups = list("aaaaabbbcccccdd")
    n, ones = len(groups), np.ones((len(groups), 1))
    hat = np.full((n, n), 1 / n)
    residuals = np.array(VALUES) - np.mean(VALUES)
    columns, meat = [], 0.0
    for name in sorted(set(groups)):
        inside = [at for at, group in enumerate(groups) if group == name]
        values, vectors = np.linalg.eigh(np.eye(len(inside)) - hat[np.ix_(inside, inside)])
        adjusted = vectors @ np.diag(values**-0.5) @ vectors.T @ ones[inside]
        meat += (adjusted.T @ residuals[inside]).item() ** 2
        columns.append((np.eye(n) - hat)[:, inside] @ adjusted)
    gram = np.hstack(columns).T @ np.hstack(columns)
    spread = spread_of(VALUES, groups)
    assert spread is not None
    assert spread.variance == pytest.approx(meat / n**2, rel=1e-12)
    assert spread.df == pytest.approx(np.trace(gram) ** 2 / (gram**2).sum(), rel=1e-12)


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["alone", "in groups"])
def test_mean_is_statsmodels_wilson_at_the_effective_size(groups: list[str] | None) -> None:
    """The interval of a mean is Wilson's of statsmodels, at the effective number of samples."""
    from statsmodels.stats.proportion import proportion_confint

    from fullrecall.calibration.estimation import mean_interval, spread_of

    mean, count = float(np.mean(VALUES)), len(VALUES)
    if groups is None:
        variance, df = float(scipy.stats.sem(VALUES)) ** 2, count - 1
    else:
        variance, df = clustered(VALUES, groups).cov_params()[0, 0], 4
    # Korn and Graubard correct the sample size by Student's quantile instead of the normal one.
    ratio = scipy.stats.norm.ppf(0.975) / scipy.stats.t.ppf(0.975, df)
    size = mean * (1 - mean) / variance * ratio**2
    expected = proportion_confint(mean * size, size, method="wilson")
    interval = mean_interval(spread_of(VALUES, groups))
    assert interval is not None
    assert interval[:2] == pytest.approx(expected, rel=1e-12)


def test_without_a_failure_the_bound_is_clopper_and_pearsons() -> None:
    """Thirty values of 1.0 do not prove certainty: the interval is the exact binomial one."""
    from fullrecall.calibration.estimation import mean_interval, spread_of

    interval = mean_interval(spread_of([1.0] * 30))
    exact = scipy.stats.binomtest(30, 30).proportion_ci(0.95, method="exact")
    assert interval is not None
    assert interval[:2] == pytest.approx((exact.low, exact.high), rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.25, 0.5, 1.0])
def test_equal_values_have_an_interval_of_some_width(value: float) -> None:
    """For equal values the interval has some width, lies in [0, 1] and contains the value."""
    from fullrecall.calibration.estimation import mean_interval, spread_of

    interval = mean_interval(spread_of([value] * 20))
    assert interval is not None
    assert 0.0 <= interval.low <= value <= interval.high <= 1.0
    assert interval.high - interval.low == pytest.approx(1 - 0.025 ** (1 / 20), rel=1e-12)


def test_one_group_tells_nothing_of_the_others() -> None:
    """One sample, or samples of one group, give no interval."""
    from fullrecall.calibration.estimation import mean_interval, spread_of

    assert mean_interval(spread_of([0.5])) is None
    assert mean_interval(spread_of([0.5, 1.0, 0.0], ["a", "a", "a"])) is None


def test_groups_of_one_are_no_groups() -> None:
    """Groups of one sample each give the same variance as no groups."""
    from fullrecall.calibration.estimation import spread_of

    alone, named = spread_of(VALUES), spread_of(VALUES, [str(n) for n in range(len(VALUES))])
    assert alone is not None
    assert named is not None
    assert named.groups == alone.groups == len(VALUES)
    assert named == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(
    "p_values", [[0.01, 0.04, 0.03, 0.5], [0.04], [0.5, 0.5, 0.6], [0.001, 0.001], []]
)
def test_holm_is_statsmodels(p_values: list[float]) -> None:
    """Holm's adjusted p-values are those of statsmodels."""
    from statsmodels.stats.multitest import multipletests

    expected = multipletests(p_values, method="holm")[1].tolist() if p_values else []
    assert holm(p_values) == pytest.approx(expected, rel=1e-12)
