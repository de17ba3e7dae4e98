"""`fullrecall gate REPORT`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from fullrecall.cli.console import show_result
from fullrecall.cli.options import MeasureText, Positive, Share, ThresholdText, bad_option
from fullrecall.cli.outputs import append
from fullrecall.cli.problems import as_options
from fullrecall.cli.signatures import taking
from fullrecall.measures import Recall
from fullrecall.report import Report
from fullrecall.stats.gate import Gate
from fullrecall.stats.outcome import outcome_lines

CODES = {"pass": 0, "fail": 1, "cannot_tell": 3}
"""What each outcome exits with; 2 is wrong usage or input."""


@taking(Gate, "margin scores slices confidence")
def gate(
    report: Path,
    *,
    min_recall: Share | None = None,
    k: Positive | None = None,
    require: list[ThresholdText] | None = None,
    baseline: Path | None = None,
    measure: list[MeasureText] | None = None,
    markdown: Path | None = None,
    as_json: bool = False,
    **decision: Any,
) -> None:
    """Decide on a saved report, print the outcome, and exit with its code.

    PASS: every required value is reached, at 95% confidence. FAIL: one is not, at 95% confidence.
    Otherwise CANNOT TELL, with the number of samples that would settle it. Unscored samples count
    as 0 for PASS and as 1 for FAIL.

    Examples:
      fullrecall gate report.jsonl --min-recall 0.9 --k 10
      fullrecall gate report.jsonl --baseline main.jsonl --margin 0.02 --k 10
      fullrecall gate report.jsonl --require 'rr>=0.7' --markdown summary.md

    Thresholds:
    - `min_recall`: Required mean recall, over all retrieved contexts or, with --k, the first K.
    - `k`: Count the first K contexts, for --min-recall and --baseline. Default: all.
    - `require`: Required mean of any measure, at least or at most, in quotes:
      'recall@10>=0.9'; repeatable, and all must pass.
    - `baseline REPORT`: Saved report to compare with; needs --margin.
    - `measure`: Measure to compare with the baseline, such as recall@10; repeatable. Default:
      those of the thresholds, else recall over all retrieved contexts.
    - `scores`: Score to decide on, such as id_recall; repeatable, and all must pass. Default: the
      only one, or the only recall.
    - `slices FIELD`: Also require every rule within each value of a field, such as kind or source.
    - `margin`: Largest drop of the mean from the baseline's that still passes, in [0, 1].

    Output:
    - `markdown`: Append the outcome as Markdown, for instance to $GITHUB_STEP_SUMMARY.
    - `as_json`: Print the outcome as JSON and nothing else.
    """
    recall = Recall if k is None else Recall @ k
    thresholds = [*([recall >= min_recall] if min_recall is not None else []), *(require or ())]
    if k is not None and min_recall is None and baseline is None:
        raise bad_option("--k", "needs --min-recall or --baseline")
    if not thresholds and baseline is None and decision["margin"] is None:
        raise typer.BadParameter("expected --min-recall or --require, or --baseline with --margin")
    if (baseline is None) != (decision["margin"] is None):
        raise typer.BadParameter("expected --baseline and --margin together")
    if measure and baseline is None:
        raise bad_option("--measure", "needs --baseline; a threshold is --require 'recall@10>=0.9'")
    compared = measure or ([recall] if k is not None and min_recall is None else [])
    rules = Gate(*thresholds, *compared, scores=decision.pop("scores") or (), **decision)
    before = None if baseline is None else Report.load(baseline)
    result = rules.check(Report.load(report), before)
    checks = [replace(check, reason=as_options(check.reason)) for check in result.checks]
    result = replace(result, checks=tuple(checks))
    if markdown is not None:
        append(markdown, result.to_markdown())
    show_result(result.to_dict, outcome_lines(result), as_json=as_json)
    raise typer.Exit(CODES[result.outcome])
