"""`fullrecall page REPORT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HELP = """\
Make a web page of a saved report, or of two: one file that needs no server and fetches nothing.

It shows the summary, the curves over k, and every sample with its contexts, targets and evidence, \
to be sorted, filtered and searched. With --before: what changed, both retrievals side by side.

[bold]Examples[/]
  fullrecall evaluate answers.jsonl --output report.jsonl
  fullrecall page report.jsonl
  fullrecall page after.jsonl --before before.jsonl --output change.html
"""


def page(
    report: Annotated[
        Path,
        typer.Argument(metavar="REPORT", show_default=False, help="A report: evaluate --output."),
    ],
    *,
    before: Annotated[
        Path | None,
        typer.Option(
            metavar="REPORT",
            show_default=False,
            help="Compare with this report of the same questions.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Write the page there. Without it: beside REPORT, ending in .html.",
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", show_default=False, help="What the page is headed."),
    ] = None,
) -> None:
    """Write the page of one report, or of a comparison; see `HELP`."""
    from fullrecall.cli.outputs import check_output
    from fullrecall.cli.printing import fail, show
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report, compare

    path = output or report.with_suffix(".html")
    if path.suffix != ".html":
        raise typer.BadParameter(f"{path.name!r} does not end in .html", param_hint="--output")
    check_output(path, [report, before])
    try:
        shown = Report.load(report)
        if before is None:
            shown.to_html(path, title=title)
        else:
            compare(Report.load(before), shown).to_html(path, title=title)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    show(f"Written to {path}.")
