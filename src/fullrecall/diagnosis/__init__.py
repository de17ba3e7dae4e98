"""What to change, and why each target was missed, from what is known of its retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.diagnosis.causes import Cause as Cause
    from fullrecall.diagnosis.causes import Diagnosed as Diagnosed
    from fullrecall.diagnosis.change import Change as Change
    from fullrecall.diagnosis.change import ChangeKind as ChangeKind
    from fullrecall.diagnosis.change import Cost as Cost
    from fullrecall.diagnosis.diagnosis import Diagnosis as Diagnosis
    from fullrecall.diagnosis.id_levels import IdWatch as IdWatch
    from fullrecall.diagnosis.id_levels import id_hint as id_hint
    from fullrecall.diagnosis.id_levels import rewrite_of as rewrite_of
    from fullrecall.diagnosis.investigation import diagnose as diagnose

_MODULES = {
    "Cause": "causes",
    "Change": "change",
    "ChangeKind": "change",
    "Cost": "change",
    "Diagnosed": "causes",
    "Diagnosis": "diagnosis",
    "IdWatch": "id_levels",
    "diagnose": "investigation",
    "id_hint": "id_levels",
    "rewrite_of": "id_levels",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
