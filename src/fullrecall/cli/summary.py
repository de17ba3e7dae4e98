"""`fullrecall summary REPORT`: what a saved report adds up to."""

from __future__ import annotations

from pathlib import Path

from fullrecall.cli.console import show_result
from fullrecall.cli.options import Cuts, MeasureText, measures_of
from fullrecall.report import Report
from fullrecall.show import terminal
from fullrecall.stats.summary import summary_sheet


def summary(
    report: Path,
    *,
    ks: Cuts | None = None,
    measure: list[MeasureText] | None = None,
    as_json: bool = False,
) -> None:
    """Print the summary of a saved report.

    Examples:
      fullrecall summary report.jsonl
      fullrecall summary report.jsonl --k 1,5 --measure ndcg@10
    """
    totals = Report.open(report).summary(*measures_of(ks, measure))
    show_result(totals.to_dict, terminal.parts(summary_sheet(totals)), as_json=as_json)
