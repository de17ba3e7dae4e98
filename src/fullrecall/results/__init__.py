"""What results show: bounds of a mean, a change, a choice among retrievers, a gate's outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.results.bounds import Interval
    from fullrecall.results.gate import Gate, GateResult, Outcome

__all__ = ["Gate", "GateResult", "Interval", "Outcome"]

_MODULES = {
    "Gate": "gate",
    "GateResult": "gate",
    "Interval": "bounds",
    "Outcome": "gate",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
