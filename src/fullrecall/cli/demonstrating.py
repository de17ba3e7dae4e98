"""`fullrecall demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullrecall.cli.checking import at_least

if TYPE_CHECKING:
    from fullrecall.demo import Demonstration

HELP = """\
Measure two real retrievers on this machine: no key, no download, less than a minute.

The documents are those of the standard library of the Python that runs this, with judged \
questions about them. BM25 retrieves through LangChain, static word embeddings through a \
LlamaIndex query engine.

[bold]Examples[/]
  fullrecall demo
  fullrecall demo --k 5 --missed 20
  fullrecall demo --output reports
"""


def demo(
    *,
    k: Annotated[
        int,
        typer.Option(
            "--k", "-k", metavar="K", callback=at_least(1), help="Count the first K chunks."
        ),
    ] = 10,
    depth: Annotated[
        int,
        typer.Option(
            metavar="N", callback=at_least(1), help="How many chunks each retriever is asked for."
        ),
    ] = 50,
    missed: Annotated[
        int,
        typer.Option(
            metavar="N", callback=at_least(0), help="List what was missed for N of the questions."
        ),
    ] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIRECTORY",
            show_default=False,
            help="Save both reports there, as bm25.jsonl and dense.jsonl, and as web pages: each "
            "one, and both side by side as compared.html.",
        ),
    ] = None,
) -> None:
    """Run the demo and print its page; see `HELP`."""
    from fullrecall.cli.printing import INTERRUPTED, fail, show
    from fullrecall.demo import install_command, run
    from fullrecall.report import terminal

    if k > depth:
        raise typer.BadParameter(
            f"{k} chunks cannot be counted of the {depth} that --depth retrieves",
            param_hint="--k",
        )
    command = install_command()
    if command is not None:
        fail("the demo needs packages that are not installed", command)
    if output is not None and output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{output} is no directory", param_hint="--output")
    try:
        with terminal.console(sys.stderr).status("Two retrievers answer 141 questions…"):
            demonstration = run(k=k, depth=depth)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    from fullrecall.cli.demo_page import page

    if output is not None:
        _save(demonstration, output)
    show(*page(demonstration, k=k, depth=depth, missed=missed, output=output))


def _save(demonstration: Demonstration, directory: Path) -> None:
    from fullrecall.cli.printing import fail
    from fullrecall.cli.problems import explained
    from fullrecall.report import compare

    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, report in demonstration.reports.items():
            report.save(directory / f"{name.lower()}.jsonl")
            report.to_html(
                directory / f"{name.lower()}.html",
                title=f"The standard library's documentation, {name}",
            )
        before, after = demonstration.reports.values()
        compare(before, after).to_html(
            directory / "compared.html", title=" and ".join(demonstration.reports)
        )
    except OSError as error:
        fail(*explained(error))
