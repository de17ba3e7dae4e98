"""Spans of OpenTelemetry as records of retrievals: live, by a span processor, or from files.

`RetrievalProcessor` sees the spans of any instrumented framework as they end; the readers of
files and frames are in `fullrecall.read`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.traces.processor import RetrievalProcessor as RetrievalProcessor

_MODULES = {"RetrievalProcessor": "processor"}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
