"""`fullrecall summary REPORT`: what a saved report adds up to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fullrecall.cli.console import show, write_json
from fullrecall.cli.options import Cuts, MeasureText, Share, bad_option, measures_of
from fullrecall.cli.problems import as_options
from fullrecall.cli.signatures import taking
from fullrecall.measures import Recall
from fullrecall.measures.budgets import Unit
from fullrecall.report import Report
from fullrecall.views import terminal
from fullrecall.views.summaries import summary_sheet


@taking(Report.smallest_k, "confidence")
def summary(
    report: Path,
    *,
    ks: Cuts | None = None,
    measure: list[MeasureText] | None = None,
    smallest_k: Share | None = None,
    scores: list[str] | None = None,
    unit: Unit | None = None,
    as_json: bool = False,
    **search: Any,
) -> None:
    """Print the summary of a saved report.

    With --smallest-k: the smallest k whose mean reaches the threshold, at a confidence that is
    corrected for the search. "No k" is an answer.

    Examples:
      fullrecall summary report.jsonl
      fullrecall summary report.jsonl --k 1,5 --measure ndcg@10
      fullrecall summary report.jsonl --smallest-k 0.9 --measure all_found
      fullrecall summary agent.jsonl --smallest-k 0.9 --unit calls

    Smallest k:
    - `smallest_k`: Find the smallest k whose mean reaches this threshold: mean recall, or the mean
      of --measure, whatever its k.
    - `scores`: Score to use; repeatable. Default: every recall score.
    - `confidence`: Confidence in the k.
    - `unit`: Find the smallest budget of this unit, in place of a number of contexts.
    """
    search_options = {"--score": scores, "--unit": unit}
    unused = [flag for flag, value in search_options.items() if value]
    if smallest_k is None and unused:
        raise bad_option(unused[0], "needs --smallest-k")
    measures = measures_of(ks, measure)
    loaded = Report.open(report)
    totals = loaded.summary(*measures)
    smallest = []
    if smallest_k is not None:
        # Recalls, unless a score is named: a measure that may fall with k is refused.
        names = scores or [m.name for m in loaded.methods if m.headline == Recall]
        whole = dict.fromkeys(each.whole for each in measures or (Recall,))
        smallest = [
            loaded.smallest_k(smallest_k, each, score=name, unit=unit, **search)
            for name in names
            for each in whole
        ]
    if as_json:
        values = totals.to_dict()
        if smallest_k is not None:
            values["smallest_k"] = [each.to_dict() for each in smallest]
        write_json(values)
        return
    sheet = summary_sheet(totals)
    show(*terminal.parts(replace(sheet, notes=[*map(as_options, sheet.notes)])))
    if smallest_k is not None:
        none = "The report has no recall score: choose another with --score."
        show("", *([each.reason for each in smallest] or [none]))
