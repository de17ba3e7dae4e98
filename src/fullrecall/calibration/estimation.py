"""Estimate figures for all claims from labels of some: corrected means, agreement, intervals.

Sampling has two phases. The first draws samples from the questions that users may ask, with a
verdict on each claim; the second draws claims to label. `expanded` extends the labels to all
samples: it returns one value for each sample, and their mean is the estimate. The spread of these
values between groups of samples covers both phases: Särndal, Swensson, Wretman, "Model Assisted
Survey Sampling", 1992, chapters 5 and 9. All estimates here are means of this kind, or linear
approximations of smooth functions of them.

The values may lie outside [0, 1], so no bound holds for every distribution. The intervals are
therefore cluster-robust large-sample intervals, whose coverage was measured, not proved.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, fsum, inf, log, sqrt
from typing import Any, NamedTuple, TypeVar

from fullrecall.calibration.judged import JudgedClaim, JudgedClaims
from fullrecall.stats.bounds import CONFIDENCE, Interval, root
from fullrecall.stats.gamma_sum import t_tails
from fullrecall.stats.plain import plain_of

K = TypeVar("K")

_ENOUGH = 2
"""The fewest groups whose differences can be estimated."""


class Spread(NamedTuple):
    """A mean over samples, with its precision.

    `variance` is the variance of the mean, from `groups` independent groups of samples; `df` are
    its degrees of freedom. With fewer than two groups, the variance is infinite and `df` is 0.
    """

    mean: float
    variance: float
    df: float
    groups: int


class Labeled(NamedTuple):
    """A labeled claim: `label` in [0, 1] is the mean of its raters' labels.

    `probability` is the claim's chance to be labeled. `weight` is its weight in the mean, before
    the weights of each stratum are scaled to add up to the stratum's size.
    """

    claim: JudgedClaim
    stratum: str
    label: float
    weight: float
    probability: float


class Linear(NamedTuple):
    """The linear contribution of one labeled claim to an estimate: `base` + `slope` · its label."""

    base: float
    slope: float


class CalibrationEstimate(NamedTuple):
    """An estimate with its variance and its interval.

    `interval` is None with fewer than two groups of samples. `clipped` is True if the value or an
    end of its interval was outside 0 to 1, and was cut off.
    """

    value: float
    interval: Interval | None
    variance: float
    clipped: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, without the variance, which may be infinite."""
        return plain_of(self, "value", "interval", "clipped")


@dataclass(frozen=True)
class Agreement:
    """The agreement of the judge's verdicts with the labels; claims are weighted as in the mean.

    Only full support counts as supported, in verdicts and labels: "partial" does not.

    Of the claims that are labeled supported, `sensitivity` is the share that the judge calls
    supported. Of all other labeled claims, `specificity` is the share that the judge does not call
    supported. `balanced_accuracy` is the mean of both. All three are None if all labels are of one
    kind.
    """

    sensitivity: CalibrationEstimate | None
    specificity: CalibrationEstimate | None
    balanced_accuracy: CalibrationEstimate | None


