"""`fullrecall page REPORT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullrecall.cli.options import Measures, ReportPath

HELP = """\
Write a web page of a saved report, or of two: one file that needs no server or network.

It shows the summary, the curves over k, and every sample with its contexts, targets, and \
evidence, to be sorted, filtered, and searched. Of two reports, in the order of `compare`: \
what changed, with both retrievals side by side. With --corpus: also why each target was missed.

[bold]Examples[/]
  fullrecall page report.jsonl
  fullrecall page report.jsonl --measure recall@5 --measure ndcg@10
  fullrecall page before.jsonl after.jsonl --output change.html
"""


def page(
    report: ReportPath,
    after: Annotated[
        Path | None,
        typer.Argument(
            metavar="AFTER",
            show_default=False,
            help="Another report of the same questions: REPORT is then what was before.",
        ),
    ] = None,
    *,
    measure: Measures = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Say why each target was missed: indexed contexts as JSON Lines with id and "
            "text, also as .gz.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Write the page here. Default: beside the (last) report, as .html.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", show_default=False, help="Page title.")
    ] = None,
) -> None:
    """Write the page of one report, or of a comparison; see `HELP`."""
    from fullrecall.cli.console import fail, noting, show
    from fullrecall.cli.outputs import check_output
    from fullrecall.cli.problems import explained
    from fullrecall.datasets import read_contexts
    from fullrecall.diagnosis import diagnose
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report, compare

    path = output or (after or report).with_suffix(".html")
    if path.suffix != ".html":
        raise typer.BadParameter(f"must end in .html, got {path.name!r}", param_hint="--output")
    check_output(path, [report, after, corpus])
    measures = tuple(measure or ())
    try:
        with noting():
            reports = [Report.load(one) for one in (report, after) if one is not None]
        contexts = None if corpus is None else list(read_contexts(corpus))
        causes = [None if contexts is None else diagnose(r, corpus=contexts) for r in reports]
        if after is None:
            reports[0].to_html(path, measures=measures, diagnosis=causes[0], title=title)
        else:
            both = (causes[0], causes[1])
            compared = compare(reports[0], reports[1], *measures)
            compared.to_html(path, diagnoses=both, title=title)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    show(f"Written to {path}.")
