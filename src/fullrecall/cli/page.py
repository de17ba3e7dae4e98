"""`fullrecall page REPORT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fullrecall.cli import options
from fullrecall.cli.addresses import retriever_of
from fullrecall.cli.console import show
from fullrecall.cli.outputs import check_output
from fullrecall.cli.source import corpus_of
from fullrecall.page import diagnosed
from fullrecall.report import Report, compare


def page(
    report: Annotated[
        list[Path],
        Argument(
            metavar="REPORT",
            help="Reports saved by `evaluate --output`: one; or the baseline, then others.",
        ),
    ],
    *,
    measure: options.MeasuresOption = None,
    corpus: options.DiagnosedCorpusOption = None,
    retriever: options.DeeperRetrieverOption = None,
    output: Annotated[
        Path | None,
        options.output(help="Write the page here. Default: beside the last REPORT, as .html."),
    ] = None,
    title: Annotated[str | None, Option(metavar="TEXT", help="Page title.")] = None,
) -> None:
    """Write a web page of saved reports.

    It shows first the failures, their causes, and the changes to make; then the summary, the
    curves over k, and every sample, to be sorted, filtered, and searched. With several reports,
    each by its file's name: a table of all; then the changes from the first to the last, and the
    new failures, with both retrievals side by side.
    With --corpus or --retriever: more causes of misses.

    Examples:
      fullrecall page report.jsonl
      fullrecall page report.jsonl --measure recall@5 --measure ndcg@10
      fullrecall page before.jsonl after.jsonl --output change.html
      fullrecall page report.jsonl -m recall@5 --retriever app.py:search
    """
    path = output or report[-1].with_suffix(".html")
    check_output(path, endings=[".html"], inputs=[*report, corpus], replace=True)
    measures = tuple(measure or ())
    stems = [each.stem for each in report]
    names = stems if len(set(stems)) == len(stems) else list(map(str, report))
    if len(set(names)) < len(names):
        raise options.bad_option("REPORT…", "expected each report once")
    reports = {name: Report.open(each) for name, each in zip(names, report, strict=True)}
    last = reports[names[-1]]
    causes = None
    if corpus is not None or retriever is not None:
        causes = diagnosed(
            last,
            measures,
            corpus=corpus_of(corpus),
            retriever=None if retriever is None else retriever_of(retriever),
        )
    if len(reports) > 1:
        compare(reports, *measures).to_html(path, diagnosis=causes, title=title)
    else:
        last.to_html(path, measures=measures, diagnosis=causes, title=title)
    show(f"Written to {path}.")
