"""What `evaluate` returns, and how it is read, compared, decided by, shown, saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.report.report import Report
    from fullrecall.results.comparison import Comparison, ScoreComparison
    from fullrecall.results.comparisons import Comparisons, compare
    from fullrecall.results.difference import Difference, Flip
    from fullrecall.results.missed import Missed
    from fullrecall.results.slices import Slice, Slices
    from fullrecall.results.smallest_k import SmallestK
    from fullrecall.results.summary import Estimate, ScoreSummary, Summary
    from fullrecall.table.row import Row

__all__ = [
    "Comparison",
    "Comparisons",
    "Difference",
    "Estimate",
    "Flip",
    "Missed",
    "Report",
    "Row",
    "ScoreComparison",
    "ScoreSummary",
    "Slice",
    "Slices",
    "SmallestK",
    "Summary",
    "compare",
]

_MODULES = {
    "Comparison": ".results.comparison",
    "Difference": ".results.difference",
    "Estimate": ".results.summary",
    "Flip": ".results.difference",
    "Missed": ".results.missed",
    "Report": "report",
    "Row": ".table.row",
    "Comparisons": ".results.comparisons",
    "ScoreComparison": ".results.comparison",
    "ScoreSummary": ".results.summary",
    "Slice": ".results.slices",
    "Slices": ".results.slices",
    "SmallestK": ".results.smallest_k",
    "Summary": ".results.summary",
    "compare": ".results.comparisons",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
