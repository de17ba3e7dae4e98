"""Simulations: corrected means cover the truth where the judged mean is wrong; known formulas.

The worlds have claims that are alike within a sample, and samples that are alike within a group.
With 300 repetitions a true 95% comes out between 92.5% and 97.5% in 19 of 20 simulations (the
binomial error is 1.09%), so the bounds below are 93% and 97%; the seeds are fixed. Where an
interval is known to be wider than it need be, its test says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from fullrecall import Label, Sample
from fullrecall.calibration.calibration import design_of
from fullrecall.calibration.estimation import (
    CalibrationEstimate,
    Design,
    agreement,
    mean_interval,
    prediction_powered,
    spread_of,
)
from fullrecall.calibration.judged import JudgedClaim, JudgedClaims, draw
from fullrecall.measures.findings import Finding, Target
from fullrecall.report import Row
from fullrecall.scorers.result import Method

METHOD = Method("claim_recall", parameters={"judge": "a judge"})
FINDING = Finding(Target(("a claim",)), verdict="supported")


class World(NamedTuple):
    """Judged claims, and the label that people would give each."""

    judged: JudgedClaims
    truth: list[float]


class Kind(NamedTuple):
    """The parameters of a drawn world: its mean recall is `mean`."""

    samples: int = 150
    mean: float = 0.7
    sensitivity: float = 0.95
    specificity: float = 0.6
    group: int = 1
    alike: float = 0.4
    """Correlation of the claims of a group, which are those of a sample where it has one."""


@cache
def unjudged(kind: Kind) -> tuple[list[Row], list[JudgedClaim], list[int]]:
    """Return samples of one to six claims, and the group of each claim."""
    rows: list[Row] = []
    claims: list[JudgedClaim] = []
    groups: list[int] = []
    for at in range(kind.samples):
        group = at // kind.group
        name = f"g{group}" if kind.group > 1 else None
        rows.append(Row(at + 1, Sample(user_input="?", group=name), ()))
        count = 1 + at * 5 % 6
        groups += [group] * count
        claims += [
            JudgedClaim(
                f"c{at}-{n}", at, "", f"claim {n}", 1 / count, 0.0, FINDING, needs_no_label=False
            )
            for n in range(count)
        ]
    return rows, claims, groups


def world(kind: Kind, rng: Any) -> World:
    """Return claims that are alike within a group, and verdicts with the given error rates."""
    rows, claims, groups = unjudged(kind)
    scale = 1 / kind.alike - 1
    shares = rng.beta(kind.mean * scale, (1 - kind.mean) * scale, kind.samples // kind.group)
    supported = rng.random(len(claims)) < shares[groups]
    right = np.where(supported, kind.sensitivity, kind.specificity)
    found = np.where((rng.random(len(claims)) < right) == supported, 1.0, 0.0).tolist()
    judged = [claim._replace(credit=credit) for claim, credit in zip(claims, found, strict=True)]
    return World(
        JudgedClaims(METHOD, rows, [at // kind.group for at in range(len(rows))], (), judged, 0, 0),
        supported.astype(float).tolist(),
    )


def design(of: World, items: Sequence[str], chances: Sequence[float] | None) -> Design:
    """Return the design in which these claims are labeled by the truth."""
    truth = {claim.item: value for claim, value in zip(of.judged.claims, of.truth, strict=True)}
    labels = {
        item: [
            Label(
                "",
                "",
                "supported" if truth[item] else "not_supported",
                None if chances is None else chances[at],
                item,
            )
        ]
        for at, item in enumerate(items)
    }
    return design_of(of.judged, labels, 0.0)


def drawn(of: World, n: int, seed: int) -> Design:
    """Return the design of `Report.to_label`."""
    chosen = draw(of.judged, n, seed=seed)
    return design(of, [claim.item for claim, _ in chosen], [chance for _, chance in chosen])


def simple(of: World, n: int, rng: Any) -> Design:
    """Return the design of a simple random sample of the claims."""
    chosen = rng.choice(len(of.truth), n, replace=False)
    return design(of, [of.judged.claims[at].item for at in chosen], None)


class Coverage:
    """How often intervals of one kind cover a truth, and the mean error of their values."""

    def __init__(self, truth: float) -> None:
        self.truth = truth
        self.hits: list[bool] = []
        self.values: list[float] = []

    def add(self, value: float, interval: Any) -> None:
        """Count one interval."""
        self.hits.append(interval.low <= self.truth <= interval.high)
        self.values.append(value)

    def of(self, estimate: CalibrationEstimate | None) -> None:
        """Count one estimate; a draw without an estimate does not count."""
        if estimate is not None:
            self.add(estimate.value, estimate.interval)

    @property
    def share(self) -> float:
        """How often the truth was covered."""
        return float(np.mean(self.hits))

    @property
    def bias(self) -> float:
        """The mean error."""
        return float(np.mean(self.values)) - self.truth


def judged_mean(of: World, coverage: Coverage) -> None:
    """Count the interval of the mean as it was judged."""
    spread = spread_of(of.judged.credits, of.judged.cluster)
    coverage.add(spread.mean, mean_interval(spread))


DRAWN = {
    "60 of 150 in groups of 3": (Kind(group=3, alike=0.3), 60),
    "100 of 100, a judge too strict": (Kind(100, 0.8, 0.8, 0.9), 100),
}


@pytest.mark.long
@pytest.mark.parametrize(("kind", "n"), DRAWN.values(), ids=DRAWN.keys())
def test_intervals_of_a_drawing_cover_the_truth(kind: Kind, n: int) -> None:
    """The corrected interval covers the truth in 93 to 97%, though the judged mean is wrong."""
    powered, judged = Coverage(kind.mean), Coverage(kind.mean)
    for repetition in range(300):
        rng = np.random.default_rng([repetition, n, kind.samples])
        of = world(kind, rng)
        labeled = drawn(of, n, repetition)
        corrected, _ = prediction_powered(labeled, 0.95)
        powered.of(corrected)
        judged_mean(of, judged)
    assert 0.93 <= powered.share <= 0.97
    assert abs(powered.bias) < 0.01
    assert judged.share < 0.6
    assert abs(judged.bias) > 0.03


@pytest.mark.long
def test_intervals_of_a_simple_random_sample_cover_the_truth() -> None:
    """Labels that are a simple random sample, not a draw by verdict, are covered as well."""
    kind = Kind()
    powered, judged = Coverage(kind.mean), Coverage(kind.mean)
    for repetition in range(300):
        rng = np.random.default_rng([repetition, 5])
        of = world(kind, rng)
        labeled = simple(of, 150, rng)
        powered.of(prediction_powered(labeled, 0.95)[0])
        judged_mean(of, judged)
    assert 0.93 <= powered.share <= 0.97
    assert abs(powered.bias) < 0.01
    assert judged.share < 0.3


@pytest.mark.long
def test_intervals_of_the_agreement_cover_the_truth() -> None:
    """Balanced accuracy, drawn by verdict, lies in its interval 93 to 97% of the time."""
    kind = Kind()
    balanced = Coverage((kind.sensitivity + kind.specificity) / 2)
    for repetition in range(300):
        of = world(kind, np.random.default_rng([repetition, 6]))
        labeled = drawn(of, 100, repetition)
        found = agreement(labeled, 0.95)
        balanced.of(found.balanced_accuracy)
    assert 0.93 <= balanced.share <= 0.97


@pytest.mark.long
def test_a_drawing_is_unbiased_and_its_bare_mean_is_not() -> None:
    """Over 800 drawings from one report, corrected means average to that of all labels.

    The tolerance is 3 standard errors of the average over the drawings. Claims have different
    chances, so the unweighted mean of the labels is biased.
    """
    of = world(Kind(40), np.random.default_rng(8))
    everything = design(of, [claim.item for claim in of.judged.claims], None)
    truth = everything.mean(one.label for one in everything.labeled)
    values, bare = [], []
    for seed in range(800):
        labeled = drawn(of, 24, seed)
        values.append(labeled.mean(one.label for one in labeled.labeled))
        bare.append(np.mean([one.label for one in labeled.labeled]))
    error = float(np.std(values)) / sqrt(len(values))
    assert abs(np.mean(values) - truth) < 3 * error
    assert abs(np.mean(bare) - truth) > 6 * error


def test_chances_are_kept() -> None:
    """Each claim is drawn in 1,500 drawings about as often as its stated probability.

    Pareto sampling's chances are off by a little by design; 4 binomial errors hold both.
    """
    of = world(Kind(20), np.random.default_rng(9))
    chances: dict[str, float] = {}
    counts: dict[str, int] = {claim.item: 0 for claim in of.judged.claims}
    for seed in range(1_500):
        for claim, chance in draw(of.judged, 15, seed=seed):
            chances[claim.item] = chance
            counts[claim.item] += 1
    assert sum(chances.values()) == pytest.approx(15)
    for item, count in counts.items():
        chance = chances[item]
        assert abs(count / 1_500 - chance) < 4 * sqrt(chance * (1 - chance) / 1_500) + 1e-9


def one_each(labels: Sequence[int], verdicts: Sequence[int]) -> World:
    """Return a sample of one claim for each verdict."""
    rows = [Row(at + 1, Sample(user_input="?"), ()) for at in range(len(verdicts))]
    claims = [
        JudgedClaim(f"c{at}", at, "", "a claim", 1.0, float(verdict), FINDING, needs_no_label=False)
        for at, verdict in enumerate(verdicts)
    ]
    truth = [float(label) for label in labels]
    return World(JudgedClaims(METHOD, rows, range(len(rows)), (), claims, 0, 0), truth)


def test_rates_are_those_counted_by_hand() -> None:
    """Sensitivity, specificity and balanced accuracy are the shares of the confusion table."""
    labels = [1] * 30 + [0] * 20 + [1] * 10 + [0] * 40
    of = one_each(labels, [1] * 50 + [0] * 50)
    labeled = design(of, [claim.item for claim in of.judged.claims], None)
    rates = agreement(labeled, 0.95)
    assert rates.sensitivity is not None
    assert rates.specificity is not None
    assert rates.balanced_accuracy is not None
    assert rates.sensitivity.value == pytest.approx(30 / 40)
    assert rates.specificity.value == pytest.approx(40 / 60)
    assert rates.balanced_accuracy.value == pytest.approx((30 / 40 + 40 / 60) / 2)
    # The binomial variance, with n - 1 for n and a pseudo-label in each cell.
    assert rates.sensitivity.variance == pytest.approx(0.75 * 0.25 / 40, rel=0.1)


def slow_prediction_powered(labels: Any, judged: Any, unlabeled: Any) -> tuple[float, float]:
    """Return PPI++'s mean and its λ, written out from Angelopoulos, Duchi and Zrnic, 2023."""
    n, more = len(labels), len(unlabeled)
    power = np.cov(labels, judged)[0, 1] / ((1 + n / more) * np.var([*judged, *unlabeled], ddof=1))
    return float(power * np.mean(unlabeled) + np.mean(labels - power * judged)), float(power)


