"""Record the steps of an application's calls, in any framework, and derive their retrieval.

A framework's adapter writes each event as a `Step` into a `StepLog`. `StepReading` decides which
contexts were retrieved, which were kept at the end, and which a model read in its prompt.
`RetrievalProcessor` records the spans of any instrumented framework as they end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.observe.failures import brief as brief
    from fullrecall.observe.log import ROOT as ROOT
    from fullrecall.observe.log import StepLog as StepLog
    from fullrecall.observe.processor import RetrievalProcessor as RetrievalProcessor
    from fullrecall.observe.processor import SpanCapture as SpanCapture
    from fullrecall.observe.reading import StepReading as StepReading
    from fullrecall.observe.reading import ToolDocuments as ToolDocuments
    from fullrecall.observe.reported import on_record as on_record
    from fullrecall.observe.selfcheck import incompatible as incompatible
    from fullrecall.observe.step import ITEM as ITEM
    from fullrecall.observe.step import DocumentCopy as DocumentCopy
    from fullrecall.observe.step import DocumentList as DocumentList
    from fullrecall.observe.step import Path as Path
    from fullrecall.observe.step import Step as Step
    from fullrecall.observe.step import StepKind as StepKind
    from fullrecall.observe.values import Contents as Contents
    from fullrecall.observe.values import ValueReader as ValueReader
    from fullrecall.observe.values import joined as joined
else:
    __getattr__ = lazy.names(__name__)
