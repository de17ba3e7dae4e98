"""What to change, and why each target was missed, from what is known of its retrieval."""

from fullrecall.diagnosis.causes import Cause, Diagnosed
from fullrecall.diagnosis.change import Change, ChangeKind, Cost, Effect
from fullrecall.diagnosis.diagnosing import diagnose
from fullrecall.diagnosis.diagnosis import Diagnosis

__all__ = [
    "Cause",
    "Change",
    "ChangeKind",
    "Cost",
    "Diagnosed",
    "Diagnosis",
    "Effect",
    "diagnose",
]
