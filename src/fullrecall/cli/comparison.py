"""`fullrecall compare BEFORE AFTER`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullrecall.cli.options import Confidence, Cuts, Measures, at_least, cut, cuts, share

HELP = """\
Prints the mean difference, its interval, and p (sign-flip test). Samples are paired by their \
IDs, by position where none has one; samples that share a group count together.

Examples:
  fullrecall compare before.jsonl after.jsonl
  fullrecall compare before.jsonl after.jsonl --k 5 --measure ndcg@10
  fullrecall compare before.jsonl after.jsonl --margin 0.02 --flips 20
  fullrecall compare before.jsonl after.jsonl --markdown summary.md
"""


def compare(
    before: Annotated[
        Path,
        typer.Argument(
            metavar="BEFORE", show_default=False, help="Report saved by `evaluate --output`."
        ),
    ],
    after: Annotated[
        Path,
        typer.Argument(
            metavar="AFTER", show_default=False, help="Another report of the same questions."
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
    resamples: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(1),
            help="Sign patterns to draw when there are too many to try all.",
        ),
    ] = 9_999,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.")] = 0,
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
    import json

    from fullrecall.cli.console import fail, noting, show, write
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report
    from fullrecall.report import compare as compared
    from fullrecall.views import terminal
    from fullrecall.views.comparisons import comparison_sheet, flips_sheet

    try:
        with noting():
            comparison = compared(
                Report.open(before),
                Report.open(after),
                *cut(cuts(ks), measure),
                margin=margin,
                confidence=confidence,
                resamples=resamples,
                seed=seed,
            )
        if markdown is not None:
            with markdown.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(comparison.to_markdown(flips=flips))
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    if as_json:
        write(json.dumps(comparison.to_dict(), indent=2) + "\n")
        return
    sheet = comparison_sheet(comparison)
    show(terminal.Grid(sheet), "", *sheet.notes)
    for score in comparison:
        changed = flips_sheet(score, flips)
        if changed:
            show("", *terminal.parts(changed))
