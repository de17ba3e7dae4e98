"""Steps and traces: each call is one record of steps, whatever the framework.

A translator writes each event of its framework as a `Step` into a `StepLog`. `StepReading` decides
which contexts were retrieved, kept, and read. `RetrievalProcessor` records the spans of any
instrumented framework as they end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy
from fullrecall.observe.failures import brief, incompatible
from fullrecall.observe.log import ROOT, StepLog
from fullrecall.observe.reading import StepOptions, StepReading
from fullrecall.observe.step import ITEM, DocumentCopy, DocumentList, Kind, Path, Step
from fullrecall.observe.values import Contents, ValueReader, joined

if TYPE_CHECKING:
    from fullrecall.observe.processor import RetrievalProcessor as RetrievalProcessor

__all__ = [
    "ITEM",
    "ROOT",
    "Contents",
    "DocumentCopy",
    "DocumentList",
    "Kind",
    "Path",
    "RetrievalProcessor",
    "Step",
    "StepLog",
    "StepOptions",
    "StepReading",
    "ValueReader",
    "brief",
    "incompatible",
    "joined",
]

__getattr__ = lazy.names(__name__, {"RetrievalProcessor": "processor"})  # loads OpenTelemetry
