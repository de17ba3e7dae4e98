"""`fullrecall gate REPORT`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullrecall.cli.options import ReportPath, at_least, level, measures_option, share, threshold
from fullrecall.measures import Measure, Recall, Threshold

if TYPE_CHECKING:
    from fullrecall.results import GateResult

HELP = """\
PASS: every required value is reached, at 95% confidence. FAIL: one is not, at 95% confidence. \
Otherwise CANNOT TELL, with the number of samples that would settle it. Unscored samples count \
as 0 for PASS and as 1 for FAIL.

Examples:
  fullrecall gate report.jsonl --min-recall 0.9 --k 10
  fullrecall gate report.jsonl --baseline main.jsonl --margin 0.02 --k 10
  fullrecall gate report.jsonl --require 'rr>=0.7' --markdown summary.md
"""

CODES = {"pass": 0, "fail": 1, "cannot_tell": 3}
"""What each outcome exits with; 2 is wrong usage or input."""

_RULES = "Thresholds"
_DECIDING = "Decision"
_WRITING = "Output"


def gate(
    report: ReportPath,
    *,
    min_recall: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            callback=share,
            show_default=False,
            rich_help_panel=_RULES,
            help="Required mean recall, over all retrieved contexts or, with --k, the first K.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            "-k",
            metavar="K",
            callback=at_least(1),
            show_default=False,
            rich_help_panel=_RULES,
            help="Count the first K contexts, for --min-recall and --baseline. Default: all.",
        ),
    ] = None,
    require: Annotated[
        list[Threshold] | None,
        typer.Option(
            metavar="MEASURE>=0…1|MEASURE<=0…1",
            parser=threshold,
            show_default=False,
            rich_help_panel=_RULES,
            help="Required mean of any measure, at least or at most, in quotes: 'recall@10>=0.9'; "
            "repeatable, and all must pass.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="REPORT",
            show_default=False,
            rich_help_panel=_RULES,
            help="Saved report to compare with; needs --margin.",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            callback=share,
            show_default=False,
            rich_help_panel=_RULES,
            help="Largest drop from the baseline that still passes.",
        ),
    ] = None,
    measure: Annotated[
        list[Measure] | None,
        measures_option(
            "Measure to compare with the baseline, such as recall@10; repeatable. "
            "Default: those of the thresholds, else recall over all retrieved contexts.",
            _RULES,
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=_RULES,
            help="Score to decide on, such as id_recall; repeatable, and all must pass. "
            "Default: the only one, or the only recall.",
        ),
    ] = None,
    slices: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            show_default=False,
            rich_help_panel=_RULES,
            help="Also require every rule within each value of a field, such as kind or source.",
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            metavar="0…1", callback=level, rich_help_panel=_DECIDING, help="Confidence of outcomes."
        ),
    ] = 0.95,
    min_coverage: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            callback=share,
            show_default=False,
            rich_help_panel=_DECIDING,
            help="Required share of scored samples; only these count.",
        ),
    ] = None,
    point: Annotated[
        bool,
        typer.Option(
            "--point",
            rich_help_panel=_DECIDING,
            help="Decide by the mean alone, without bounds: valid for these questions only.",
        ),
    ] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel=_WRITING,
            help="Append the outcome as Markdown, for instance to $GITHUB_STEP_SUMMARY.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.xml",
            show_default=False,
            rich_help_panel=_WRITING,
            help="Write the outcome as JUnit XML.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", rich_help_panel=_WRITING, help="Print the outcome as JSON and nothing else."
        ),
    ] = False,
) -> None:
    """Decide on a saved report, print the outcome and exit with its code; see `HELP`."""
    import json

    from fullrecall.cli.console import fail, noting, show, write
    from fullrecall.cli.outputs import check_writable
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report
    from fullrecall.results import Gate
    from fullrecall.views.gates import outcomes

    if k is not None and min_recall is None and baseline is None:
        raise typer.BadParameter("needs --min-recall or --baseline", param_hint="--k")
    thresholds = _thresholds(min_recall, k, require or ())
    if not thresholds and baseline is None and margin is None:
        raise typer.BadParameter("expected --min-recall or --require, or --baseline with --margin")
    if (baseline is None) != (margin is None):
        raise typer.BadParameter("expected --baseline and --margin together")
    if measure and baseline is None:
        raise typer.BadParameter(
            "needs --baseline; for a threshold, use --require 'recall@10>=0.9'",
            param_hint="--measure",
        )
    if junit is not None:
        check_writable(junit, "--junit")
    try:
        asked = Gate(
            *thresholds,
            *(measure or ([Recall @ k] if k is not None and min_recall is None else ())),
            margin=margin,
            scores=score or (),
            slices=slices,
            confidence=confidence,
            min_coverage=min_coverage,
            point=point,
        )
        with noting():
            before = None if baseline is None else Report.open(baseline)
            result = _in_options(asked.check(Report.open(report), before))
        if markdown is not None:
            with markdown.open("a", encoding="utf-8") as file:
                file.write(result.to_markdown())
        if junit is not None:
            result.to_junit(junit)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    if as_json:
        write(json.dumps(result.to_dict(), indent=2) + "\n")
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


def _in_options(result: GateResult) -> GateResult:
    """Return a result whose reasons name options and not Python's parameters."""
    from fullrecall.cli.problems import as_options

    return replace(
        result,
        checks=tuple(replace(one, reason=as_options(one.reason)) for one in result.checks),
    )
