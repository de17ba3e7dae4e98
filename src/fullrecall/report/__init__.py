"""What `evaluate` returns, and how it is read, compared, decided by, shown, saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.report.report import Report
    from fullrecall.results.change import Flip
    from fullrecall.results.comparison import Comparison, Comparisons, compare
    from fullrecall.results.missed import Missed
    from fullrecall.results.summary import Summary
    from fullrecall.table.row import Row

__all__ = ["Comparison", "Comparisons", "Flip", "Missed", "Report", "Row", "Summary", "compare"]

_MODULES = {
    "Comparison": ".results.comparison",
    "Flip": ".results.change",
    "Missed": ".results.missed",
    "Report": "report",
    "Row": ".table.row",
    "Comparisons": ".results.comparison",
    "Summary": ".results.summary",
    "compare": ".results.comparison",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
