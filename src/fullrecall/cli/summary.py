"""`fullrecall summary REPORT`: what a saved report adds up to."""

from __future__ import annotations

from fullrecall.cli import options
from fullrecall.cli.console import show_result
from fullrecall.report import Report
from fullrecall.show import terminal
from fullrecall.stats.summary import summary_sheet


def summary(
    report: options.ReportArgument,
    *,
    ks: options.KsOption = None,
    measure: options.MeasuresOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Summarize a saved report.

    Examples:
      fullrecall summary report.jsonl
      fullrecall summary report.jsonl --k 1,5 --measure ndcg@10
    """
    totals = Report.open(report).summary(*options.measures_of(ks, measure))
    show_result(totals.to_dict, terminal.parts(summary_sheet(totals)), as_json=as_json)
