"""`fullrecall page REPORT`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fullrecall.cli.options import Measures

HELP = """\
It answers first what fails, why, and what to change; then the summary, the curves over k, \
slices, and every sample, to be sorted, filtered, and searched. Of two reports, in the order of \
`compare`: what fails now that did not, and what changed, with both retrievals side by side. Of \
more: the same from the first to the last, and run by run, the first one made first. With \
--corpus: more causes of misses.

Examples:
  fullrecall page report.jsonl
  fullrecall page report.jsonl --measure recall@5 --measure ndcg@10
  fullrecall page before.jsonl after.jsonl --output change.html
  fullrecall page may.jsonl june.jsonl july.jsonl --output runs.html
"""


_TWO = 2  # reports are a comparison; more are runs


def page(
    report: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORT",
            show_default=False,
            help="Reports saved by `evaluate --output`: one, BEFORE and AFTER, or several runs.",
        ),
    ],
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
            help="Write the page here. Default: beside the last REPORT, as .html.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", show_default=False, help="Page title.")
    ] = None,
) -> None:
    """Write the page of one report, of a comparison, or of several runs; see `HELP`."""
    from fullrecall.cli.console import fail, noting, show
    from fullrecall.cli.outputs import check_output
    from fullrecall.cli.problems import explained
    from fullrecall.diagnosis import diagnose
    from fullrecall.errors import FullrecallError
    from fullrecall.read import read_contexts
    from fullrecall.report import Comparisons, Report, compare

    path = output or report[-1].with_suffix(".html")
    if path.suffix != ".html":
        raise typer.BadParameter(f"must end in .html, got {path.name!r}", param_hint="--output")
    check_output(path, [*report, corpus], replace=True)
    measures = tuple(measure or ())
    try:
        with noting():
            reports = [Report.open(one) for one in report]
        contexts = None if corpus is None else list(read_contexts(corpus))
        if len(report) > _TWO:  # what to do next is a question to the last
            causes = [None if contexts is None else diagnose(reports[-1], corpus=contexts)]
            runs = Comparisons(dict(zip(_names(report), reports, strict=True)), *measures)
            runs.to_html(path, diagnosis=causes[0], title=title)
            show(f"Written to {path}.")
            return
        causes = [None if contexts is None else diagnose(r, corpus=contexts) for r in reports]
        if len(report) == 1:
            reports[0].to_html(path, measures=measures, diagnosis=causes[0], title=title)
        else:
            both = None if contexts is None else (causes[0], causes[1])
            compared = compare(reports[0], reports[1], *measures)
            compared.to_html(path, diagnoses=both, title=title)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    show(f"Written to {path}.")


def _names(paths: Sequence[Path]) -> list[str]:
    """Return what to call each report: its file without the ending, or where that is not enough."""
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else list(map(str, paths))
    return names if len(set(names)) == len(names) else [f"{n}. {s}" for n, s in enumerate(names, 1)]
