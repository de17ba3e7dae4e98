"""What `evaluate` returns, and how it is read, compared, decided by, shown, saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.report.comparison import Comparison, ScoreComparison, compare
    from fullrecall.report.difference import Difference, Flip
    from fullrecall.report.report import Report
    from fullrecall.report.row import Missed, Row
    from fullrecall.report.runs import Runs
    from fullrecall.report.slices import Slice, Slices
    from fullrecall.report.smallest_k import SmallestK
    from fullrecall.report.summary import Estimate, ScoreSummary, Summary

__all__ = [
    "Comparison",
    "Difference",
    "Estimate",
    "Flip",
    "Missed",
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
    "Comparison": "comparison",
    "Difference": "difference",
    "Estimate": "summary",
    "Flip": "difference",
    "Missed": "row",
    "Report": "report",
    "Row": "row",
    "Runs": "runs",
    "ScoreComparison": "comparison",
    "ScoreSummary": "summary",
    "Slice": "slices",
    "Slices": "slices",
    "SmallestK": "smallest_k",
    "Summary": "summary",
    "compare": "comparison",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
