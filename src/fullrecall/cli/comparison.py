"""`fullrecall compare BEFORE AFTER`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullrecall.cli.options import (
    Confidence,
    Cuts,
    Measures,
    above_zero,
    at_least,
    cut,
    cuts,
    share,
)

if TYPE_CHECKING:
    from fullrecall.results.comparisons import Comparisons

HELP = """\
Prints the mean difference, its interval, and p (sign-flip test). Samples are paired by their \
IDs, by position where none has one; samples that share a group count together. With more than two \
reports, each is compared with the first, with one error rate for all.

Examples:
  fullrecall compare before.jsonl after.jsonl
  fullrecall compare before.jsonl after.jsonl --k 5 --measure ndcg@10
  fullrecall compare before.jsonl after.jsonl --margin 0.02 --flips 20
  fullrecall compare bm25.jsonl dense.jsonl hybrid.jsonl --k 5
  fullrecall compare before.jsonl after.jsonl --markdown summary.md
"""


def compare(
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="BEFORE AFTER…",
            show_default=False,
            help="Reports of the same questions saved by `evaluate --output`, two or more.",
        ),
    ],
    *,
    ks: Cuts = None,
    measure: Measures = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            callback=share,
            show_default=False,
            help="Test whether a drop larger than this is ruled out.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    largest: Annotated[
        float,
        typer.Option(
            "--range",
            metavar="0…1",
            callback=above_zero,
            help="Largest change of a sample that is possible, if you know one beforehand.",
        ),
    ] = 1.0,
    flips: Annotated[
        int,
        typer.Option(
            metavar="N", callback=at_least(0), help="List the N samples that changed most."
        ),
    ] = 5,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Append the comparison as Markdown, for instance to $GITHUB_STEP_SUMMARY.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the comparison as JSON and nothing else.")
    ] = False,
) -> None:
    """Compare two saved reports and print the comparison; see `HELP`."""
    from fullrecall.cli.console import fail, noting, show, write
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report
    from fullrecall.report import compare as compared
    from fullrecall.views import terminal
    from fullrecall.views.comparisons import comparison_sheet, flips_sheet

    if len(reports) < 2:  # noqa: PLR2004 - one has nothing beside it
        raise typer.BadParameter("must be at least 2 reports, got 1", param_hint="BEFORE AFTER…")
    settings: dict[str, Any] = {"margin": margin, "confidence": confidence, "range": largest}
    measures = cut(cuts(ks), measure)
    try:
        with noting():
            if len(reports) > 2:  # noqa: PLR2004 - a table of all
                named = {name: Report.open(path) for name, path in _named(reports).items()}
                several = compared(named, *measures, **settings)
                _print_several(several, markdown, as_json=as_json)
                return
            before, after = map(Report.open, reports)
            comparison = compared(before, after, *measures, **settings)
        if markdown is not None:
            _append(markdown, comparison.to_markdown(flips=flips))
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    if as_json:
        write(json.dumps(comparison.to_dict(), indent=2) + "\n")
        return
    sheet = comparison_sheet(comparison)
    show(*terminal.leading(sheet), terminal.Grid(sheet), "", *sheet.notes)
    for score in comparison:
        changed = flips_sheet(score, flips)
        if changed:
            show("", *terminal.parts(changed))


def _named(paths: list[Path]) -> dict[str, Path]:
    """Return reports by names that tell them apart: their files', or their paths."""
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise typer.BadParameter(f"{twice} is named twice", param_hint="BEFORE AFTER…")
    return dict(zip(names, paths, strict=True))


def _print_several(several: Comparisons, markdown: Path | None, *, as_json: bool) -> None:
    from fullrecall.cli.console import show, write
    from fullrecall.views import markdown as markdown_writer
    from fullrecall.views import terminal
    from fullrecall.views.comparisons import runs_sheet

    sheet = runs_sheet(several)
    if markdown is not None:
        _append(markdown, markdown_writer.text_of("Context recall, report by report", sheet))
    if as_json:
        write(json.dumps(several.to_dict(), indent=2) + "\n")
    else:
        show(*terminal.leading(sheet), terminal.Grid(sheet), "", *sheet.notes)


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
