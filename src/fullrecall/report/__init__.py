"""What `evaluate` returns, and how it is read, compared, decided by, shown, saved and loaded."""

from fullrecall.report.bounds import Interval
from fullrecall.report.check import Check, GateResult, Outcome
from fullrecall.report.comparison import Comparison, ScoreComparison, compare
from fullrecall.report.difference import Difference, Flip
from fullrecall.report.gate import Gate
from fullrecall.report.report import Report
from fullrecall.report.row import Missed, Row
from fullrecall.report.runs import Runs
from fullrecall.report.slices import Slice, Slices
from fullrecall.report.smallest_k import SmallestK
from fullrecall.report.summary import Estimate, ScoreSummary, Summary

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
