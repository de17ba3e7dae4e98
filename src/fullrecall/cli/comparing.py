"""`fullrecall compare BEFORE AFTER`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullrecall.cli.checking import at_least

HELP = """\
Compare two saved reports of the same questions: was a change an improvement?

Samples are paired by their IDs, by position where none has one. The interval is that of the mean \
difference, p that of no difference (a sign-flip permutation test); samples that share a group \
count together.

[bold]Examples[/]
  fullrecall evaluate bm25.json --output before.jsonl
  fullrecall compare before.jsonl after.jsonl
  fullrecall compare before.jsonl after.jsonl --margin 0.02 --flips 20
"""


def compare(
    before: Annotated[
        Path,
        typer.Argument(
            metavar="BEFORE", show_default=False, help="A report that `evaluate --output` saved."
        ),
    ],
    after: Annotated[
        Path,
        typer.Argument(
            metavar="AFTER", show_default=False, help="Another report of the same questions."
        ),
    ],
    *,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            show_default=False,
            help="Say whether a loss of more than this can be ruled out.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="0…1", help="How sure intervals and bounds are.")
    ] = 0.95,
    resamples: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(1),
            help="How many sign patterns are drawn where there are too many to count all.",
        ),
    ] = 9_999,
    seed: Annotated[int, typer.Option(metavar="N", help="What they are drawn by.")] = 0,
    flips: Annotated[
        int,
        typer.Option(
            metavar="N", callback=at_least(0), help="List the N samples that changed most."
        ),
    ] = 5,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the comparison as JSON and nothing else.")
    ] = False,
) -> None:
    """Compare two saved reports and print the comparison; see `HELP`."""
    import json

    from fullrecall.cli.printing import fail, noting, show, write
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report, terminal
    from fullrecall.report import compare as compared

    try:
        with noting():
            comparison = compared(
                Report.load(before),
                Report.load(after),
                margin=margin,
                confidence=confidence,
                resamples=resamples,
                seed=seed,
            )
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    if as_json:
        write(json.dumps(comparison.to_dict(), indent=2) + "\n")
        return
    show(terminal.comparison_table(comparison), "", *terminal.comparison_notes(comparison))
    for score in comparison:
        changed = list(terminal.flips(score, flips))
        if changed:
            show("", *changed)
