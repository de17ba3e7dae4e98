"""A test's own scorer whose headline is not recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fullrecall import IdRecall
from fullrecall.measures import MeanPrecision, Measure


@dataclass(frozen=True, kw_only=True)
class PrecisionById(IdRecall):
    """A scorer that finds as `IdRecall` does, and whose score is mean precision."""

    kind: ClassVar[str] = "precision_by_id"
    headline: ClassVar[Measure] = MeanPrecision
