"""`fullrecall demo`."""

from __future__ import annotations

import sys
from pathlib import Path

from fullrecall.cli.console import show
from fullrecall.cli.demo_page import page
from fullrecall.cli.exits import wrong
from fullrecall.cli.options import Count, Positive
from fullrecall.demo import Demonstration, run
from fullrecall.report import compare
from fullrecall.views import terminal


def demo(
    *,
    k: Positive = 10,
    depth: Positive = 50,
    missed: Count = 5,
    output: Path | None = None,
) -> None:
    """Run the demo and print its page.

    Documents: your Python's standard library docs, with 77 questions as people ask them and 141
    hard ones. SQLite's full-text search and trigrams retrieve; a hybrid fuses both and reranks.

    Examples:
      fullrecall demo
      fullrecall demo --k 5 --missed 20
      fullrecall demo --output reports

    - `k`: Show recall of the first K chunks, and what they miss.
    - `depth`: Chunks to ask each retriever for.
    - `missed`: List the misses of N questions.
    - `output DIRECTORY`: Save the reports, their pages, and compared.html here.
    """
    if k > depth:
        raise wrong("--k", f"must not exceed --depth ({depth}), got {k}")
    if output is not None and output.exists() and not output.is_dir():
        raise wrong("--output", f"must be a directory, got {output}")
    with terminal.console(sys.stderr).status("Three retrievers answer 218 questions…"):
        demonstration = run(k=k, depth=depth)
    if output is not None:
        _save(demonstration, output)
    show(*page(demonstration, k=k, depth=depth, missed=missed, output=output))


def _save(demonstration: Demonstration, directory: Path) -> None:
    first, *_, last = demonstration.reports
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
