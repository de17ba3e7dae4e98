"""From labels of some claims to the mean of all: corrected means and agreement, with intervals.

The labels are the second of two phases. First there are samples, a draw from the questions that
users may ask, with a verdict on each claim; then some of their claims are labeled. `expanded`
stretches what is known of the labeled claims over all samples, one value for each sample whose
mean is the estimate, and the spread of these values between groups of samples has both phases in
it: Särndal, Swensson, Wretman, "Model Assisted Survey Sampling", 1992, chapters 5 and 9.
Everything that is estimated here is such a mean, or a smooth function of some, put into a line.

The values may lie outside of [0, 1], for which no bound holds for every distribution: the intervals
are for large samples, cluster-robust, and measured, not proved.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf, sqrt
from typing import Any, NamedTuple, TypeVar

from fullrecall.calibration.judged import JudgedClaim, JudgedClaims
from fullrecall.stats.bounds import CONFIDENCE, Interval
from fullrecall.stats.plain import plain_of
from fullrecall.stats.special import t_quantile

K = TypeVar("K")

_ENOUGH = 2
"""Groups below which nothing is known of how they differ."""


class Spread(NamedTuple):
    """A mean over samples with what is known of its precision.

    `variance` is the mean's own, from `groups` independent groups of samples; `df` its degrees
    of freedom. Below two groups nothing is known: an infinite variance, no degrees of freedom.
    """

    mean: float
    variance: float
    df: float
    groups: int


class Labeled(NamedTuple):
    """A labeled claim: `label` in [0, 1] is what people say of it.

    `probability` is its chance to be labeled, `weight` how much of the mean it stands for before
    strata are made to add up.
    """

    claim: JudgedClaim
    stratum: str
    label: float
    weight: float
    probability: float


class Linear(NamedTuple):
    """What one labeled claim adds to an estimate: `base` + `slope` · its label."""

    base: float
    slope: float


class CalibrationEstimate(NamedTuple):
    """A figure with its interval, None where there is none, and the variance that it comes from.

    `clipped` says that the figure or an end of its interval lay outside of 0 to 1.
    """

    value: float
    interval: Interval | None
    variance: float
    clipped: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; no variance, which may be infinite."""
        return plain_of(self, "value", "interval", "clipped")


@dataclass(frozen=True)
class Agreement:
    """The judge's verdicts against the labels, each claim weighing what it does in the mean.

    Both are about what is supported in full: "partial" is not.

    `sensitivity` is the share found of what people call supported, `specificity` the share not
    found of what they do not, `balanced_accuracy` the mean of both; all three are None where the
    labels are of one kind.
    """

    sensitivity: CalibrationEstimate | None
    specificity: CalibrationEstimate | None
    balanced_accuracy: CalibrationEstimate | None


