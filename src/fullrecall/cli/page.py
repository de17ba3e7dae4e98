"""`fullrecall page REPORT`."""

from __future__ import annotations

from pathlib import Path

from fullrecall.cli.comparison import names_of
from fullrecall.cli.console import show
from fullrecall.cli.options import MeasureText
from fullrecall.cli.outputs import check_output
from fullrecall.diagnosis import diagnose
from fullrecall.read import read_contexts
from fullrecall.report import Comparisons, Report, compare

_TWO = 2  # reports are a comparison; more are runs


def page(
    report: list[Path],
    *,
    measure: list[MeasureText] | None = None,
    corpus: Path | None = None,
    output: Path | None = None,
    title: str | None = None,
) -> None:
    """Write the page of one report, of a comparison, or of several runs.

    It answers first what fails, why, and what to change; then the summary, the curves over k,
    slices, and every sample, to be sorted, filtered, and searched. Of two reports, in the order of
    `compare`: what fails now that did not, and what changed, with both retrievals side by side. Of
    more: the same from the first to the last, and run by run, the first one made first. With
    --corpus: more causes of misses.

    Examples:
      fullrecall page report.jsonl
      fullrecall page report.jsonl --measure recall@5 --measure ndcg@10
      fullrecall page before.jsonl after.jsonl --output change.html
      fullrecall page may.jsonl june.jsonl july.jsonl --output runs.html

    - `report`: Reports saved by `evaluate --output`: one, BEFORE and AFTER, or several runs.
    - `corpus FILE`: Say why each target was missed: indexed contexts as JSON Lines with id and
      text, also as .gz.
    - `output`: Write the page here. Default: beside the last REPORT, as .html.
    - `title TEXT`: Page title.
    """
    path = output or report[-1].with_suffix(".html")
    check_output(path, endings=[".html"], inputs=[*report, corpus], replace=True)
    measures = tuple(measure or ())
    reports = [Report.open(path) for path in report]
    # What to do next is a question to the last of several runs.
    diagnosed = reports[-1:] if len(reports) > _TWO else reports
    contexts = None if corpus is None else list(read_contexts(corpus))
    causes = [None if contexts is None else diagnose(each, corpus=contexts) for each in diagnosed]
    if len(reports) == 1:
        reports[0].to_html(path, measures=measures, diagnosis=causes[0], title=title)
    elif len(reports) == _TWO:
        both = None if contexts is None else (causes[0], causes[1])
        compare(reports[0], reports[1], *measures).to_html(path, diagnoses=both, title=title)
    else:
        runs = Comparisons(dict(zip(names_of(report), reports, strict=True)), *measures)
        runs.to_html(path, diagnosis=causes[0], title=title)
    show(f"Written to {path}.")
