"""How right a judge is, by what people say of some of its verdicts, and the mean corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.calibration.calibration import Agreement, Calibration, Confusion
    from fullrecall.calibration.correction import calibrate
    from fullrecall.calibration.draw import ToLabel
    from fullrecall.calibration.estimation import Estimate
    from fullrecall.calibration.judged import JudgedClaim, Strata, by_verdict, one_stratum
    from fullrecall.calibration.labels import HumanLabels, Label
    from fullrecall.calibration.needed import labels_for_width
    from fullrecall.calibration.raters import RaterAgreement

__all__ = [
    "Agreement",
    "Calibration",
    "Confusion",
    "Estimate",
    "HumanLabels",
    "JudgedClaim",
    "Label",
    "RaterAgreement",
    "Strata",
    "ToLabel",
    "by_verdict",
    "calibrate",
    "labels_for_width",
    "one_stratum",
]

_MODULES = {
    "Agreement": "calibration",
    "Calibration": "calibration",
    "Confusion": "calibration",
    "Estimate": "estimation",
    "HumanLabels": "labels",
    "JudgedClaim": "judged",
    "Label": "labels",
    "RaterAgreement": "raters",
    "Strata": "judged",
    "ToLabel": "draw",
    "by_verdict": "judged",
    "calibrate": "correction",
    "labels_for_width": "needed",
    "one_stratum": "judged",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
