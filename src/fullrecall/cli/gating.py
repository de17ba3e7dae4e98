"""`fullrecall gate REPORT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HELP = """\
Decide whether a saved report is good enough, for CI: exit 0 pass, 1 fail, 3 cannot tell.

A verdict needs proof: pass, if recall is with 95% confidence not below what is asked for; fail, \
if it is with the same confidence below; else there are too few samples to tell, and how many \
would do is said. What has no score counts at its worst and at its best, unless --min-coverage \
says how much may lack one. --point compares the mean alone: for a fixed set of questions that \
stand for no others.

[bold]Examples[/]
  fullrecall gate report.jsonl --min-recall 0.9 --at 10
  fullrecall gate report.jsonl --baseline main.jsonl --margin 0.02
  fullrecall gate report.jsonl --min-recall 0.8 --markdown summary.md
"""

CODES = {"pass": 0, "fail": 1, "cannot_tell": 3}
"""What each verdict exits with; 2 is wrong usage or input."""

_RULES = "What is asked for"
_DECIDING = "How it is decided"
_WRITING = "Where it is written"


def gate(
    report: Annotated[
        Path,
        typer.Argument(
            metavar="REPORT", show_default=False, help="A report that `evaluate --output` saved."
        ),
    ],
    *,
    min_recall: Annotated[
        float | None,
        typer.Option(
            metavar="0…1", show_default=False, rich_help_panel=_RULES, help="The least mean recall."
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="REPORT",
            show_default=False,
            rich_help_panel=_RULES,
            help="The report that this one must not be worse than; needs --margin.",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            show_default=False,
            rich_help_panel=_RULES,
            help="How much lower than the baseline's the mean may be.",
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            show_default=False,
            rich_help_panel=_RULES,
            help="Read recall at this k. Without it: at the score's own.",
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=_RULES,
            help="Which score, such as id_recall; repeat it for several, which must all pass.",
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(metavar="0…1", rich_help_panel=_DECIDING, help="How sure a verdict is."),
    ] = 0.95,
    min_coverage: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            show_default=False,
            rich_help_panel=_DECIDING,
            help="The share of samples that must have a score; it goes by these alone then.",
        ),
    ] = None,
    point: Annotated[
        bool,
        typer.Option(
            "--point",
            rich_help_panel=_DECIDING,
            help="Compare the mean itself: no confidence, and luck may decide.",
        ),
    ] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel=_WRITING,
            help="Append the verdict as Markdown, for instance to $GITHUB_STEP_SUMMARY.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.xml",
            show_default=False,
            rich_help_panel=_WRITING,
            help="Write the verdict as JUnit's XML.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", rich_help_panel=_WRITING, help="Print the verdict as JSON and nothing else."
        ),
    ] = False,
) -> None:
    """Decide on a saved report, print the verdict and exit with its code; see `HELP`."""
    import json

    from fullrecall.cli.outputs import check_writable
    from fullrecall.cli.printing import fail, noting, show, write
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Gate, Report, terminal

    if min_recall is None and baseline is None and margin is None:
        raise typer.BadParameter("nothing is asked for: --min-recall, or --baseline and --margin")
    if (baseline is None) != (margin is None):
        raise typer.BadParameter("--baseline and --margin go together: give both or none")
    if junit is not None:
        check_writable(junit, "--junit")
    try:
        asked = Gate(
            min_recall=min_recall,
            margin=margin,
            at=at,
            scores=score or (),
            confidence=confidence,
            min_coverage=min_coverage,
            point=point,
        )
        with noting():
            before = None if baseline is None else Report.load(baseline)
            result = asked.check(Report.load(report), before)
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
        show(*terminal.verdicts(result))
    raise typer.Exit(CODES[result.verdict])
