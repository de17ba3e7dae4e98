"""How right a judge is, by what people say of some of its verdicts, and the mean corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.calibration.calibration import Calibration as Calibration
    from fullrecall.calibration.correction import calibrate as calibrate
    from fullrecall.calibration.draw import ToLabel as ToLabel
    from fullrecall.calibration.draw import to_label as to_label
    from fullrecall.calibration.estimation import Agreement as Agreement
    from fullrecall.calibration.estimation import CalibrationEstimate as CalibrationEstimate
    from fullrecall.calibration.label_files import read_labels as read_labels
    from fullrecall.calibration.labels import HumanLabels as HumanLabels
    from fullrecall.calibration.labels import Label as Label

_MODULES = {
    "Agreement": "estimation",
    "Calibration": "calibration",
    "CalibrationEstimate": "estimation",
    "HumanLabels": "labels",
    "Label": "labels",
    "ToLabel": "draw",
    "calibrate": "correction",
    "read_labels": "label_files",
    "to_label": "draw",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
