"""How many labels an interval of a given width takes."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, sqrt

from fullrecall.calibration.draw import allocation, in_strata
from fullrecall.calibration.estimation import Estimate
from fullrecall.calibration.judged import Strata, by_verdict, judged_claims
from fullrecall.calibration.spread import spread_of
from fullrecall.parameters import check_share
from fullrecall.report.report import Report
from fullrecall.results.bounds import CONFIDENCE
from fullrecall.results.special import t_quantile

FEWEST = 10
"""Samples with labels below which a large-sample interval is not worth its name."""


def labels_needed(
    estimate: Estimate, width: float, confidence: float, *, labeled: int, claims: int
) -> int | None:
    """Return how many labels make the interval `width` wide at most; None if no number does.

    What is due to the labels shrinks as 1/labels - 1/claims, the rest is the samples' own.
    """
    check_share(width, "width", whole=False)
    fixed = max(0.0, estimate.variance - estimate.sampling)
    left = 1 / labeled - 1 / claims
    per_label = estimate.sampling / left if left > 0 else 0.0
    share = estimate.df / labeled

    def wide(n: int) -> float:
        variance = fixed + per_label * (1 / n - 1 / claims)
        return 2 * t_quantile(max(1.0, share * n), confidence) * sqrt(variance)

    return _smallest(wide, width, claims)


def labels_for_width(
    report: Report,
    width: float,
    *,
    score: str | None = None,
    confidence: float = CONFIDENCE,
    agreement: float = 0.8,
    strata: Strata = by_verdict,
) -> int | None:
    """Return how many labels `to_label` should draw for an interval `width` wide at most.

    Before there are any: `agreement` is a guess, in [0.5, 1), of the share of each verdict that
    people will share. None if all claims labeled would not do, since the samples are too few.
    Raises `ParameterError` for values out of range, and what `Report.to_label` raises.
    """
    check_share(width, "width", whole=False)
    check_share(agreement, "agreement", whole=False)
    judged = judged_claims(report, score)
    parts = list(in_strata(judged, strata).values())
    most = list(map(len, parts))
    rows = len(judged.rows)
    sizes = [fsum(claim.share for claim in part) / rows for part in parts]
    spread = spread_of(judged.credits, judged.groups)
    fixed = 1.0 if spread is None else spread.variance
    spare = agreement * (1 - agreement)

    def wide(n: int) -> float:
        counts = allocation(sizes, most, n)
        labels = fsum(
            size**2 * spare * (1 / count - 1 / of)
            for size, count, of in zip(sizes, counts, most, strict=True)
        )
        return 2 * t_quantile(max(1.0, n - len(parts)), confidence) * sqrt(fixed + labels)

    return _smallest(wide, width, sum(most))


def _smallest(wide: Callable[[int], float], width: float, most: int) -> int | None:
    """Return the smallest number up to `most` at which it is not too wide."""
    if wide(most) > width:
        return None
    low, high = min(FEWEST, most), most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if wide(middle) <= width else (middle + 1, high)
    return low
