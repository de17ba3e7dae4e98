"""What results show: bounds of a mean, a change, a choice among retrievers, a gate's outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.results.bounds import Interval
    from fullrecall.results.change import Change, Direction
    from fullrecall.results.choice import Choice, Standing
    from fullrecall.results.decision import Check, Outcome
    from fullrecall.results.gate import Gate, GateResult

__all__ = [
    "Change",
    "Check",
    "Choice",
    "Direction",
    "Gate",
    "GateResult",
    "Interval",
    "Outcome",
    "Standing",
]

_MODULES = {
    "Change": "change",
    "Check": "decision",
    "Choice": "choice",
    "Direction": "change",
    "Gate": "gate",
    "GateResult": "gate",
    "Interval": "bounds",
    "Outcome": "decision",
    "Standing": "choice",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
