"""Spans of OpenTelemetry as records of retrievals: live, by a span processor, or from files.

`RetrievalProcessor` sees the spans of any instrumented framework as they end; the readers of
files and frames are in `fullrecall.read`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fullrecall.traces.processor import RetrievalProcessor

__all__ = ["RetrievalProcessor"]


def __getattr__(name: str) -> Any:
    if name != "RetrievalProcessor":  # the only name; it needs OpenTelemetry's SDK
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fullrecall.traces.processor import RetrievalProcessor

    return RetrievalProcessor


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
