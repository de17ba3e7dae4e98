"""What `fullrecall demo` prints."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fullrecall.counts import counted
from fullrecall.demo import missing_packages
from fullrecall.measures import Measure, Recall
from fullrecall.views import terminal
from fullrecall.views.sheet import Line, Section, Sheet
from fullrecall.views.summaries import coverage, mean_cell
from fullrecall.views.summaries import notes as notes_of
from fullrecall.views.text import one_line, shown

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from fullrecall.demo import Demonstration
    from fullrecall.diagnosis import Diagnosis
    from fullrecall.findings import Finding
    from fullrecall.report import Report, Row
    from fullrecall.result import Result

_THROUGH = {
    "FTS5": "SQLite",
    "trigrams": "NumPy",
    "BM25": "LangChain",
    "dense": "LlamaIndex",
    "hybrid": "function",
}
_ASKED = {"plain": "as people ask", "hard": "in other words than the answer"}
_CHANGES = 3
_MANY = 20
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
    yield ""
    packages = missing_packages()
    if packages:
        yield f"Retrievers of LangChain and LlamaIndex join with pip install {' '.join(packages)}."
    notes = (notes_of(report.summary()) for report in demonstration.reports.values())
    yield from dict.fromkeys(chain.from_iterable(notes))
    if missed:
        yield from _missed(demonstration.reports, k, missed)
    yield ""
    yield from _why(demonstration.diagnosis, last, k)
    yield ""
    yield from _next_steps(missed=missed, output=output, last=last)


def _table(demonstration: Demonstration, k: int, depth: int) -> terminal.Grid:
    ks = sorted({one for one in (1, 5, k) if one <= depth})
    reports = demonstration.reports
    sections = []
    for wording, how in _ASKED.items():
        worded = [demonstration.worded(name, wording) for name in reports]
        sections.append(Section(how, _means(worded, [Recall @ one for one in ks])))
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


def _why(diagnosis: Diagnosis, name: str, k: int) -> Iterator[RenderableType]:
    """Yield the causes of what a retriever missed, and the changes with most gain."""
    counts = diagnosis.counts()
    yield Text(f"Why {name} missed {counted(len(diagnosis), 'document')} at {k}", style="bold")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right")
    for cause, count in counts.items():
        grid.add_row(f"{count:,}", str(cause).replace("_", " "))
    yield terminal.indented(grid)
    changes = [change for change in diagnosis.changes if change.gain > 0][:_CHANGES]
    if changes:
        yield ""
        yield Text("Changes with most gain", style="bold")
    for nth, change in enumerate(changes, start=1):
        yield terminal.indented(Text(f"{nth}. {change.text}"))


def _missed(reports: Mapping[str, Report], k: int, limit: int) -> Iterator[RenderableType]:
    """Yield some of the questions for which a document was missed, and where each one stands."""
    rows_of = zip(*(report.rows for report in reports.values()), strict=True)
    lacking = [rows for rows in rows_of if _misses(rows[-1], k)]
    # The nearest misses first: a larger k or another reranker would find them.
    lacking.sort(key=lambda rows: _nearest_miss(rows[-1], k))
    *_, last = reports
    shares = ", ".join(
        f"{sum(_misses(row, k) for row in report.rows)} with {name}"
        for name, report in reports.items()
    )
    yield ""
    yield Text(f"Missed in the first {k} chunks", style="bold")
    yield f"Questions that miss a document: {shares}. The nearest misses of {last}:"
    yield ""
    yield _Places(lacking[:limit], list(reports), k)
    if len(lacking) > limit:
        yield ""
        yield f"… and {len(lacking) - limit} more: --missed {len(lacking)} lists them all."


@dataclass(frozen=True)
class _Places:
    """Questions with where the documents that they need stand, one column per retriever."""

    questions: Sequence[tuple[Row, ...]]
    names: Sequence[str]
    k: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        places = len("not found") + 2
        targets = [_named(f) for rows in self.questions for f in _by_id(rows[0]).findings]
        room = options.max_width - places * len(self.names)  # the last column has no padding
        width = max(10, min(room, max(map(len, targets), default=0) + 2))
        yield from self._lines(width, places)

    def _lines(self, width: int, places: int) -> Iterator[RenderableType]:
        head = self._grid(width, places)
        head.add_row("", *(Text(name, style="bold") for name in self.names))
        yield terminal.indented(head)
        for nth, rows in enumerate(self.questions):
            if nth:
                yield ""
            results = [_by_id(row) for row in rows]
            yield Text(one_line(rows[0].sample.user_input or "", 200), style="cyan")
            body = self._grid(width, places)
            for findings in zip(*(result.findings for result in results), strict=True):
                cells = [_place_cell(finding, self.k) for finding in findings]
                body.add_row(Text(_named(findings[0])), *cells)
            yield terminal.indented(body)

    def _grid(self, width: int, places: int) -> Table:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=width - 2, overflow="fold")
        for _ in self.names:
            grid.add_column(width=places - 2)
        return grid


def _place_cell(finding: Finding, k: int) -> Text:
    where = "not found" if finding.rank is None else f"rank {finding.rank}"
    return Text(where, style="" if finding.found_at(k) else "yellow")


def _named(finding: Finding) -> str:
    return " or ".join(finding.target.any_of)


def _misses(row: Row, k: int) -> bool:
    """Return whether the first `k` chunks miss a document."""
    return any(not finding.found_at(k) for finding in _by_id(row).findings)


def _nearest_miss(row: Row, k: int) -> float:
    """Return the first rank beyond `k` at which something missed stands; infinity for none."""
    missed = (f.rank for f in _by_id(row).findings if not f.found_at(k))
    return min((rank for rank in missed if rank is not None), default=inf)


def _next_steps(*, missed: int, output: Path | None, last: str) -> Iterator[RenderableType]:
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
    if missed >= _MANY:  # what was just run is no next step
        steps[1] = ("fullrecall evaluate --help", "what FILE holds")
    yield Text("Next", style="bold")
    grid = Table.grid(padding=(0, 2, 0, 0))
    for command, why in steps:
        grid.add_row(Text(command, style="cyan"), Text(why))
    yield terminal.indented(grid)


def _by_id(row: Row) -> Result:
    return next(result for result in row.results if result.method.name == "id_recall")
