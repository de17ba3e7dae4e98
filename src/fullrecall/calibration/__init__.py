"""Measure a judge's agreement with human labels of some claims, and correct the mean recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.calibration.calibration import Calibration as Calibration
    from fullrecall.calibration.calibration import calibrate as calibrate
    from fullrecall.calibration.estimation import Agreement as Agreement
    from fullrecall.calibration.estimation import CalibrationEstimate as CalibrationEstimate
    from fullrecall.calibration.judged import ToLabel as ToLabel
    from fullrecall.calibration.judged import to_label as to_label
    from fullrecall.calibration.labels import HumanLabels as HumanLabels
    from fullrecall.calibration.labels import Label as Label
    from fullrecall.calibration.labels import read_labels as read_labels
else:
    __getattr__ = lazy.names(__name__)
