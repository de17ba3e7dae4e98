"""What to change, and why each target was missed, from what is known of its retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.diagnosis.causes import Cause, Diagnosed
    from fullrecall.diagnosis.change import Change, ChangeKind, Cost
    from fullrecall.diagnosis.diagnosis import Diagnosis
    from fullrecall.diagnosis.investigation import diagnose

__all__ = [
    "Cause",
    "Change",
    "ChangeKind",
    "Cost",
    "Diagnosed",
    "Diagnosis",
    "diagnose",
]

_MODULES = {
    "Cause": "causes",
    "Change": "change",
    "ChangeKind": "change",
    "Cost": "change",
    "Diagnosed": "causes",
    "Diagnosis": "diagnosis",
    "diagnose": "investigation",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
