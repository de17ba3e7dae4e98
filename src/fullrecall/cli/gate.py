"""`fullrecall gate REPORT`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from fullrecall.cli.console import show, write_json
from fullrecall.cli.exits import wrong
from fullrecall.cli.options import MeasureText, Positive, Share, ThresholdText
from fullrecall.cli.outputs import append, check_output
from fullrecall.cli.problems import as_options
from fullrecall.cli.signatures import taking
from fullrecall.measures import Measure, Recall, Threshold
from fullrecall.report import Report
from fullrecall.results import Gate, GateResult
from fullrecall.views.gates import outcomes

CODES = {"pass": 0, "fail": 1, "cannot_tell": 3}
"""What each outcome exits with; 2 is wrong usage or input."""


@taking(Gate, "margin scores slices", heading="Thresholds")
@taking(Gate, "confidence min_coverage point", heading="Decision")
def gate(
    report: Path,
    *,
    min_recall: Share | None = None,
    k: Positive | None = None,
    require: list[ThresholdText] | None = None,
    baseline: Path | None = None,
    signed: Path | None = None,
    measure: list[MeasureText] | None = None,
    markdown: Path | None = None,
    junit: Path | None = None,
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
    - `signed KEYFILE`: Take only reports signed with this key (evaluate --sign).
    - `measure`: Measure to compare with the baseline, such as recall@10; repeatable. Default:
      those of the thresholds, else recall over all retrieved contexts.
    - `scores`: Score to decide on, such as id_recall; repeatable, and all must pass. Default: the
      only one, or the only recall.
    - `slices FIELD`: Also require every rule within each value of a field, such as kind or source.

    Output:
    - `markdown`: Append the outcome as Markdown, for instance to $GITHUB_STEP_SUMMARY.
    - `junit FILE.xml`: Write the outcome as JUnit XML.
    - `as_json`: Print the outcome as JSON and nothing else.
    """
    if k is not None and min_recall is None and baseline is None:
        raise wrong("--k", "needs --min-recall or --baseline")
    thresholds = _thresholds(min_recall, k, require or ())
    _check_rules(thresholds, measure, baseline, decision["margin"])
    if junit is not None:
        check_output(junit, "--junit", replace=True)
    compared = measure or ([Recall @ k] if k is not None and min_recall is None else ())
    scores = decision.pop("scores") or ()
    rules = Gate(*thresholds, *compared, scores=scores, **decision)
    before = None if baseline is None else Report.load(baseline, signed=signed)
    result = _in_options(rules.check(Report.load(report, signed=signed), before))
    if markdown is not None:
        append(markdown, result.to_markdown())
    if junit is not None:
        result.to_junit(junit)
    if as_json:
        write_json(result.to_dict())
    else:
        show(*outcomes(result))
    raise typer.Exit(CODES[result.outcome])


def _thresholds(
    min_recall: float | None, k: int | None, require: Sequence[Threshold]
) -> list[Threshold]:
    """Return the thresholds: that of recall first, then any others."""
    if min_recall is None:
        return list(require)
    return [(Recall if k is None else Recall @ k) >= min_recall, *require]


def _check_rules(
    thresholds: Sequence[Threshold],
    measures: Sequence[Measure] | None,
    baseline: Path | None,
    margin: float | None,
) -> None:
    """Raise `typer.BadParameter` for options that say nothing without another one."""
    if not thresholds and baseline is None and margin is None:
        raise typer.BadParameter("expected --min-recall or --require, or --baseline with --margin")
    if (baseline is None) != (margin is None):
        raise typer.BadParameter("expected --baseline and --margin together")
    if measures and baseline is None:
        raise wrong("--measure", "needs --baseline; a threshold is --require 'recall@10>=0.9'")


def _in_options(result: GateResult) -> GateResult:
    """Return a result whose reasons name options and not Python's parameters."""
    return replace(
        result,
        checks=tuple(replace(check, reason=as_options(check.reason)) for check in result.checks),
    )
