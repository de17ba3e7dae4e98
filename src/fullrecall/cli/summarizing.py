"""`fullrecall summary REPORT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HELP = """\
Print what a saved report adds up to, and how many contexts would be enough.

With --smallest-k: the smallest k whose mean recall reaches the target, so sure that the search \
for it is allowed for, and what that many contexts cost in tokens. "No k does" is an answer.

[bold]Examples[/]
  fullrecall summary report.jsonl
  fullrecall summary report.jsonl --smallest-k 0.9
  fullrecall summary report.jsonl --smallest-k 0.9 --measure all_found
"""

_SMALLEST = "The smallest k"


def summary(
    report: Annotated[
        Path,
        typer.Argument(
            metavar="REPORT", show_default=False, help="A report that `evaluate --output` saved."
        ),
    ],
    *,
    target: Annotated[
        float | None,
        typer.Option(
            "--smallest-k",
            metavar="0…1",
            show_default=False,
            rich_help_panel=_SMALLEST,
            help="Find the smallest k at which the mean reaches this.",
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=_SMALLEST,
            help="Of which score, such as id_recall; repeatable. Without it: of each recall.",
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=_SMALLEST,
            help="By another measure, such as hit or all_found. Without it: the score's own.",
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(metavar="0…1", rich_help_panel=_SMALLEST, help="How sure the k is."),
    ] = 0.95,
    largest: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            show_default=False,
            rich_help_panel=_SMALLEST,
            help="Look no further than this. Without it: as many as were retrieved.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
) -> None:
    """Print the summary of a saved report; see `HELP`."""
    import json

    from fullrecall.cli.printing import fail, noting, show, write
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report, terminal

    given = {"--score": score, "--measure": measure, "--largest": largest}
    unused = [option for option, value in given.items() if value is not None]
    if target is None and unused:
        raise typer.BadParameter("it says how to look for --smallest-k", param_hint=unused[0])
    try:
        with noting():
            loaded = Report.load(report)
        names = score or [m.name for m in loaded.methods if m.measure == "recall"]
        found = [
            loaded.smallest_k(target, confidence, score=name, measure=measure, largest=largest)
            for name in (names if target is not None else ())
            if target is not None
        ]
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    shown = loaded.summary()
    if as_json:
        plain = shown.to_dict()
        if target is not None:
            plain["smallest_k"] = [one.to_dict() for one in found]
        write(json.dumps(plain, indent=2) + "\n")
        return
    show(terminal.summary_table(shown), "", *terminal.gaps(shown))
    if target is not None:
        show("", *(one.reason for one in found))
        if not found:
            show("The report has no recall: --score names another score.")