@dataclass(frozen=True)
class Design:
    """The judged claims with those of them that are labeled, stratum by stratum.

    `shares[stratum][row]` is what a stratum has of a row's recall, in [0, 1].
    """

    judged: JudgedClaims
    labeled: Sequence[Labeled]
    shares: Mapping[str, Mapping[int, float]]

    @cached_property
    def sizes(self) -> Mapping[str, float]:
        """What each stratum has of the mean."""
        rows = len(self.judged.rows)
        return {stratum: fsum(by_row.values()) / rows for stratum, by_row in self.shares.items()}

    @cached_property
    def weights(self) -> Sequence[float]:
        """What each labeled claim stands for of the mean; those of a stratum add up to it."""
        totals = sums((labeled.stratum, labeled.weight) for labeled in self.labeled)
        return [
            labeled.weight * self.sizes[labeled.stratum] / totals[labeled.stratum]
            for labeled in self.labeled
        ]

    @cached_property
    def df(self) -> float:
        """Degrees of freedom: the groups that have labels, less one for each stratum."""
        cluster = self.judged.cluster
        groups = len({cluster[labeled.claim.row] for labeled in self.labeled})
        return max(1.0, groups - len(self.shares))

    @cached_property
    def _corrections(self) -> Mapping[str, float]:
        """What makes up for residuals being taken from a mean of the same few labels."""
        counts = sums((labeled.stratum, 1.0) for labeled in self.labeled)
        chances = sums((labeled.stratum, labeled.probability) for labeled in self.labeled)
        return {
            stratum: sqrt(1 + (1 - chances[stratum] / count) / max(1.0, count - 1))
            for stratum, count in counts.items()
        }

    def mean(self, values: Iterable[float]) -> float:
        """Return the estimate of what the values of the labeled come to over all claims."""
        return fsum(w * value for w, value in zip(self.weights, values, strict=True))

    def expanded(self, values: Sequence[float]) -> list[float]:
        """Return one value for each row, whose mean estimates the same as `mean`.

        A row has the means of its claims' strata, and what its own labeled claims differ by.
        """
        weighted = list(zip(self.labeled, self.weights, values, strict=True))
        totals = sums((labeled.stratum, w * value) for labeled, w, value in weighted)
        means = {stratum: totals[stratum] / size for stratum, size in self.sizes.items()}
        parts: list[list[float]] = [[] for _ in self.judged.rows]
        for stratum, by_row in self.shares.items():
            for row, share in by_row.items():
                parts[row].append(share * means[stratum])
        for labeled, w, value in weighted:
            residual = self._corrections[labeled.stratum] * w * (value - means[labeled.stratum])
            parts[labeled.claim.row].append(residual * len(self.judged.rows))
        return [fsum(part) for part in parts]

    def unseen(self, parts: Sequence[Linear], *, of_judge: bool) -> float:
        """Return the variance that few labels may hide, of a mean of `parts`.

        Where all labels of a verdict agree, their spread is 0 and their mean is not certain. So
        each verdict of each stratum counts as if one more label of either kind had been seen,
        where that makes the variance larger. A claim that was certain to be labeled hides nothing
        of the mean, but it does `of_judge`, who has others to judge. Source: Agresti and Coull,
        "Approximate is better than 'exact' for interval estimation of binomial proportions",
        American Statistician 52(2), 1998; Lang and Reiczigel, 2014, do so for corrected means.
        """
        cells: dict[tuple[str, bool], list[tuple[float, float, float]]] = {}
        for labeled, w, part in zip(self.labeled, self.weights, parts, strict=True):
            if of_judge or labeled.probability < 1:
                cell = cells.setdefault((labeled.stratum, labeled.claim.is_supported), [])
                cell.append((w, labeled.label, part.slope))
        extra = 0.0
        for cell in cells.values():
            size = fsum(w for w, _, _ in cell)
            count = size * size / fsum(w * w for w, _, _ in cell)
            share = fsum(w * label for w, label, _ in cell) / size
            slope = fsum(w * slope for w, _, slope in cell) / size
            more = (share * count + 1) / (count + 2)
            hidden = more * (1 - more) - share * (1 - share)
            extra += max(0.0, hidden) * (slope * size) ** 2 / count
        return extra


def estimate(
    design: Design,
    parts: Sequence[Linear],
    confidence: float,
    *,
    rows: Sequence[float] | None = None,
    value: float | None = None,
    of_judge: bool = False,
) -> CalibrationEstimate:
    """Return the estimate whose line is `rows` (else 0) for each row, `parts` for each label.

    Its value is their mean, or `value` where the line only tells how it varies. The interval is
    Student's, clipped to the range from 0 to 1; with all claims labeled it is that of any
    mean. `of_judge` says that the estimate is not of the mean, but of who judged.
    """
    lines = [
        part.base + part.slope * labeled.label
        for labeled, part in zip(design.labeled, parts, strict=True)
    ]
    values = design.expanded(lines)
    if rows is not None:
        values = [row + more for row, more in zip(rows, values, strict=True)]
    spread = spread_of(values, design.judged.cluster)
    shown = spread.mean if value is None else value
    variance = spread.variance + design.unseen(parts, of_judge=of_judge)
    if spread.groups < _ENOUGH:
        return CalibrationEstimate(min(1.0, max(0.0, shown)), None, variance)
    # Every claim is labeled: the second phase, and the error that it brings, is gone.
    if not of_judge and all(labeled.probability >= 1 for labeled in design.labeled):
        return CalibrationEstimate(shown, mean_interval(spread, confidence), variance)
    # A thousand samples do not make ten labels more certain.
    df = min(spread.df, design.df)
    half = t_quantile(df, confidence) * sqrt(variance)
    ends = [shown, shown - half, shown + half]
    mean, low, high = (min(1.0, max(0.0, end)) for end in ends)
    is_clipped = [mean, low, high] != ends
    return CalibrationEstimate(mean, Interval(low, high, confidence), variance, is_clipped)


