"""What `evaluate` returns, and how it is read, compared, decided by, shown, saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.report.report import Report as Report
    from fullrecall.results.bounds import Interval as Interval
    from fullrecall.results.change import Flip as Flip
    from fullrecall.results.comparison import Comparison as Comparison
    from fullrecall.results.comparison import Comparisons as Comparisons
    from fullrecall.results.comparison import compare as compare
    from fullrecall.results.gate import GateResult as GateResult
    from fullrecall.results.gate import Outcome as Outcome
    from fullrecall.results.missed import Missed as Missed
    from fullrecall.results.summary import Summary as Summary
    from fullrecall.table.row import Row as Row

_MODULES = {
    "Comparison": ".results.comparison",
    "Flip": ".results.change",
    "GateResult": ".results.gate",
    "Interval": ".results.bounds",
    "Missed": ".results.missed",
    "Outcome": ".results.gate",
    "Report": "report",
    "Row": ".table.row",
    "Comparisons": ".results.comparison",
    "Summary": ".results.summary",
    "compare": ".results.comparison",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
