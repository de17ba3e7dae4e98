"""What `evaluate` returns, and how it is read, shown, saved and loaded."""

from fullrecall.report.report import Report
from fullrecall.report.row import Missed, Row
from fullrecall.report.summary import ScoreSummary, Summary

__all__ = ["Missed", "Report", "Row", "ScoreSummary", "Summary"]
