"""Spans of OpenTelemetry as records of retrievals: live, by a span processor, or from files.

`RetrievalProcessor` sees the spans of any instrumented framework as they end; the readers of
files and frames are in `fullrecall.read`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.traces.processor import RetrievalProcessor

__all__ = ["RetrievalProcessor"]

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, {"RetrievalProcessor": "processor"})
