"""`fullrecall summary REPORT`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fullrecall.cli.options import Cuts, Measures, ReportPath, above_zero, cut, cuts, level, share
from fullrecall.measures import Measure, Recall
from fullrecall.measures.budgets import Unit

if TYPE_CHECKING:
    from fullrecall.report import Report

HELP = """\
With --smallest-k: the smallest k whose mean reaches the threshold, at a confidence that is \
corrected for the search, and its cost in tokens. "No k" is an answer.

Examples:
  fullrecall summary report.jsonl
  fullrecall summary report.jsonl --k 1,5 --measure ndcg@10
  fullrecall summary report.jsonl --smallest-k 0.9 --measure all_found
  fullrecall summary agent.jsonl --smallest-k 0.9 --unit calls
"""

_SMALLEST = "Smallest k"


def summary(
    report: ReportPath,
    *,
    ks: Cuts = None,
    measure: Measures = None,
    target: Annotated[
        float | None,
        typer.Option(
            "--smallest-k",
            metavar="0…1",
            callback=share,
            show_default=False,
            rich_help_panel=_SMALLEST,
            help="Find the smallest k whose mean reaches this threshold: mean recall, or the mean "
            "of --measure, whatever its k.",
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=_SMALLEST,
            help="Score to use; repeatable. Default: every recall score.",
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            metavar="0…1", callback=level, rich_help_panel=_SMALLEST, help="Confidence in the k."
        ),
    ] = 0.95,
    unit: Annotated[
        Unit | None,
        typer.Option(
            show_default=False,
            rich_help_panel=_SMALLEST,
            help="Find the smallest budget of this unit, in place of a number of contexts.",
        ),
    ] = None,
    largest: Annotated[
        float | None,
        typer.Option(
            metavar="K",
            callback=above_zero,
            show_default=False,
            rich_help_panel=_SMALLEST,
            help="Largest k, or budget, to try. Default: what holds all that was retrieved.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
) -> None:
    """Print the summary of a saved report; see `HELP`."""
    import json

    from fullrecall.cli.console import fail, noting, show, write
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report
    from fullrecall.views import terminal
    from fullrecall.views.summaries import summary_sheet

    given = {"--score": score, "--unit": unit, "--largest": largest}
    unused = [option for option, value in given.items() if value is not None]
    if target is None and unused:
        raise typer.BadParameter("needs --smallest-k", param_hint=unused[0])
    measures = cut(cuts(ks), measure)
    try:
        with noting():
            loaded = Report.open(report)
        found = [
            loaded.smallest_k(
                target, each, confidence=confidence, score=name, unit=unit, largest=largest
            )
            for name, each in _searched(loaded, score, measures)
            if target is not None
        ]
        shown = loaded.summary(*measures)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    if as_json:
        plain = shown.to_dict()
        if target is not None:
            plain["smallest_k"] = [one.to_dict() for one in found]
        write(json.dumps(plain, indent=2) + "\n")
        return
    sheet = summary_sheet(shown)
    show(terminal.Grid(sheet), "", *sheet.notes)
    if target is not None:
        show("", *(one.reason for one in found))
        if not found:
            show("The report has no recall score: choose another with --score.")


def _searched(
    report: Report, scores: Sequence[str] | None, measures: Sequence[Measure]
) -> Iterator[tuple[str, Measure]]:
    """Yield each score with each measure to find the smallest k of."""
    for name in scores or [m.name for m in report.methods if m.headline == Recall]:
        for measure in dict.fromkeys(one.whole for one in measures or (Recall,)):
            yield name, measure
