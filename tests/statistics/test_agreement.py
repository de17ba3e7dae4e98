"""Our statistics on cases that SciPy, statsmodels and ranx compute too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from fullrecall import ParameterError
from fullrecall.report.statistics import (
    Spread,
    decision_bounds,
    difference_interval,
    holm,
    mean_interval,
    sign_flip,
    unseen,
)
from fullrecall.report.totals import spread_of

VALUES = [1.0, 0.5, 1.0, 0.0, 1.0, 2 / 3, 1.0, 0.25, 1.0, 1.0, 0.5, 0.75, 1.0, 1 / 3, 1.0]
GROUPS = [name for name in "abcde" for _ in range(3)]
CHANGES = [0.5, 0.0, -0.25, 1.0, 0.5, 0.0, 0.25, -0.5, 0.75, 0.0, 1 / 3, 0.0, -1 / 3, 0.5, 0.25]


def clustered(values: list[float], groups: list[str]) -> Any:
    """Return statsmodels' regression on a constant, with cluster-robust errors."""
    codes = np.unique(groups, return_inverse=True)[1]
    model = sm.OLS(values, np.ones(len(values)))
    return model.fit(cov_type="cluster", cov_kwds={"groups": codes, "use_correction": True})


def test_difference_is_scipys_t_interval() -> None:
    """Without groups the interval of a difference is Student's."""
    interval = difference_interval(spread_of(CHANGES))
    expected = scipy.stats.ttest_1samp(CHANGES, 0.0).confidence_interval(0.95)
    assert interval is not None
    assert interval[:2] == pytest.approx(tuple(expected), rel=1e-12)


def test_difference_in_groups_is_statsmodels_cluster_robust() -> None:
    """In groups of one size the variance is that of statsmodels, and so is the interval."""
    spread = spread_of(CHANGES, GROUPS)
    fitted = clustered(CHANGES, GROUPS)
    assert spread is not None
    assert spread.variance == pytest.approx(fitted.cov_params()[0, 0], rel=1e-12)
    assert spread.df == pytest.approx(4, rel=1e-12)
    expected = scipy.stats.t.interval(0.9, 4, fitted.params[0], fitted.bse[0])
    interval = difference_interval(spread, 0.9)
    assert interval is not None
    assert interval[:2] == pytest.approx(expected, rel=1e-12)


def test_unequal_groups_follow_the_formula_of_bell_and_mccaffrey() -> None:
    """CR2 and its degrees of freedom are those of the general matrix formulas."""
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
    mean, count = float(np.mean(VALUES)), len(VALUES)
    if groups is None:
        variance, df = float(scipy.stats.sem(VALUES)) ** 2, count - 1
    else:
        variance, df = clustered(VALUES, groups).cov_params()[0, 0], 4
    # Student's quantile in place of the normal one, as Korn and Graubard correct the size.
    ratio = scipy.stats.norm.ppf(0.975) / scipy.stats.t.ppf(0.975, df)
    size = mean * (1 - mean) / variance * ratio**2
    expected = proportion_confint(mean * size, size, method="wilson")
    interval = mean_interval(spread_of(VALUES, groups))
    assert interval is not None
    assert interval[:2] == pytest.approx(expected, rel=1e-12)


def test_without_a_failure_the_bound_is_clopper_and_pearsons() -> None:
    """Thirty times 1.0 is no certainty: the interval is the exact one of a share."""
    interval = mean_interval(spread_of([1.0] * 30))
    exact = scipy.stats.binomtest(30, 30).proportion_ci(0.95, method="exact")
    assert interval is not None
    assert interval[:2] == pytest.approx((exact.low, exact.high), rel=1e-12)
    assert unseen(30, 0.95, tails=1) == pytest.approx(3 / 30, abs=0.01)


@pytest.mark.parametrize("value", [0.0, 0.25, 0.5, 1.0])
def test_equal_values_have_an_interval_of_some_width(value: float) -> None:
    """Where all values are equal the interval is not a point, lies in [0, 1] and has the value."""
    interval = mean_interval(spread_of([value] * 20))
    assert interval is not None
    assert 0.0 <= interval.low <= value <= interval.high <= 1.0
    assert interval.high - interval.low == pytest.approx(unseen(20, 0.95), rel=1e-12)


@pytest.mark.parametrize("of", [mean_interval, difference_interval, decision_bounds])
def test_one_group_tells_nothing_of_the_others(of: Any) -> None:
    """One sample, or samples of one group: no interval. No sample: none either."""
    assert of(spread_of([0.5])) is None
    assert of(spread_of([0.5, 1.0, 0.0], ["a", "a", "a"])) is None
    assert of(spread_of([])) is None


