"""Why each item was missed, from what is known of its retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.diagnosis.causes import Cause, Diagnosed
    from fullrecall.diagnosis.diagnosing import diagnose
    from fullrecall.diagnosis.diagnosis import Diagnosis

__all__ = [
    "Cause",
    "Diagnosed",
    "Diagnosis",
    "diagnose",
]

_MODULES = {
    "Cause": "causes",
    "Diagnosed": "causes",
    "Diagnosis": "diagnosis",
    "diagnose": "diagnosing",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