def test_prediction_powered_mean_is_the_published_one() -> None:
    """With one claim a sample and a simple random sample of labels it is PPI++'s closed formula.

    Theirs has the unlabeled apart, ours all samples together: λ is theirs · all / unlabeled.
    The value agrees to a twentieth of its standard error (their λ has the variance of the verdicts
    from all samples, ours leans on the labeled), and the variance with that of two-phase sampling,
    S²(label)/N + (1/n - 1/N) · S²(label - λ · verdict).
    """
    rng = np.random.default_rng(11)
    verdicts = (rng.random(1_000) < 0.6).astype(int)
    labels = np.where(rng.random(1_000) < 0.85, verdicts, 1 - verdicts)
    of = one_each(labels.tolist(), verdicts.tolist())
    chosen = rng.choice(1_000, 200, replace=False)
    others = np.setdiff1d(np.arange(1_000), chosen)
    ours, power = prediction_powered(design(of, [f"c{at}" for at in chosen], None), 0.95)
    value, theirs = slow_prediction_powered(labels[chosen], verdicts[chosen], verdicts[others])
    spread = np.var(labels[chosen], ddof=1) / 1_000
    gap = np.var(labels[chosen] - power * verdicts[chosen], ddof=1)
    assert power == pytest.approx(theirs * 1_000 / 800, rel=0.05)
    assert abs(ours.value - value) < 0.05 * sqrt(ours.variance)
    assert ours.variance == pytest.approx(spread + (1 / 200 - 1 / 1_000) * gap, rel=0.05)
    assert ours.interval is not None
    half = stats.t.ppf(0.975, 198) * sqrt(ours.variance)
    assert ours.interval[1] - ours.value == pytest.approx(half, rel=0.01)


