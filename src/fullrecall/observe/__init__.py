"""One record of steps: what was retrieved, kept and read is decided here, whatever the framework.

A translator writes down each event of its framework as a `Step`, by a `StepLog`. `StepReading`
decides the rest.
"""

from fullrecall.observe.failures import brief, incompatible
from fullrecall.observe.log import ROOT, StepLog
from fullrecall.observe.reading import StepOptions, StepReading
from fullrecall.observe.step import ITEM, DocumentCopy, DocumentList, Kind, Path, Step
from fullrecall.observe.values import Contents, ValueReader, joined

__all__ = [
    "ITEM",
    "ROOT",
    "Contents",
    "DocumentCopy",
    "DocumentList",
    "Kind",
    "Path",
    "Step",
    "StepLog",
    "StepOptions",
    "StepReading",
    "ValueReader",
    "brief",
    "incompatible",
    "joined",
]
