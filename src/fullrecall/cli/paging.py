"""`fullrecall page REPORT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HELP = """\
Make a web page of a saved report, or of two: one file that needs no server and fetches nothing.

It shows the summary, the curves over k, and every sample with its contexts, targets and evidence, \
to be sorted, filtered and searched. With --before: what changed, both retrievals side by side. \
With --corpus: why each target was missed, too.

[bold]Examples[/]
  fullrecall evaluate answers.jsonl --output report.jsonl
  fullrecall page report.jsonl
  fullrecall page after.jsonl --before before.jsonl --output change.html
"""


def page(
    report: Annotated[
        Path,
        typer.Argument(
            metavar="REPORT", show_default=False, help="A report that `evaluate --output` saved."
        ),
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
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Say why each target was missed. What is indexed: JSON Lines with id and text, "
            "also as .gz.",
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
    from fullrecall.cli.printing import fail, noting, show
    from fullrecall.cli.problems import explained
    from fullrecall.datasets import read_contexts
    from fullrecall.diagnosis import diagnose
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report, compare

    path = output or report.with_suffix(".html")
    if path.suffix != ".html":
        raise typer.BadParameter(f"{path.name!r} does not end in .html", param_hint="--output")
    check_output(path, [report, before, corpus])
    try:
        with noting():
            reports = [Report.load(one) for one in (before, report) if one is not None]
        contexts = None if corpus is None else list(read_contexts(corpus))
        causes = [None if contexts is None else diagnose(r, corpus=contexts) for r in reports]
        if before is None:
            reports[0].to_html(path, diagnosis=causes[0], title=title)
        else:
            both = (causes[0], causes[1])
            compare(reports[0], reports[1]).to_html(path, diagnoses=both, title=title)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    show(f"Written to {path}.")
