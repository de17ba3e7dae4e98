"""Gaffke's test has right numbers, errors within its level for all laws tried, and power."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from math import comb, exp, log, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammainc, gammaincc
from scipy.stats import beta, binom, gamma

from fullrecall.errors import ParameterError
from fullrecall.stats import gamma_sum
from fullrecall.stats.bounds import (
    MOST_GROUPS,
    MOST_VALUES,
    Counts,
    bracketed,
    groups_needed,
    lower_bound,
    mean_above,
    mean_below,
    root,
    upper_bound,
)


def interval(counts: Counts, confidence: float = 0.95, least: float = 0.0) -> tuple[float, float]:
    """Return both bounds, each at half of 1 - `confidence`."""
    alpha = (1 - confidence) / 2
    return lower_bound(counts, alpha, least=least), upper_bound(counts, alpha)


def _script(name: str) -> Any:
    path = Path(__file__).parents[2] / "bench" / f"{name}.py"
    spec = spec_from_file_location(f"bench_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


power = _script("power")

SCORES = st.floats(0, 1) | st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 0.9, 1.0])
MEANS = st.floats(0.001, 0.999)


def counted(counts: dict[float, float]) -> Counts:
    """Return the counts of a mapping from value to count."""
    return Counts.of([*counts], [*counts.values()])


def hits(found: int, n: int) -> Counts:
    """Return the counts of `n` 0/1 scores with `found` ones."""
    return counted({score: n for score, n in ((0.0, n - found), (1.0, found)) if n})


class TestNumbers:
    """K and the bounds equal closed forms."""

    @pytest.mark.parametrize("values", [[0.5, 1.0], [0.2] * 3 + [0.9], [1.0] * 200, [0.25]])
    def test_beside_one_exponential_k_is_a_product(
        self, values: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where one side has one variable, K has all its digits without an integral."""
        monkeypatch.delattr(gamma_sum, "_integral")
        for mean in (1e-9, 0.01, 0.1999):  # all values are above, so only E_0 is on the other side
            expected = prod(mean / value for value in values)
            assert mean_above(Counts.of(values), mean) == pytest.approx(expected, rel=1e-13)
        mirrored = [1 - value for value in values]
        for mean in (0.8001, 0.99, 1 - 2**-30):
            expected = prod((1 - mean) / value for value in values)
            assert mean_below(Counts.of(mirrored), mean) == pytest.approx(expected, rel=1e-13)

    @pytest.mark.parametrize("mean", [0.3, 0.5, 0.9, 0.999_999])
    def test_with_one_value_above_the_mean_k_is_a_product(
        self, mean: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """K is 1 less the probability that this value alone outweighs all others."""
        monkeypatch.delattr(gamma_sum, "_integral")
        below = [0.0, 0.1, 0.1, 0.25]
        losses = [mean - value for value in below] + [mean]
        expected = 1 - prod(1 / (1 + loss / (1 - mean)) for loss in losses)
        assert mean_above(Counts.of([*below, 1.0]), mean) == pytest.approx(expected, rel=1e-13)

    @pytest.mark.parametrize("n", [1, 7, 1_000, 100_000])
    @pytest.mark.parametrize("mean", [0.01, 0.5, 0.99])
    def test_of_hits_k_is_the_binomial_tail(self, n: int, mean: float) -> None:
        """For hits, K is P(X >= found) to 1e-9, even where that is tiny."""
        for found in {0, 1, n // 3, n // 2, int(0.9 * n), int(0.98 * n), n - 1, n} - {-1}:
            expected = binom.sf(found - 1, n, mean)
            assert mean_above(hits(found, n), mean) == pytest.approx(expected, rel=1e-9, abs=1e-290)
            expected = binom.cdf(found, n, mean)
            assert mean_below(hits(found, n), mean) == pytest.approx(expected, rel=1e-9, abs=1e-290)

    @pytest.mark.parametrize("n", [1, 58, 100_000])
    @pytest.mark.parametrize("score", [1.0, 1 / 3])
    @pytest.mark.parametrize("ratio", [1 - 1e-12, 1 - 1e-5, 0.9, 0.001])
    def test_of_equal_scores_k_is_a_power(self, n: int, score: float, ratio: float) -> None:
        """For equal scores c, K is (m / c)^n, at the slowest and fastest decay of the integrand."""
        mean = score * ratio
        expected = exp(n * log(mean / score)) if n * log(mean / score) > -700 else 0
        found = mean_above(counted({score: n}), mean)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-290)

    @pytest.mark.parametrize(
        ("found", "n"), [(1, 1), (4, 5), (27, 30), (3, 1_000), (97_123, 100_000)]
    )
    def test_of_hits_the_bounds_are_clopper_and_pearsons(self, found: int, n: int) -> None:
        """For hits, the bounds are quantiles of the beta distribution, one- and two-sided."""
        low = beta.ppf(0.05, found, n - found + 1)
        high = beta.ppf(0.95, found + 1, n - found) if found < n else 1.0
        assert lower_bound(hits(found, n), 0.05) == pytest.approx(low, rel=1e-10)
        assert upper_bound(hits(found, n), 0.05) == pytest.approx(high, rel=1e-10)
        assert interval(hits(found, n), 0.9) == pytest.approx((low, high), rel=1e-10)

    @given(
        st.lists(SCORES, min_size=1, max_size=30), st.sampled_from([0.001, 0.025, 0.05, 0.4, 0.9])
    )
    @settings(max_examples=20, deadline=None)
    def test_a_bound_is_where_k_is_alpha(self, scores: list[float], alpha: float) -> None:
        """K is below alpha just below the lower bound, and above alpha just above it."""
        counts = Counts.of(scores)
        low = lower_bound(counts, alpha)
        assert 0 <= low <= max(scores)
        assert low < 1e-9 or mean_above(counts, low - 1e-9) <= alpha
        assert mean_above(counts, low + 1e-9) >= alpha
        high = upper_bound(counts, alpha)
        assert min(scores) <= high <= 1
        assert high > 1 - 1e-9 or mean_below(counts, high + 1e-9) <= alpha
        assert mean_below(counts, high - 1e-9) >= alpha

    @given(st.lists(st.tuples(SCORES, st.floats(1e-6, 1e5)), min_size=1, max_size=8), st.data())
    @settings(max_examples=40, deadline=None)
    def test_k_is_never_nan_and_does_not_depend_on_the_trapezoids(
        self, rows: list[tuple[float, float]], data: st.DataObject
    ) -> None:
        """K is a probability for any values, and does not depend on the step width."""
        counts = counted(dict(rows))
        near = st.floats(-1e-3, 1e-3).map(lambda off: min(1.0, max(0.0, counts.mean + off)))
        mean = data.draw(st.floats(0, 1) | near | st.sampled_from([0.0, 1.0, counts.mean]))
        for test in (mean_above, mean_below):
            with pytest.MonkeyPatch.context() as patch:
                coarse = test(counts, mean)
                patch.setattr(gamma_sum, "_STEP", gamma_sum._STEP / 2)
                fine = test(counts, mean)
            assert 0 <= coarse <= 1
            assert coarse == pytest.approx(fine, rel=1e-9, abs=1e-290)

    @pytest.mark.parametrize(
        ("low", "losses", "high", "n", "mean"),
        [
            (0.5, 2, 0.9, 271, 0.8999939280281475),
            (0.0, 3, 0.5, 222, 0.4997112756329708),
            (0.5, 3, 0.9, 124, 0.8986839851412532),
            (0.5, 2, 0.9, 263, 0.8),
        ],
    )
    def test_where_the_curved_path_does_not_serve(
        self, low: float, losses: int, high: float, n: int, mean: float
    ) -> None:
        """K is right for a few losses and many scores just above the mean, by a straight path.

        The integrand grows on the curved path. The straight path agrees with an integral over the
        gamma variable of the many scores; the losses and E_0 have closed forms. The last case works
        on the curve.
        """
        lost, won, top = mean - low, high - mean, 1 - mean

        def given_wins(g: float) -> float:
            start, rate = won * g / lost, 1 + lost / top
            beyond = exp(won * g / top - losses * log(rate)) * gammaincc(losses, rate * start)
            return float((gammainc(losses, start) + beyond) * gamma.pdf(g, n))

        spread = 12 * n**0.5
        expected, _ = quad(given_wins, max(0, n - spread), n + spread, epsabs=0, epsrel=1e-11)
        found = mean_below(counted({low: losses, high: n}), mean)
        assert found == pytest.approx(expected, rel=1e-9)

    def test_nearly_equal_scores(self) -> None:
        """Scores that differ by rounding count as one score, and close ones nearly so."""
        together = mean_above(counted({0.9: 100}), 0.88)
        apart = counted({0.9: 50, 0.9 + 1e-12: 25, 0.9 - 1e-12: 25})
        assert mean_above(apart, 0.88) == pytest.approx(together, rel=1e-8)
        assert mean_above(counted({0.1 + 0.2: 50, 0.3: 50}), 0.3) == pytest.approx(1, rel=1e-9)

    @pytest.mark.parametrize("least", [0.0, -1.0])
    def test_edges(self, least: float) -> None:
        """Bounds hold without values, and for a mean at an end of the range or beyond it."""
        none = Counts.of([])
        assert mean_above(none, 0.5, least=least) == 1
        assert mean_below(none, 0.5) == 1
        assert interval(none, least=least) == (least, 1)
        one = Counts.of([1.0])
        assert mean_above(one, 1.0, least=least) == 1
        assert mean_above(one, least, least=least) == 0
        assert mean_above(one, least - 0.1, least=least) == 0
        assert mean_above(Counts.of([least]), least, least=least) == 1
        assert interval(Counts.of([least] * 3), least=least)[0] == least
        assert interval(Counts.of([1.0] * 3), least=least)[1] == 1


class TestErrors:
    """P(K <= alpha) <= alpha for any law."""

    @pytest.mark.long
    @pytest.mark.parametrize("case", power.CASES, ids=lambda case: case.title)
    def test_false_pass_and_false_fail_stay_within_5_percent(self, case: Any) -> None:
        """False PASS and false FAIL of K stay within 5%, where the usual bounds exceed 5%."""
        assert max(case.errors(power.decisions)) <= 0.05
        assert max(case.errors(power.usual_decisions)) > 0.05

    def test_the_border_that_the_enumeration_walks_is_the_one_there_is(self) -> None:
        """Enumerating only the border of the decision gives the same as testing every count."""
        rows = power.all_counts(20, 3)
        values = (0.0, 0.9, 1.0)
        passed, failed = power.decisions(power.SCORES, values, 20, 0.9)
        for row, passes, fails in zip(rows.tolist(), passed, failed, strict=True):
            counts = power._counts(values, row)
            assert passes == (mean_above(counts, 0.9) <= 0.05)
            assert fails == (mean_below(counts, 0.9) <= 0.05)

    def test_random_laws_at_every_level(self) -> None:
        """K is a p-value at every alpha, for 15 random laws on three or four points."""
        rng = np.random.default_rng(5)
        worst = 0.0
        for _ in range(15):
            points = rng.integers(3, 5)
            n = int(rng.integers(2, 13 if points == 3 else 7))
            values, law = np.sort(rng.random(points)), rng.dirichlet(np.full(points, 0.5))
            values[0] *= rng.integers(2)
            mean = float(values @ law)
            found = []
            for row in product(range(n + 1), repeat=int(points) - 1):
                if (rest := n - sum(row)) < 0:
                    continue
                row = (*row, rest)  # noqa: PLW2901
                ways = prod(comb(sum(row[: at + 1]), count) for at, count in enumerate(row))
                chance = ways * float(np.prod(law ** np.array(row)))
                found.append((mean_above(power._counts(values.tolist(), row), mean), chance))
            worst = max(worst, *_excess(found))
        assert 0.8 < worst <= 1 + 1e-9

    def test_unlike_laws(self) -> None:
        """K is a p-value for six values of six different laws with the same mean.

        Enumerated: the 64 outcomes of each of 8 sets of two-point laws.
        """
        rng = np.random.default_rng(6)
        worst = 0.0
        for _ in range(8):
            mean = float(rng.uniform(0.2, 0.95))
            low, high = rng.uniform(0, mean, 6), rng.uniform(mean, 1, 6)
            share = (mean - low) / (high - low)
            found = []
            for ups in product((0, 1), repeat=6):
                up = np.array(ups)
                chance = float(np.prod(np.where(up, share, 1 - share)))
                found.append(
                    (mean_above(Counts.of(np.where(up, high, low).tolist()), mean), chance)
                )
            worst = max(worst, *_excess(found))
        assert 0.5 < worst <= 1 + 1e-9

    @given(st.lists(SCORES, min_size=1, max_size=20), MEANS, st.data())
    @settings(max_examples=40, deadline=None)
    def test_raising_a_score_never_raises_k(
        self, scores: list[float], mean: float, data: st.DataObject
    ) -> None:
        """Raising a score never raises K, and never lowers the lower bound."""
        place = data.draw(st.integers(0, len(scores) - 1))
        raised = [*scores]
        raised[place] = data.draw(st.floats(scores[place], 1))
        before, after = mean_above(Counts.of(scores), mean), mean_above(Counts.of(raised), mean)
        assert after <= before * (1 + 1e-9)
        assert mean_below(Counts.of(raised), mean) >= mean_below(Counts.of(scores), mean) * (
            1 - 1e-9
        )


def _excess(found: list[tuple[float, float]]) -> list[float]:
    """Return P(K <= alpha) / alpha at each alpha that K takes."""
    ratios, total = [], 0.0
    ordered = sorted(found)
    for at, (k, chance) in enumerate(ordered):
        total += chance
        if k > 0 and (at + 1 == len(ordered) or ordered[at + 1][0] > k * (1 + 1e-9)):
            ratios.append(total / k)
    return ratios


class TestPower:
    """The test decides with a feasible number of samples."""

    @pytest.mark.parametrize(
        ("counts", "threshold", "least"),
        [
            (hits(19, 20), 0.9, 0.0),
            (hits(19, 20), 0.99, 0.0),
            (Counts.of([0.0, 0.5, 0.9, 1.0, 1.0, 1.0]), 0.6, 0.0),
            (counted({0.0: 50, -1.0: 1, 0.5: 3}), -0.1, -1.0),
            (counted({-0.5: 3, 0.0: 10}), -0.05, -1.0),
        ],
    )
    def test_needed_is_the_smallest_number_that_decides(
        self, counts: Counts, threshold: float, least: float
    ) -> None:
        """`needed` samples in the same proportions decide, and one fewer does not."""
        needed = groups_needed(counts, threshold, 0.05, least=least)
        assert needed is not None

        def p(n: int) -> float:
            more = counts.scaled(n / counts.size)
            return min(mean_above(more, threshold, least=least), mean_below(more, threshold))

        assert p(needed) <= 0.05 < p(needed - 1)

    def test_one_is_the_least(self) -> None:
        """`needed` is at least 1, even if no mean is below the smallest possible value."""
        assert groups_needed(hits(1, 2), 0.0, 0.05) == 1
        assert groups_needed(hits(1, 1), 0.5, 0.25) == 2  # K of two hits is exactly 0.25

    def test_no_number_is_enough_at_the_threshold_itself(self) -> None:
        """`needed` is None if ten million samples do not decide, and without values."""
        assert groups_needed(hits(9, 10), 0.9, 0.05) is None
        assert groups_needed(hits(10, 10), 1.0, 0.05) is None
        assert groups_needed(Counts.of([]), 0.5, 0.05) is None
        assert groups_needed(hits(500_000, 1_000_000), 0.5 + 1e-5, 0.05) is None
        close = groups_needed(hits(1, 2), 0.4995, 0.05)
        assert close is not None
        assert 2_000_000 < close < MOST_GROUPS


class TestCounts:
    """Counts of values are plain frozen data."""

    def test_order_and_form_do_not_matter(self) -> None:
        """Counts are equal, with equal hashes, from a list in any order and from a mapping."""
        one, other = Counts.of([1, 0.5, 1.0, 0.0]), counted({1.0: 2, 0.0: 1, 0.5: 1})
        assert one == other
        assert hash(one) == hash(other)
        assert (one.values, one.counts) == ((0.0, 0.5, 1.0), (1, 1, 2))
        assert (one.size, one.mean) == (4, 0.625)
        assert one.mirrored.values == (-1.0, -0.5, 0.0)
        assert one.mirrored.mirrored == one

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: mean_above(Counts.of([-0.1]), 0.5),
            lambda: mean_below(Counts.of([1.1]), 0.5),
            lambda: lower_bound(Counts.of([-1.5]), 0.05, least=-1),
            lambda: upper_bound(Counts.of([1.5]), 0.05),
            lambda: groups_needed(Counts.of([-0.5]), 0.9, 0.05),
        ],
    )
    def test_wrong_values_are_refused(self, wrong: Any) -> None:
        """Values out of range are errors."""
        with pytest.raises(ParameterError, match="must be"):
            wrong()


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ([0.0, 1.0], ()),
        ([0.5, 1.1], ("upper", "below", "needed")),
        ([-0.1, 0.5], ("lower", "needed")),
        ([-0.1, 1.1], ("lower", "upper", "below", "needed")),
    ],
)
def test_values_out_of_their_range_are_refused(values: list[float], refused: Any) -> None:
    """A bound would be wrong for values beyond the least or the most."""
    bounds = {
        "lower": lambda counts: lower_bound(counts, 0.05),
        "upper": lambda counts: upper_bound(counts, 0.05),
        "below": lambda counts: mean_below(counts, 0.5),
        "needed": lambda counts: groups_needed(counts, 0.5, 0.05),
    }
    for name, bound in bounds.items():
        if name in refused:
            with pytest.raises(ParameterError, match=r"must be from .* got (-0\.1|1\.1)"):
                bound(Counts.of(values))
        else:
            bound(Counts.of(values))


def test_a_root_takes_few_steps() -> None:
    """The search ends when its digits suffice; each step of a bound computes an integral."""
    points: list[float] = []

    def function(x: float) -> float:
        points.append(x)
        return x * x - 0.5  # no float is the root of this

    assert root(function, 0.0, 1.0, 0.5, (0.0, -0.5)) == pytest.approx(0.5**0.5, abs=1e-14)
    assert len(points) < 20


def test_few_values_are_counted_as_they_are() -> None:
    """Up to the most distinct values, both brackets are the values; one more is rounded."""
    values = np.linspace(0, 1, MOST_VALUES) ** 2
    low, high, least = bracketed(values, None, least=0.0)
    assert low == high == Counts.of(values)
    assert least == 0.0
    low, high, _ = bracketed(np.append(values, 0.123456789), None, least=0.0)
    assert low != high


@pytest.mark.parametrize(
    ("mean", "least", "p"), [(-0.1, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 1.0), (-1.1, -1.0, 0.0)]
)
def test_means_at_and_below_the_least(mean: float, least: float, p: float) -> None:
    """No distribution of values from the least up has a mean below it."""
    assert mean_above(Counts.of([0.5, 0.75]), mean, least=least) == p
