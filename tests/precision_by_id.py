"""A scorer of a test's own whose headline is no recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fullrecall import IdRecall
from fullrecall.measures import MeanPrecision, Measure


@dataclass(frozen=True, kw_only=True)
class PrecisionById(IdRecall):
    """Finds as `IdRecall` does; its score is whether what is relevant stands first."""

    kind: ClassVar[str] = "precision_by_id"
    headline: ClassVar[Measure] = MeanPrecision
