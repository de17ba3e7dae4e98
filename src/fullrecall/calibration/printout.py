"""A calibration as sheets: the means and the agreement, the confusion, and what they stand on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall.views.sheet import Section, Sheet, lines_of
from fullrecall.views.text import NOTHING, shown

if TYPE_CHECKING:
    from fullrecall.calibration.calibration import Calibration
    from fullrecall.calibration.estimation import Estimate
    from fullrecall.results.bounds import Interval


def sheets(calibration: Calibration) -> list[Sheet]:
    """Return the means with the agreement, and the confusion of judge and people."""
    agreement = calibration.agreement
    means = [
        ("judged", _cells(calibration.judged, calibration.judged_interval)),
        ("corrected (prediction-powered)", _estimate(calibration.corrected)),
        ("corrected (Rogan-Gladen)", _estimate(calibration.rogan_gladen)),
    ]
    figures = [
        ("balanced accuracy", _estimate(agreement.balanced_accuracy)),
        ("Cohen's κ", _estimate(agreement.kappa)),
        ("sensitivity", _estimate(agreement.sensitivity)),
        ("specificity", _estimate(agreement.specificity)),
    ]
    sections = [
        Section(f"mean recall, {calibration.score}", lines_of(means)),
        Section("judge against people", lines_of(figures)),
    ]
    both, judge, people, neither = (f"{count:,g}" for count in calibration.confusion)
    verdicts = [("supported", [both, judge]), ("not supported", [people, neither])]
    confusion = [Section("claims, judge:", lines_of(verdicts))]
    return [
        Sheet(["", f"{100 * calibration.confidence:g}% interval"], sections),
        Sheet(["people:\nsupported", "people:\nnot supported"], confusion),
        Sheet([], [], list(calibration.notes())),
    ]


def _estimate(estimate: Estimate | None) -> list[str]:
    return [NOTHING] * 2 if estimate is None else _cells(estimate.value, estimate.interval)


def _cells(value: float, interval: Interval | None) -> list[str]:
    ends = NOTHING if interval is None else f"{shown(interval.low)} to {shown(interval.high)}"
    return [shown(value), ends]
