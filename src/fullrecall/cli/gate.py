"""`fullrecall gate REPORT`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from fullrecall.cli import options
from fullrecall.cli.console import show_result
from fullrecall.cli.outputs import append
from fullrecall.measures import Measure, Recall, Threshold
from fullrecall.report import Report
from fullrecall.show import terminal
from fullrecall.stats.gate import LOOKS, Gate, GateResult

if TYPE_CHECKING:
    from rich.text import Text

CODES = {"pass": 0, "fail": 1, "cannot_tell": 3}
"""The exit code of each outcome; 2 is wrong usage or input."""


rule_option = partial(Option, rich_help_panel="Thresholds")


def gate(
    report: options.ReportArgument,
    *,
    min_recall: Annotated[
        float | None,
        rule_option(
            metavar="0…1",
            parser=options.read_share,
            help="Required mean recall, over all retrieved contexts or, with --k, the first K.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        options.first_k(
            rich_help_panel="Thresholds",
            help="Count the first K contexts, for --min-recall and --baseline. Default: all.",
        ),
    ] = None,
    require: Annotated[
        list[Threshold] | None,
        rule_option(
            metavar="MEASURE>=0…1|MEASURE<=0…1",
            parser=options.read_threshold,
            help="Required mean of any measure, at least or at most, in quotes: 'recall@10>=0.9'; "
            "repeatable, and all must pass.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        rule_option(metavar="REPORT", help="Saved report to compare with; needs --margin."),
    ] = None,
    measure: Annotated[
        list[Measure] | None,
        options.measure(
            rich_help_panel="Thresholds",
            help="Measure to compare with the baseline, such as recall@10; repeatable. Default: "
            "those of the thresholds, else recall over all retrieved contexts.",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        rule_option(
            metavar="0…1",
            parser=options.read_share,
            help="Largest drop of the mean from the baseline's that still passes, in [0, 1].",
        ),
    ] = None,
    scores: Annotated[
        list[str] | None,
        rule_option(
            "--score",
            metavar="NAME",
            help="Score to decide on, such as id_recall; repeatable, and all must pass. Default: "
            "the only one, or the only recall.",
        ),
    ] = None,
    slices: Annotated[
        str | None,
        rule_option(
            metavar="FIELD",
            help="Also require every rule within each value of a field, such as kind or source.",
        ),
    ] = None,
    markdown: options.MarkdownOption = None,
    as_json: options.JsonOption = False,
    confidence: options.ConfidenceOption = 0.95,
) -> None:
    """Decide in CI whether a report is good enough.

    PASS: every required value is reached, at 95% confidence. FAIL: one is not, at 95% confidence.
    Otherwise CANNOT TELL, with the number of samples that would settle it. Unscored samples count
    as 0 for PASS and as 1 for FAIL.

    Examples:
      fullrecall gate report.jsonl --min-recall 0.9 --k 10
      fullrecall gate report.jsonl --baseline main.jsonl --margin 0.02 --k 10
      fullrecall gate report.jsonl --require 'rr>=0.7' --markdown summary.md
    """
    recall = Recall if k is None else Recall @ k
    thresholds = [*([recall >= min_recall] if min_recall is not None else []), *(require or ())]
    if k is not None and min_recall is None and baseline is None:
        raise options.bad_option("--k", "needs --min-recall or --baseline")
    if not thresholds and baseline is None and margin is None:
        raise typer.BadParameter("expected --min-recall or --require, or --baseline with --margin")
    if (baseline is None) != (margin is None):
        raise typer.BadParameter("expected --baseline and --margin together")
    if measure and baseline is None:
        raise options.bad_option(
            "--measure", "needs --baseline; a threshold is --require 'recall@10>=0.9'"
        )
    compared = measure or ([recall] if k is not None and min_recall is None else [])
    rules = Gate(
        *thresholds,
        *compared,
        margin=margin,
        scores=scores or (),
        slices=slices,
        confidence=confidence,
    )
    before = None if baseline is None else Report.load(baseline)
    result = rules.check(Report.load(report), before)
    if markdown is not None:
        append(markdown, result.to_markdown())
    show_result(result.to_dict, _outcome_lines(result), as_json=as_json)
    raise typer.Exit(CODES[result.outcome])


def _outcome_lines(result: GateResult) -> Iterator[Text]:
    """Yield one line for each check of a gate, with its outcome in front, then the notes."""
    from rich.text import Text

    for check in result.checks:
        _, emphasis = LOOKS[check.outcome]
        style = f"bold {terminal.STYLES[emphasis]}"
        yield Text.assemble((check.outcome.words, style), "  ", check.reason)
    yield from map(Text, result.notes)