def prediction_powered(design: Design, confidence: float) -> tuple[CalibrationEstimate, float]:
    """Return the corrected mean by prediction-powered inference, and its tuned power λ.

    λ · (judged mean) + (mean of label - λ · verdict over the labeled claims), where λ in [0, 1]
    makes the variance least: 1 trusts the judge to tell claims apart, 0 leaves it aside. It has
    no bias to speak of, whatever the judge is worth. Sources: Angelopoulos, Bates, Fannjiang,
    Jordan, Zrnic, "Prediction-powered inference", Science 382, 2023; for λ, Angelopoulos, Duchi,
    Zrnic, "PPI++: Efficient prediction-powered inference", 2023, arXiv 2311.01453, section 6. The
    labeled claims are among all, as in a two-phase sample, and weigh what they stand for.
    """
    credits_ = design.judged.credits
    labels = design.expanded([labeled.label for labeled in design.labeled])
    judged = design.expanded([labeled.claim.credit for labeled in design.labeled])
    gaps = [credit - like for credit, like in zip(credits_, judged, strict=True)]
    # By sums of groups: samples of one group are not independent, and would make λ too sure.
    power = _power(
        _between_groups(labels, design.judged.cluster), _between_groups(gaps, design.judged.cluster)
    )
    parts = [Linear(-power * labeled.claim.credit, 1.0) for labeled in design.labeled]
    rows = [power * credit for credit in credits_]
    return estimate(design, parts, confidence, rows=rows), power


def agreement(design: Design, confidence: float) -> Agreement:
    """Return the judge's sensitivity, specificity and balanced accuracy."""
    supported = design.mean(labeled.label for labeled in design.labeled)
    unsupported = design.mean(1 - labeled.label for labeled in design.labeled)
    if supported <= 0 or unsupported <= 0:
        return Agreement(None, None, None)
    hits = design.mean(labeled.label * labeled.claim.is_supported for labeled in design.labeled)
    rejected = design.mean(
        (1 - labeled.label) * (not labeled.claim.is_supported) for labeled in design.labeled
    )
    sensitivity, specificity = hits / supported, rejected / unsupported

    def weighted(sense_weight: float, spec_weight: float) -> CalibrationEstimate:
        parts = []
        for labeled in design.labeled:
            # A share is a ratio of estimates: this is its tangent, which varies as a mean.
            is_supported = labeled.claim.is_supported
            if_supported = sense_weight / supported * (is_supported - sensitivity)
            if_not = spec_weight / unsupported * ((not is_supported) - specificity)
            parts.append(Linear(if_not, if_supported - if_not))
        value = sense_weight * sensitivity + spec_weight * specificity
        return estimate(design, parts, confidence, value=value, of_judge=True)

    return Agreement(weighted(1, 0), weighted(0, 1), weighted(0.5, 0.5))


