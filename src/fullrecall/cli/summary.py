"""`fullrecall summary REPORT`: print the summary of a saved report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fullrecall.cli import options
from fullrecall.cli.console import show_result
from fullrecall.measures import Measure
from fullrecall.report import Report, Slices
from fullrecall.show import terminal
from fullrecall.stats.summary import summary_sheet


def summary(
    report: options.ReportArgument,
    *,
    ks: options.KsOption = None,
    measure: options.MeasuresOption = None,
    slices: options.SlicesOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Summarize a saved report.

    Examples:
      fullrecall summary report.jsonl
      fullrecall summary report.jsonl --k 1,5 --measure ndcg@10
      fullrecall summary report.jsonl --k 5 --slices kind
    """
    opened, measures = Report.open(report), options.measures_of(ks, measure)
    totals = opened.summary(*measures)
    parts = slices_of(opened, slices, measures)
    sheets = [summary_sheet(totals), *(sheet for part in parts for sheet in part.sheets)]

    def values() -> dict[str, Any]:
        return {**totals.to_dict(), **slices_dict(parts)}

    show_result(values, terminal.parts(*sheets), as_json=as_json)


def slices_of(report: Report, by: str | None, measures: Sequence[Measure]) -> list[Slices]:
    """Return the slices of each score by each measure; without measures, by its headline."""
    scores = [method.name for method in report.methods] if by is not None else []
    return [
        report.slices(by, measure, score=score)
        for score in scores
        if by is not None
        for measure in measures or (None,)
    ]


def slices_dict(parts: Sequence[Slices]) -> dict[str, Any]:
    """Return slices as part of a summary's JSON; an empty dict without slices."""
    return {"slices": [part.to_dict() for part in parts]} if parts else {}
