"""What results show: bounds of a mean, a change, a choice among retrievers, a gate's outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.results.bounds import Interval as Interval
    from fullrecall.results.gate import Gate as Gate
    from fullrecall.results.gate import GateResult as GateResult
    from fullrecall.results.gate import Outcome as Outcome

_MODULES = {
    "Gate": "gate",
    "GateResult": "gate",
    "Interval": "bounds",
    "Outcome": "gate",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
