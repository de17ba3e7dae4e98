"""What `evaluate` returns, and how it is read, compared, decided by, shown, saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.report.bounds import Interval
    from fullrecall.report.check import Check, GateResult, Outcome
    from fullrecall.report.comparison import Comparison, ScoreComparison, compare
    from fullrecall.report.difference import Difference, Flip
    from fullrecall.report.gate import Gate
    from fullrecall.report.report import Report
    from fullrecall.results.missed import Missed
    from fullrecall.table.row import Row
    from fullrecall.report.runs import Runs
    from fullrecall.report.slices import Slice, Slices
    from fullrecall.report.smallest_k import SmallestK
    from fullrecall.results.summary import Estimate, ScoreSummary, Summary

__all__ = [
    "Check",
    "Comparison",
    "Difference",
    "Estimate",
    "Flip",
    "Gate",
    "GateResult",
    "Interval",
    "Missed",
    "Outcome",
    "Report",
    "Row",
    "Runs",
    "ScoreComparison",
    "ScoreSummary",
    "Slice",
    "Slices",
    "SmallestK",
    "Summary",
    "compare",
]

_MODULES = {
    "Check": "check",
    "Comparison": "comparison",
    "Difference": "difference",
    "Estimate": ".results.summary",
    "Flip": "difference",
    "Gate": "gate",
    "GateResult": "check",
    "Interval": "bounds",
    "Missed": ".results.missed",
    "Outcome": "check",
    "Report": "report",
    "Row": ".table.row",
    "Runs": "runs",
    "ScoreComparison": "comparison",
    "ScoreSummary": ".results.summary",
    "Slice": "slices",
    "Slices": "slices",
    "SmallestK": "smallest_k",
    "Summary": ".results.summary",
    "compare": "comparison",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
