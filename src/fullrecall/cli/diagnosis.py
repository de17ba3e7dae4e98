"""`fullrecall diagnose REPORT`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullrecall.cli.options import ReportPath, at_least, share

if TYPE_CHECKING:
    from fullrecall.diagnosis import Diagnosed

HELP = """\
Add --corpus, one indexed context per line, to find more causes.

[bold]A line of the corpus[/]
  {"id": "doc_7", "text": "The Eiffel Tower is in Paris."}

[bold]Examples[/]
  fullrecall diagnose report.jsonl --k 10
  fullrecall diagnose report.jsonl --corpus chunks.jsonl
  fullrecall diagnose report.jsonl --corpus chunks.jsonl --html report.html
"""


def diagnose(
    report: ReportPath,
    *,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Indexed contexts: JSON Lines with id and text, also as .gz.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            "-k",
            metavar="K",
            callback=at_least(1),
            show_default=False,
            help="Diagnose what the first K contexts miss. Default: all retrieved contexts.",
        ),
    ] = None,
    near_duplicate: Annotated[
        float,
        typer.Option(
            metavar="0…1",
            callback=share,
            help="Similarity at which two texts count as duplicates.",
        ),
    ] = 0.9,
    min_run: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(1),
            help="Shortest run of characters that counts as a match.",
        ),
    ] = 32,
    misses: Annotated[
        int, typer.Option(metavar="N", callback=at_least(0), help="List N misses of each cause.")
    ] = 3,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Write the report's page with the causes."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the diagnosis as JSON and nothing else.")
    ] = False,
) -> None:
    """Diagnose a saved report and print the causes; see `HELP`."""
    import json

    from fullrecall.cli.console import fail, noting, show, write
    from fullrecall.cli.outputs import check_writable
    from fullrecall.cli.problems import as_options, explained
    from fullrecall.datasets import read_contexts
    from fullrecall.diagnosis import diagnose as diagnosed
    from fullrecall.errors import FullrecallError
    from fullrecall.report import Report

    if html is not None:
        check_writable(html, "--html")
    try:
        with noting():
            loaded = Report.load(report)
        found = diagnosed(
            loaded,
            k=k,
            corpus=None if corpus is None else read_contexts(corpus),
            near_duplicate=near_duplicate,
            min_run=min_run,
        )
        if html is not None:
            loaded.to_html(html, diagnosis=found)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    if as_json:
        write(json.dumps(found.to_dict(), indent=2) + "\n")
        return
    write(as_options(str(found)))
    for cause in found.counts():
        examples = [miss for miss in found if miss.cause == cause][:misses]
        if examples:
            show("", *(_line(miss) for miss in examples))
    if html is not None:
        show("", f"Written to {html}.")


def _line(miss: Diagnosed) -> str:
    from fullrecall.cli.problems import as_options
    from fullrecall.report.terminal import one_line

    where = f"{one_line(miss.sample, 40)}, {miss.score}"
    cause = str(miss.cause).replace("_", " ")
    detail = one_line(as_options(miss.detail), 200)
    return f"{where}: {one_line(miss.target, 80)}: {cause}, {detail}"
