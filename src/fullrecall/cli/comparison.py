"""`fullrecall compare BEFORE AFTER`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument

from fullrecall._util.places import shown_path
from fullrecall.cli import options
from fullrecall.cli.console import show_result
from fullrecall.cli.outputs import append
from fullrecall.report import Comparison, Report
from fullrecall.report import compare as comparison_of
from fullrecall.show import markdown as markdown_writer
from fullrecall.show import terminal
from fullrecall.stats.change import flips_sheet
from fullrecall.stats.comparison import Comparisons


def compare(
    reports: Annotated[
        list[Path],
        Argument(
            metavar="BEFORE AFTER…",
            help="Reports of the same questions saved by `evaluate --output`, two or more.",
        ),
    ],
    *,
    ks: options.KsOption = None,
    measure: options.MeasuresOption = None,
    flips: Annotated[int, options.count(help="List the N samples that changed most.")] = 5,
    markdown: options.MarkdownOption = None,
    as_json: options.JsonOption = False,
    confidence: options.ConfidenceOption = 0.95,
    slices: options.SlicesOption = None,
) -> None:
    """Compare saved reports of the same questions.

    Prints the mean difference, its interval, and its p-value. Samples are paired by their
    IDs, or by question where none has one; samples that share a group count together. With more
    than two reports, each is compared with the first, with one error rate for all.

    Examples:
      fullrecall compare before.jsonl after.jsonl
      fullrecall compare before.jsonl after.jsonl --k 5 --measure ndcg@10
      fullrecall compare before.jsonl after.jsonl --flips 20
      fullrecall compare before.jsonl after.jsonl --k 5 --slices kind
      fullrecall compare bm25.jsonl dense.jsonl hybrid.jsonl --k 5
      fullrecall compare before.jsonl after.jsonl --markdown summary.md
    """
    if len(reports) < 2:  # noqa: PLR2004 - one has nothing beside it
        raise options.bad_option("BEFORE AFTER…", "must be at least 2 reports, got 1")
    measures, loaded = options.measures_of(ks, measure), list(map(Report.open, reports))
    comparison: Comparison | Comparisons
    if len(loaded) == 2:  # noqa: PLR2004 - before and after
        comparison = comparison_of(
            loaded[0], loaded[1], *measures, confidence=confidence, slices=slices
        )
        sheets = [*comparison.sheets, *(flips_sheet(score, flips) for score in comparison)]
        in_markdown = comparison.to_markdown(flips=flips)
    else:
        if slices is not None:
            raise options.bad_option("--slices", "needs two reports")
        by_name = dict(zip(names_of(reports), loaded, strict=True))
        comparison = comparison_of(by_name, *measures, confidence=confidence)
        sheets = list(comparison.sheets)
        in_markdown = markdown_writer.text_of("Context recall, report by report", *sheets)
    if markdown is not None:
        append(markdown, in_markdown)
    show_result(comparison.to_dict, terminal.parts(*sheets), as_json=as_json)


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return distinct names for reports: their files' names, or numbers with their paths."""
    names = [path.stem for path in paths]
    if len(set(names)) == len(names):
        return names
    return [f"{number}. {shown_path(path)}" for number, path in enumerate(paths, 1)]
