"""Why each item was missed, from what is known of its retrieval."""

from fullrecall.diagnosis.causes import Cause, Diagnosed
from fullrecall.diagnosis.diagnosing import diagnose
from fullrecall.diagnosis.diagnosis import Diagnosis

__all__ = ["Cause", "Diagnosed", "Diagnosis", "diagnose"]
