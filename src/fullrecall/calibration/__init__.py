"""How right a judge is, by what people say of some of its verdicts, and the mean corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.calibration.calibration import Calibration, Confusion
    from fullrecall.calibration.correction import calibrate
    from fullrecall.calibration.draw import ToLabel
    from fullrecall.calibration.estimation import Agreement, Estimate
    from fullrecall.calibration.labels import HumanLabels, Label
    from fullrecall.calibration.raters import RaterAgreement

__all__ = [
    "Agreement",
    "Calibration",
    "Confusion",
    "Estimate",
    "HumanLabels",
    "Label",
    "RaterAgreement",
    "ToLabel",
    "calibrate",
]

_MODULES = {
    "Agreement": "estimation",
    "Calibration": "calibration",
    "Confusion": "calibration",
    "Estimate": "estimation",
    "HumanLabels": "labels",
    "Label": "labels",
    "RaterAgreement": "raters",
    "ToLabel": "draw",
    "calibrate": "correction",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
