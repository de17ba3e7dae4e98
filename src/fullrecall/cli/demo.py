"""`fullrecall demo`."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from fullrecall._util.counts import counted
from fullrecall.cli import options
from fullrecall.cli.console import show
from fullrecall.cli.misses import missed_lines
from fullrecall.demo import Demonstration, run
from fullrecall.measures import Recall
from fullrecall.report import compare
from fullrecall.show import terminal
from fullrecall.show.sheet import Line, Section, Sheet
from fullrecall.show.text import shown
from fullrecall.stats.score_sheets import coverage, mean_cell

if TYPE_CHECKING:
    from rich.console import RenderableType


_DEPTH = 50
"""Chunks that each retriever is asked for."""


def demo(
    *,
    k: Annotated[
        int, options.first_k(help="Show recall of the first K chunks, and what they miss.")
    ] = 10,
    missed: Annotated[int, options.count(help="List the misses of N questions.")] = 5,
    output: Annotated[
        Path | None,
        options.output(
            metavar="DIRECTORY", help="Save the reports, their pages, and compared.html here."
        ),
    ] = None,
) -> None:
    """Measure real retrievers on this machine: no key, no download.

    Documents: your Python's standard library docs, with 77 questions as people ask them and 141
    hard ones. SQLite's full-text search and trigrams retrieve.

    Examples:
      fullrecall demo
      fullrecall demo --k 5 --missed 20
      fullrecall demo --output reports
    """
    if k > _DEPTH:
        raise options.bad_option("--k", f"must be at most {_DEPTH}, got {k}")
    if output is not None and output.exists() and not output.is_dir():
        raise options.bad_option("--output", f"must be a directory, got {output}")
    # On standard error, so that what is printed can be piped.
    with terminal.console(sys.stderr).status("Two retrievers answer 218 questions…"):
        demonstration = run(k=k, depth=_DEPTH)
    if output is not None:
        _save(demonstration, output)
    show(*_heading_and_table(demonstration, k))
    *_, (last, report) = demonstration.reports.items()
    if missed:
        show("", *missed_lines(report, missed, k))
    why = f"Why {last} missed {counted(len(demonstration.diagnosis), 'document')} at {k}"
    show("", Text(why, style="bold"), "", *terminal.parts(*demonstration.diagnosis.sheets))
    if output is None:
        show("", "Save reports and web pages: fullrecall demo --output reports.")
    else:
        show("", f"Saved in {output}: open {last}.html; compared.html compares FTS5 with {last}.")
    show("Score your own retriever: fullrecall evaluate FILE.")


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
    both = {name: demonstration.reports[name] for name in (first, last)}
    compare(both).to_html(
        directory / "compared.html",
        title=f"{first} and {last}",
        diagnosis=demonstration.diagnosis,
    )


def _heading_and_table(demonstration: Demonstration, k: int) -> Iterator[RenderableType]:
    """Yield what was asked of what, and the table of means."""
    reports = demonstration.reports
    title = f"The documentation of Python {platform.python_version()}'s standard library"
    yield Text(title, style="bold")
    by_wording = {
        wording: [report[rows] for report in reports.values()]
        for wording, rows in demonstration.wordings.items()
    }
    counts = {wording: len(first) for wording, (first, *_) in by_wording.items()}
    worded = ", ".join(f"{count} {wording}" for wording, count in counts.items())
    yield (
        f"{demonstration.documents:,} documents in {demonstration.chunks:,} chunks; "
        f"{sum(counts.values())} questions that need {demonstration.targets} documents: "
        f"{worded}. {_DEPTH} chunks retrieved for each."
    )
    yield ""
    measures = [Recall @ rank for rank in sorted({1, 5, k})]
    sections = []
    for wording, parts in by_wording.items():
        summaries = [report.summary(*measures)["id_recall"] for report in parts]
        lines = [
            Line(measure.name, [shown(summary[measure].mean) for summary in summaries])
            for measure in measures[:-1]
        ]
        last = [mean_cell(summary[measures[-1]]) for summary in summaries]
        sections.append(Section(wording, [*lines, Line(measures[-1].name, last, "95%")]))
    by_id = [report.summary()["id_recall"] for report in reports.values()]
    yield terminal.Grid(Sheet(list(reports), [*sections, coverage(by_id)]))
