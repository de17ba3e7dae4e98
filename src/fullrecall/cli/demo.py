"""`fullrecall demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullrecall.cli.options import at_least

if TYPE_CHECKING:
    from fullrecall.demo import Demonstration

HELP = """\
Documents: your Python's standard library docs, with 77 questions as people ask them and 141 \
hard ones. SQLite's full-text search and trigrams retrieve; with LangChain and LlamaIndex \
installed, BM25 and static word embeddings join. A hybrid fuses all and reranks.

Examples:
  fullrecall demo
  fullrecall demo --k 5 --missed 20
  fullrecall demo --output reports
"""


def demo(
    *,
    k: Annotated[
        int,
        typer.Option(
            "--k",
            "-k",
            metavar="K",
            callback=at_least(1),
            help="Show recall of the first K chunks, and what they miss.",
        ),
    ] = 10,
    depth: Annotated[
        int,
        typer.Option(metavar="N", callback=at_least(1), help="Chunks to ask each retriever for."),
    ] = 50,
    missed: Annotated[
        int,
        typer.Option(metavar="N", callback=at_least(0), help="List the misses of N questions."),
    ] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIRECTORY",
            show_default=False,
            help="Save the reports, their pages, and compared.html here.",
        ),
    ] = None,
) -> None:
    """Run the demo and print its page; see `HELP`."""
    from fullrecall.cli.console import fail, show
    from fullrecall.cli.exits import INTERRUPTED
    from fullrecall.cli.problems import explained
    from fullrecall.demo import run
    from fullrecall.errors import FullrecallError
    from fullrecall.views import terminal

    if k > depth:
        raise typer.BadParameter(
            f"must not exceed --depth ({depth}), got {k}",
            param_hint="--k",
        )
    if output is not None and output.exists() and not output.is_dir():
        raise typer.BadParameter(f"must be a directory, got {output}", param_hint="--output")
    try:
        with terminal.console(sys.stderr).status("Several retrievers answer 218 questions…"):
            demonstration = run(k=k, depth=depth)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except FullrecallError as error:
        fail(*explained(error))
    from fullrecall.cli.demo_page import page

    if output is not None:
        _save(demonstration, output)
    show(*page(demonstration, k=k, depth=depth, missed=missed, output=output))


def _save(demonstration: Demonstration, directory: Path) -> None:
    from fullrecall.cli.console import fail
    from fullrecall.cli.problems import explained
    from fullrecall.report import compare

    first, *_, last = demonstration.reports
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, report in demonstration.reports.items():
            report.save(directory / f"{name.lower()}.jsonl")
            report.to_html(
                directory / f"{name.lower()}.html",
                title=f"The standard library's documentation, {name}",
                diagnosis=demonstration.diagnosis if name == last else None,
            )
        compare(demonstration.reports[first], demonstration.reports[last]).to_html(
            directory / "compared.html", title=f"{first} and {last}"
        )
    except OSError as error:
        fail(*explained(error))
