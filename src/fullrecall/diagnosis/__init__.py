"""The changes to make, and the cause of each missed target, from its recorded retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.diagnosis.causes import Cause as Cause
    from fullrecall.diagnosis.causes import Diagnosed as Diagnosed
    from fullrecall.diagnosis.diagnosis import Diagnosis as Diagnosis
    from fullrecall.diagnosis.diagnosis import described as described
    from fullrecall.diagnosis.effects import Change as Change
    from fullrecall.diagnosis.effects import ChangeKind as ChangeKind
    from fullrecall.diagnosis.effects import Cost as Cost
    from fullrecall.diagnosis.ids.fields import id_hint as id_hint
    from fullrecall.diagnosis.ids.fields import rewrite_of as rewrite_of
    from fullrecall.diagnosis.investigation import diagnose as diagnose
else:
    __getattr__ = lazy.names(__name__)