def test_all_labeled_is_the_mean_of_the_labels() -> None:
    """If all claims are labeled, the corrected mean and its interval are those of the labels."""
    of = world(Kind(60), np.random.default_rng(13))
    labeled = design(of, [claim.item for claim in of.judged.claims], None)
    corrected, _ = prediction_powered(labeled, 0.95)
    recalls = [0.0] * 60
    for claim, label in zip(of.judged.claims, of.truth, strict=True):
        recalls[claim.row] += claim.share * label
    assert corrected.value == pytest.approx(np.mean(recalls), abs=1e-12)
    expected = mean_interval(spread_of(recalls))
    assert expected is not None
    assert corrected.interval is not None
    assert corrected.interval[:2] == pytest.approx(expected[:2], abs=1e-12)


def test_ignoring_groups_would_be_wrong() -> None:
    """Without groups, the interval of samples that are alike within groups is too narrow."""
    apart, together = (
        Kind(150, group=group, alike=0.8, sensitivity=0.97, specificity=0.95) for group in (1, 5)
    )
    of = world(together, np.random.default_rng(14))
    grouped, _ = prediction_powered(drawn(of, 150, 0), 0.95)
    judged = world(apart, np.random.default_rng(14)).judged
    alone = of._replace(judged=replace(of.judged, rows=judged.rows, cluster=judged.cluster))
    single, _ = prediction_powered(drawn(alone, 150, 0), 0.95)
    assert grouped.value == pytest.approx(single.value)
    assert grouped.variance > 1.5 * single.variance
