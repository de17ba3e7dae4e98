"""How right a judge is, by what people say of some of its verdicts, and the mean corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.calibration.calibration import Calibration
    from fullrecall.calibration.correction import calibrate
    from fullrecall.calibration.draw import ToLabel
    from fullrecall.calibration.labels import HumanLabels, Label

__all__ = [
    "Calibration",
    "HumanLabels",
    "Label",
    "ToLabel",
    "calibrate",
]

_MODULES = {
    "Calibration": "calibration",
    "HumanLabels": "labels",
    "Label": "labels",
    "ToLabel": "draw",
    "calibrate": "correction",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
