"""What `fullrecall demo` prints."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fullrecall.cli.misses import MissedSamples
from fullrecall.counts import counted
from fullrecall.measures import Measure, Recall
from fullrecall.views import terminal
from fullrecall.views.sheet import Line, Section, Sheet
from fullrecall.views.summaries import coverage, mean_cell
from fullrecall.views.text import shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fullrecall.demo import Demonstration
    from fullrecall.report import Report, Row

_THROUGH = {
    "FTS5": "SQLite",
    "trigrams": "NumPy",
    "hybrid": "function",
}
_ASKED = {"plain": "as people ask", "hard": "in other words than the answer"}
_LONGEST = 20  # characters of a path that leave room for the rest of the line


def page(
    demonstration: Demonstration, *, k: int, depth: int, missed: int, output: Path | None
) -> Iterator[RenderableType]:
    """Yield what a console prints, from top to bottom."""
    *_, last = demonstration.reports
    yield Text(
        f"The documentation of Python {platform.python_version()}'s standard library", style="bold"
    )
    counts = ", ".join(
        f"{len(demonstration.wordings[wording])} {how}" for wording, how in _ASKED.items()
    )
    yield (
        f"{demonstration.documents:,} documents in {demonstration.chunks:,} chunks; "
        f"{demonstration.questions} questions that need {demonstration.targets} documents: "
        f"{counts}. {depth} chunks retrieved for each; {last} fuses the lists and reranks."
    )
    yield ""
    yield _table(demonstration, k, depth)
    if missed:
        yield ""
        yield from _missed(demonstration.reports[last], k, missed)
    yield ""
    diagnosis = demonstration.diagnosis
    yield Text(f"Why {last} missed {counted(len(diagnosis), 'document')} at {k}", style="bold")
    yield ""
    yield from terminal.parts(*diagnosis.sheets)
    yield ""
    yield from _next_steps(output=output, last=last)


def _table(demonstration: Demonstration, k: int, depth: int) -> terminal.Grid:
    ks = sorted({rank for rank in (1, 5, k) if rank <= depth})
    reports = demonstration.reports
    sections = []
    for wording, how in _ASKED.items():
        worded = [demonstration.worded(name, wording) for name in reports]
        sections.append(Section(how, _means(worded, [Recall @ rank for rank in ks])))
    by_id = [report.summary()["id_recall"] for report in reports.values()]
    heads = [f"{name}\n{_THROUGH[name]}" for name in reports]
    return terminal.Grid(Sheet(heads, [*sections, coverage(by_id)]))


def _means(reports: Sequence[Report], measures: Sequence[Measure]) -> list[Line]:
    """Return a row for each measure, and below the last one a row for its intervals."""
    summaries = [report.summary(*measures)["id_recall"] for report in reports]
    lines = [
        Line(measure.name, [shown(summary[measure].mean) for summary in summaries])
        for measure in measures[:-1]
    ]
    last = [mean_cell(summary[measures[-1]]) for summary in summaries]
    return [*lines, Line(measures[-1].name, last, "95%")]


def _missed(report: Report, k: int, limit: int) -> Iterator[RenderableType]:
    """Yield questions that miss a document, the nearest miss first: a larger k would find it."""

    def nearest_miss(row: Row) -> float:
        missed = [f.rank for r in row.results for f in r.findings if not f.found_at(k)]
        return min((rank for rank in missed if rank is not None), default=inf)

    samples = MissedSamples(limit, report.methods, k)
    for row in sorted(report.rows, key=nearest_miss):
        samples.add(row)
    yield from samples.shown()


def _next_steps(*, output: Path | None, last: str) -> Iterator[RenderableType]:
    steps = [
        ("fullrecall demo --output reports", "save reports and web pages"),
        ("fullrecall demo --k 5 --missed 20", "smaller k, more misses"),
        ("fullrecall evaluate FILE", "your own retriever"),
    ]
    if output is not None:
        yield f"Saved in {output}: open {last}.html; compared.html compares FTS5 with {last}."
        yield ""
        path = output / f"{last}.jsonl"
        report = path if len(str(path)) <= _LONGEST else "REPORT"
        steps[0] = (f"fullrecall gate {report} --min-recall 0.4", "is it good enough?")
    yield Text("Next", style="bold")
    grid = Table.grid(padding=(0, 2, 0, 0))
    for command, why in steps:
        grid.add_row(Text(command, style="cyan"), Text(why))
    yield terminal.indented(grid)
