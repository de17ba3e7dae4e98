"""Steps and traces: each call is one record of steps, whatever the framework.

A translator writes each event of its framework as a `Step` into a `StepLog`. `StepReading` decides
which contexts were retrieved, kept, and read. `RetrievalProcessor` records the spans of any
instrumented framework as they end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.observe.failures import brief as brief
    from fullrecall.observe.failures import incompatible as incompatible
    from fullrecall.observe.log import ROOT as ROOT
    from fullrecall.observe.log import StepLog as StepLog
    from fullrecall.observe.processor import RetrievalProcessor as RetrievalProcessor
    from fullrecall.observe.processor import SpanCapture as SpanCapture
    from fullrecall.observe.reading import StepReading as StepReading
    from fullrecall.observe.reported import on_record as on_record
    from fullrecall.observe.step import ITEM as ITEM
    from fullrecall.observe.step import DocumentCopy as DocumentCopy
    from fullrecall.observe.step import DocumentList as DocumentList
    from fullrecall.observe.step import Path as Path
    from fullrecall.observe.step import Step as Step
    from fullrecall.observe.step import StepKind as StepKind
    from fullrecall.observe.values import Contents as Contents
    from fullrecall.observe.values import ValueReader as ValueReader
    from fullrecall.observe.values import joined as joined

_MODULES = {
    "Contents": "values",
    "DocumentCopy": "step",
    "DocumentList": "step",
    "ITEM": "step",
    "Path": "step",
    "ROOT": "log",
    "RetrievalProcessor": "processor",
    "SpanCapture": "processor",
    "Step": "step",
    "StepKind": "step",
    "StepLog": "log",
    "StepReading": "reading",
    "ValueReader": "values",
    "brief": "failures",
    "incompatible": "failures",
    "joined": "values",
    "on_record": "reported",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