def test_groups_of_one_are_no_groups() -> None:
    """A group that one sample has is the same as none."""
    alone, named = spread_of(VALUES), spread_of(VALUES, [str(n) for n in range(len(VALUES))])
    assert alone is not None
    assert named is not None
    assert named.groups == alone.groups == len(VALUES)
    assert named == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, "0.95", True])
def test_a_confidence_out_of_range(confidence: Any) -> None:
    """95 for 0.95 is named."""
    with pytest.raises(ParameterError, match="confidence is a number between 0 and 1"):
        mean_interval(Spread(0.5, 0.01, 10, 11), confidence)


def test_exact_p_is_scipys() -> None:
    """Few pairs: every sign pattern is counted, as scipy.stats.permutation_test does."""
    changed = [change for change in CHANGES if change]
    expected = scipy.stats.permutation_test(
        (np.array(changed),), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    (p,) = sign_flip([[change] for change in CHANGES], [None] * len(CHANGES))
    assert p == pytest.approx(expected, rel=1e-12)


def test_drawn_p_is_scipys_within_the_error_of_drawing() -> None:
    """Many pairs: drawn patterns, by another generator than SciPy's."""
    rng = np.random.default_rng(8)
    changes = rng.choice([-0.5, 0, 0.5, 1], size=200, p=[0.2, 0.5, 0.2, 0.1])
    expected = scipy.stats.permutation_test(
        (changes,), np.mean, permutation_type="samples", n_resamples=20_000, rng=rng
    ).pvalue
    (p,) = sign_flip(changes[:, None].tolist(), [None] * 200, resamples=20_000)
    assert p == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 20_000) ** 0.5)


def test_groups_flip_together() -> None:
    """Five groups have 32 patterns, however many pairs they hold."""
    sums = [sum(CHANGES[n : n + 3]) for n in range(0, 15, 3)]
    (p,) = sign_flip([[change] for change in CHANGES], GROUPS)
    (of_sums,) = sign_flip([[total] for total in sums], [None] * 5)
    assert p == of_sums
    assert p * 32 == round(p * 32)


def test_p_of_ranx() -> None:
    """The Fisher randomisation test of ranx gives the same within the error of drawing.

    Recorded with ranx 0.3.21: `ranx.statistical_tests.fisher_randomization_test(before, after,
    n_permutations=200_000, max_p=0.01, random_seed=42)` on the scores below gave (0.35869, False).
    """
    rng = np.random.default_rng(11)
    before = rng.choice([0.0, 0.5, 1.0], size=60, p=[0.2, 0.3, 0.5])
    after = np.clip(before + rng.choice([-0.5, 0.0, 0.5], size=60, p=[0.1, 0.6, 0.3]), 0, 1)
    (p,) = sign_flip((after - before)[:, None].tolist(), [None] * 60, resamples=200_000)
    assert p == pytest.approx(0.35869, abs=4 * (0.35869 * (1 - 0.35869) / 100_000) ** 0.5)


@pytest.mark.parametrize("changes", [[], [0.0, 0.0, 0.0], [1.0], [1.0] * 8])
def test_p_is_never_0(changes: list[float]) -> None:
    """The observed pattern counts: no p-value is 0, and no change at all gives 1."""
    p_values = sign_flip([[change] for change in changes], [None] * len(changes))
    changed = sum(change != 0 for change in changes)
    assert p_values == ([min(1.0, 2 * 0.5**changed)] if changes else [])


def test_drawn_p_is_never_0() -> None:
    """The smallest p-value of 99 patterns drawn is 1/100."""
    assert sign_flip([[1.0]] * 100, [None] * 100, resamples=99) == [0.01]


def test_a_seed_gives_the_same_patterns() -> None:
    """The same seed gives the same p-value, another one another."""
    rows = np.random.default_rng(9).choice([-1.0, 0.0, 1.0], size=(80, 1)).tolist()
    first, again = (sign_flip(rows, [None] * 80, seed=1) for _ in range(2))
    assert first == again
    assert first != sign_flip(rows, [None] * 80, seed=2)


@pytest.mark.parametrize(
    "p_values", [[0.01, 0.04, 0.03, 0.5], [0.04], [0.5, 0.5, 0.6], [0.001, 0.001], []]
)
def test_holm_is_statsmodels(p_values: list[float]) -> None:
    """Holm's adjusted p-values are those of statsmodels."""
    expected = multipletests(p_values, method="holm")[1].tolist() if p_values else []
    assert holm(p_values) == pytest.approx(expected, rel=1e-12)
