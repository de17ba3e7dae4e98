"""What `evaluate` returns, and how it is read, compared, decided by, shown, saved and loaded."""

from fullrecall.report.comparison import Comparison, Difference, Flip, ScoreComparison, compare
from fullrecall.report.gate import Check, Gate, GateResult, Verdict
from fullrecall.report.report import Report
from fullrecall.report.row import Missed, Row
from fullrecall.report.smallest_k import SmallestK
from fullrecall.report.statistics import Interval, Spread
from fullrecall.report.summary import ScoreSummary, Summary

__all__ = [
    "Check",
    "Comparison",
    "Difference",
    "Flip",
    "Gate",
    "GateResult",
    "Interval",
    "Missed",
    "Report",
    "Row",
    "ScoreComparison",
    "ScoreSummary",
    "SmallestK",
    "Spread",
    "Summary",
    "Verdict",
    "compare",
]