@dataclass(frozen=True)
class Design:
    """The judged claims and the labeled claims among them, by stratum.

    `shares[stratum][row]` is the share of the stratum's claims in a row's recall, in [0, 1].
    """

    judged: JudgedClaims
    labeled: Sequence[Labeled]
    shares: Mapping[str, Mapping[int, float]]

    @cached_property
    def sizes(self) -> Mapping[str, float]:
        """The share of each stratum in the mean."""
        rows = len(self.judged.rows)
        return {stratum: fsum(by_row.values()) / rows for stratum, by_row in self.shares.items()}

    @cached_property
    def weights(self) -> Sequence[float]:
        """Each labeled claim's weight in the mean; a stratum's weights add up to its size."""
        totals = sums((labeled.stratum, labeled.weight) for labeled in self.labeled)
        return [
            labeled.weight * self.sizes[labeled.stratum] / totals[labeled.stratum]
            for labeled in self.labeled
        ]

    @cached_property
    def df(self) -> float:
        """Degrees of freedom: the number of labeled groups, minus one for each stratum."""
        cluster = self.judged.cluster
        groups = len({cluster[labeled.claim.row] for labeled in self.labeled})
        return max(1.0, groups - len(self.shares))

    @cached_property
    def _corrections(self) -> Mapping[str, float]:
        """For each stratum, the factor by which the residuals of its labels are enlarged.

        Residuals from a mean of the same few labels are too small.
        """
        counts = sums((labeled.stratum, 1.0) for labeled in self.labeled)
        chances = sums((labeled.stratum, labeled.probability) for labeled in self.labeled)
        return {
            stratum: sqrt(1 + (1 - chances[stratum] / count) / max(1.0, count - 1))
            for stratum, count in counts.items()
        }

    def mean(self, values: Iterable[float]) -> float:
        """Return the estimated mean over all claims, from values of the labeled claims."""
        return fsum(w * value for w, value in zip(self.weights, values, strict=True))

    def expanded(self, values: Sequence[float]) -> list[float]:
        """Return one value for each row; their mean estimates the same quantity as `mean`.

        A row's value is the weighted sum of the stratum means of its claims, plus the weighted
        residuals of its labeled claims.
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
        """Return an addition to the variance of a mean of `parts`, which few labels may understate.

        If all labels of a verdict agree, their spread is 0, but their mean is still uncertain. So
        the claims of each stratum and verdict get one extra label "supported" and one extra label
        "not supported", if that increases the variance. For the mean recall, claims that were
        labeled with probability 1 are left out, since every such claim has a label. With
        `of_judge`, they are included, because the agreement is also about the judge's future
        claims. Sources: Agresti and Coull, "Approximate is better than 'exact' for interval
        estimation of binomial proportions", American Statistician 52(2), 1998; Lang and Reiczigel,
        2014, do so for corrected means.
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
    """Return an estimate, which is a mean over rows, with its variance and its interval.

    `parts` has the contribution of each labeled claim, from which `Design.expanded` computes a
    value for each row. `rows` has a number to add to the value of each row; by default, 0. If
    `value` is given, it is the estimate itself, and the rows give only its variance. `of_judge` is
    True for the judge's agreement, False for the mean recall. The interval is Student's, clipped to
    the range from 0 to 1; for the mean recall with all claims labeled, it is `mean_interval`.
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
    # Every claim is labeled, so drawing claims adds no error: use the interval of a plain mean.
    if not of_judge and all(labeled.probability >= 1 for labeled in design.labeled):
        return CalibrationEstimate(shown, mean_interval(spread, confidence), variance)
    # Few labels limit the degrees of freedom, however many samples there are.
    df = min(spread.df, design.df)
    half = t_quantile(df, confidence) * sqrt(variance)
    ends = [shown, shown - half, shown + half]
    mean, low, high = (min(1.0, max(0.0, end)) for end in ends)
    is_clipped = [mean, low, high] != ends
    return CalibrationEstimate(mean, Interval(low, high, confidence), variance, is_clipped)


def prediction_powered(design: Design, confidence: float) -> tuple[CalibrationEstimate, float]:
    """Return the corrected mean by prediction-powered inference, and its tuned power λ.

    The corrected mean is λ · (judged mean) + (mean of label - λ · verdict over the labeled claims),
    where λ in [0, 1] minimizes the variance: 1 uses the judge's verdicts fully, 0 ignores them. The
    bias is negligible for any judge. Sources: Angelopoulos, Bates, Fannjiang, Jordan, Zrnic,
    "Prediction-powered inference", Science 382, 2023; for λ, Angelopoulos, Duchi, Zrnic, "PPI++:
    Efficient prediction-powered inference", 2023, arXiv 2311.01453, section 6. The labeled claims
    are part of all claims, as in a two-phase sample, and have their design weights.
    """
    credits_ = design.judged.credits
    labels = design.expanded([labeled.label for labeled in design.labeled])
    judged = design.expanded([labeled.claim.credit for labeled in design.labeled])
    gaps = [credit - like for credit, like in zip(credits_, judged, strict=True)]
    # Sum by group, since only groups are independent: the power λ minimizes the variance between
    # groups.
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
            # A share is a ratio of estimates; this is its linear approximation, which is a mean.
            is_supported = labeled.claim.is_supported
            if_supported = sense_weight / supported * (is_supported - sensitivity)
            if_not = spec_weight / unsupported * ((not is_supported) - specificity)
            parts.append(Linear(if_not, if_supported - if_not))
        value = sense_weight * sensitivity + spec_weight * specificity
        return estimate(design, parts, confidence, value=value, of_judge=True)

    return Agreement(weighted(1, 0), weighted(0, 1), weighted(0.5, 0.5))


def _power(labels: Sequence[float], gaps: Sequence[float]) -> float:
    """Return the λ in [0, 1] that minimizes the variance of labels + λ · gaps.

    Both are sums by group, with a mean of 0.
    """
    squares = fsum(gap * gap for gap in gaps)
    # If the judge agrees with every label, the gaps are rounding errors: use its verdicts fully.
    if squares <= 1e-12 * max(1.0, fsum(label * label for label in labels)):
        return 1.0
    covariance = fsum(label * gap for label, gap in zip(labels, gaps, strict=True))
    return min(1.0, max(0.0, -covariance / squares))


def _between_groups(values: Sequence[float], cluster: Sequence[Hashable]) -> list[float]:
    mean = fsum(values) / len(values)
    return list(sums((c, v - mean) for c, v in zip(cluster, values, strict=True)).values())


def sums(pairs: Iterable[tuple[K, float]]) -> dict[K, float]:
    """Return the sum of each key's values, in the order of the keys' first occurrence."""
    totals: dict[K, float] = {}
    for key, value in pairs:
        totals[key] = totals.get(key, 0.0) + value
    return totals


def spread_of(values: Sequence[float], groups: Sequence[Hashable] | None = None) -> Spread:
    """Return the spread of the mean of `values`, which must not be empty.

    `groups` names the group of each value, or None for a value that is its own group. The variance
    is the cluster-robust CR2 (Bell and McCaffrey, "Bias reduction in standard errors for linear
    regression with multi-stage samples", Survey Methodology 28(2), 2002) with Satterthwaite's
    degrees of freedom, for a mean. If every sample is its own group, the variance is the usual
    s²/n, with n - 1 degrees of freedom.
    """
    n = len(values)
    mean = fsum(values) / n
    members: dict[object, list[float]] = {}
    for position, (value, group) in enumerate(zip(values, groups or [None] * n, strict=True)):
        members.setdefault(position if group is None else group, []).append(value)
    if len(members) < _ENOUGH:
        return Spread(mean, inf, 0.0, len(members))
    gaps = [(fsum(each) - len(each) * mean, len(each)) for each in members.values()]
    # A group pulls the mean towards itself, so its residual is too small; CR2 corrects this.
    variance = fsum(gap * gap / (1 - size / n) for gap, size in gaps) / n**2
    return Spread(mean, variance, _satterthwaite([size for _, size in gaps], n), len(members))


def mean_interval(spread: Spread, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the interval of a mean of values in [0, 1]; None for fewer than two groups.

    This is Wilson's score interval at the effective sample size. It assumes that the variance is
    that of a share, mean · (1 - mean) / effective size, which shrinks if the mean is near 0 or 1.
    Sources: Wilson, JASA 22, 1927; for the effective size with Student's t, Korn and Graubard,
    "Confidence intervals for proportions with small expected number of positive counts estimated
    from survey data", Survey Methodology 24(2), 1998. If all groups are equal, it is the interval
    of Clopper and Pearson, Biometrika 26, 1934, for trials that all succeed, one for each group.
    """
    if spread.groups < _ENOUGH:
        return None
    mean, share = spread.mean, spread.mean * (1 - spread.mean)
    if not (spread.variance > 0 and share > 0):
        # All groups are equal, so there is no spread: the number of groups alone bounds the error.
        margin = 1.0 - ((1 - confidence) / 2) ** (1 / spread.groups)
        return Interval(mean - margin * mean, mean + margin * (1 - mean), confidence)
    quantile = t_quantile(spread.df, confidence)
    pull = quantile * quantile * spread.variance / share
    centre, half = mean + pull / 2, sqrt(pull * share + pull * pull / 4)
    low, high = (centre - half) / (1 + pull), (centre + half) / (1 + pull)
    return Interval(max(0.0, low), min(1.0, high), confidence)


def _satterthwaite(sizes: Sequence[int], n: int) -> float:
    """Return the degrees of freedom of CR2 for groups of these sizes.

    For `n` values in groups of m_g values, it is n² / (Σ_g m_g² + Σ_{g≠h} b_g b_h), where
    b_g = m_g² / (n - m_g). This is the general formula with a constant as the only regressor. For
    groups of equal size, it is their number minus one.
    """
    leverages = [size * size / (n - size) for size in sizes]
    squares = fsum(size * size for size in sizes)
    own = fsum(leverage * leverage for leverage in leverages)
    return n * n / (squares + fsum(leverages) ** 2 - own)


_FARTHEST = 300.0
"""The logarithm of the largest quantile in the search; its negative is that of the smallest."""


def t_quantile(df: float, confidence: float) -> float:
    """Return the two-sided quantile of Student's t with `df` degrees of freedom.

    With probability `confidence`, in (0, 1), the absolute value of t is at most this quantile.
    """

    def beyond(logarithm: float) -> float:
        tails = t_tails(df, exp(logarithm))
        return log((1 - confidence) / tails) if tails else inf

    nearest = (-_FARTHEST, log(1 - confidence))
    return exp(root(beyond, -_FARTHEST, _FARTHEST, 0.0, nearest))
