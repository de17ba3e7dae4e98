"""`fullrecall page REPORT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fullrecall.cli import options
from fullrecall.cli.console import show
from fullrecall.cli.outputs import check_output
from fullrecall.diagnosis import diagnose
from fullrecall.read import read_contexts
from fullrecall.report import Report, compare


def page(
    report: Annotated[
        list[Path],
        Argument(
            metavar="REPORT", help="Reports saved by `evaluate --output`: one, or BEFORE and AFTER."
        ),
    ],
    *,
    measure: options.MeasuresOption = None,
    corpus: Annotated[
        Path | None,
        options.file(
            help="Say why each target was missed: indexed contexts as JSON Lines with id and text, "
            "also as .gz."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        options.output(help="Write the page here. Default: beside the last REPORT, as .html."),
    ] = None,
    title: Annotated[str | None, Option(metavar="TEXT", help="Page title.")] = None,
) -> None:
    """Write a web page of saved reports.

    It answers first what fails, why, and what to change; then the summary, the curves over k, and
    every sample, to be sorted, filtered, and searched. Of two reports, in the order of
    `compare`: what fails now that did not, and what changed, with both retrievals side by side.
    With --corpus: more causes of misses.

    Examples:
      fullrecall page report.jsonl
      fullrecall page report.jsonl --measure recall@5 --measure ndcg@10
      fullrecall page before.jsonl after.jsonl --output change.html
    """
    if len(report) > 2:  # noqa: PLR2004 - before and after
        raise options.bad_option("REPORT…", f"expected one report, or two, got {len(report)}")
    path = output or report[-1].with_suffix(".html")
    check_output(path, endings=[".html"], inputs=[*report, corpus], replace=True)
    measures = tuple(measure or ())
    *earlier, last = [Report.open(path) for path in report]
    causes = None if corpus is None else diagnose(last, corpus=read_contexts(corpus))
    if earlier:
        compare(earlier[0], last, *measures).to_html(path, diagnosis=causes, title=title)
    else:
        last.to_html(path, measures=measures, diagnosis=causes, title=title)
    show(f"Written to {path}.")
