"""A calibration on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fullrecall.report.terminal import Section, one_line, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fullrecall.calibration.calibration import Calibration
    from fullrecall.calibration.estimation import Estimate
    from fullrecall.results.bounds import Interval


def tables(calibration: Calibration) -> Iterator[RenderableType]:
    """Yield the means and the agreement, the confusion table, and what they stand on."""
    agreement = calibration.agreement
    interval = f"{100 * calibration.confidence:g}% interval"
    means = [
        ("judged", _cells(calibration.judged, calibration.judged_interval)),
        ("corrected (prediction-powered)", _estimate(calibration.corrected)),
        ("corrected (Rogan-Gladen)", _estimate(calibration.rogan_gladen)),
    ]
    sections = [
        Section(f"mean recall, {calibration.score}", means),
        Section(
            "judge against people",
            [
                ("balanced accuracy", _estimate(agreement.balanced_accuracy)),
                ("Cohen's κ", _estimate(agreement.kappa)),
                ("sensitivity", _estimate(agreement.sensitivity)),
                ("specificity", _estimate(agreement.specificity)),
            ],
        ),
    ]
    yield table(["", interval], sections)
    yield ""
    both, judge, people, neither = (f"{count:,g}" for count in calibration.confusion)
    verdicts = [("supported", [both, judge]), ("not supported", [people, neither])]
    yield table(
        ["people:\nsupported", "people:\nnot supported"], [Section("claims, judge:", verdicts)]
    )
    yield ""
    for note in calibration.notes():
        yield one_line(note, 400)


def _estimate(estimate: Estimate | None) -> list[str]:
    return ["-", "-"] if estimate is None else _cells(estimate.value, estimate.interval)


def _cells(value: float, interval: Interval | None) -> list[str]:
    ends = "-" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"
    return [f"{value:.3f}", ends]