def _power(labels: Sequence[float], gaps: Sequence[float]) -> float:
    """Return the λ in [0, 1] at which labels + λ · gaps have the least variance."""
    squares = fsum(gap * gap for gap in gaps)
    # Nothing but rounding is left of gaps where the judge agrees with every label.
    if squares <= 1e-12 * max(1.0, fsum(label * label for label in labels)):
        return 1.0
    covariance = fsum(label * gap for label, gap in zip(labels, gaps, strict=True))
    return min(1.0, max(0.0, -covariance / squares))


def _between_groups(values: Sequence[float], cluster: Sequence[Hashable]) -> list[float]:
    mean = fsum(values) / len(values)
    return list(sums((c, v - mean) for c, v in zip(cluster, values, strict=True)).values())


def sums(pairs: Iterable[tuple[K, float]]) -> dict[K, float]:
    """Return the sum of the values of each key, in the order in which keys come."""
    totals: dict[K, float] = {}
    for key, value in pairs:
        totals[key] = totals.get(key, 0.0) + value
    return totals


def spread_of(values: Sequence[float], groups: Sequence[Hashable] | None = None) -> Spread:
    """Return the spread of the mean of `values`, of which there must be one.

    `groups` names the group of each value, None for one that stands for itself. The variance is
    the cluster-robust CR2 (Bell and McCaffrey, "Bias reduction in standard errors for linear
    regression with multi-stage samples", Survey Methodology 28(2), 2002) with Satterthwaite's
    degrees of freedom, for a mean. With every sample for itself, both are the usual s²/n and
    n - 1.
    """
    n = len(values)
    mean = fsum(values) / n
    members: dict[object, list[float]] = {}
    for position, (value, group) in enumerate(zip(values, groups or [None] * n, strict=True)):
        members.setdefault(position if group is None else group, []).append(value)
    if len(members) < _ENOUGH:
        return Spread(mean, inf, 0.0, len(members))
    gaps = [(fsum(each) - len(each) * mean, len(each)) for each in members.values()]
    # A group pulls the mean towards itself: its residual is short by its share, which CR2 undoes.
    variance = fsum(gap * gap / (1 - size / n) for gap, size in gaps) / n**2
    return Spread(mean, variance, _satterthwaite([size for _, size in gaps], n), len(members))


def mean_interval(spread: Spread, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the interval of a mean of values in [0, 1]; None below two groups.

    Wilson's score interval at the effective sample size: the variance is taken to shrink towards
    0 and 1 as that of a share does, mean · (1 - mean) / effective size. Sources: Wilson, JASA 22,
    1927; for the effective size with Student's t, Korn and Graubard, "Confidence intervals for
    proportions with small expected number of positive counts estimated from survey data", Survey
    Methodology 24(2), 1998. Where all groups are equal: Clopper and Pearson, Biometrika 26, 1934,
    for no exception among them.
    """
    if spread.groups < _ENOUGH:
        return None
    mean, share = spread.mean, spread.mean * (1 - spread.mean)
    if not (spread.variance > 0 and share > 0):
        # All equal, so that no spread tells the error: only how many groups agree does.
        margin = 1.0 - ((1 - confidence) / 2) ** (1 / spread.groups)
        return Interval(mean - margin * mean, mean + margin * (1 - mean), confidence)
    quantile = t_quantile(spread.df, confidence)
    pull = quantile * quantile * spread.variance / share
    centre, half = mean + pull / 2, sqrt(pull * share + pull * pull / 4)
    low, high = (centre - half) / (1 + pull), (centre + half) / (1 + pull)
    return Interval(max(0.0, low), min(1.0, high), confidence)


def _satterthwaite(sizes: Sequence[int], n: int) -> float:
    """Return the degrees of freedom of CR2 for groups of these sizes.

    n² / (Σ m² + Σ_{g≠h} b_g b_h) with b = m² / (n - m): what the general formula comes to where
    the only regressor is the constant. Equal groups give their number less one.
    """
    leverages = [size * size / (n - size) for size in sizes]
    squares = fsum(size * size for size in sizes)
    own = fsum(leverage * leverage for leverage in leverages)
    return n * n / (squares + fsum(leverages) ** 2 - own)
