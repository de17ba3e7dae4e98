"""What `fullrecall demo` prints."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fullrecall.cli.misses import place
from fullrecall.measures import DEFAULT_KS, RR, AllFound, Measure, Precision, Recall, nDCG
from fullrecall.report import terminal
from fullrecall.report.text import shown

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from fullrecall.demo import Demonstration
    from fullrecall.findings import Finding
    from fullrecall.report import Report, Row
    from fullrecall.result import Result

_THROUGH = {"BM25": "LangChain", "dense": "LlamaIndex"}


def page(
    demonstration: Demonstration, *, k: int, depth: int, missed: int, output: Path | None
) -> Iterator[RenderableType]:
    """Yield what a console prints, from top to bottom."""
    yield Text(
        f"The documentation of Python {platform.python_version()}'s standard library", style="bold"
    )
    yield (
        f"{demonstration.documents:,} documents in {demonstration.chunks:,} chunks; "
        f"{demonstration.questions} questions that need {demonstration.targets} documents; "
        f"{depth} chunks retrieved for each."
    )
    yield ""
    yield _table(demonstration.reports, k, depth)
    yield ""
    yield (
        "k counts chunks: several chunks of one document take several ranks, and the first "
        "finds it. " + _about_the_judge()
    )
    notes = (terminal.notes(report.summary()) for report in demonstration.reports.values())
    yield from dict.fromkeys(chain.from_iterable(notes))
    if missed:
        yield from _missed(demonstration.reports, k, missed)
    yield ""
    yield from _next_steps(k=k, missed=missed, output=output)


def _about_the_judge() -> str:
    """Return how far the claim figures can be trusted."""
    from fullrecall.judges.lexical import LexicalJudge

    return (
        f"Balanced accuracy of the built-in judge: {LexicalJudge().agreement:.2f} (chance: 0.50)."
    )


def _table(reports: Mapping[str, Report], k: int, depth: int) -> terminal.Grid:
    early = min(5, k)
    ks = sorted({one for one in (*DEFAULT_KS, k) if one <= depth})
    ranked = [Precision @ early, AllFound @ k, RR @ k, nDCG @ k]
    recalls = [Recall @ one for one in ks]
    few = [Recall @ one for one in sorted({early, k})]
    sections = [
        terminal.Section(title, _means(reports, score, measures))
        for title, score, measures in (
            ("by document (IdRecall)", "id_recall", [*recalls, *ranked]),
            ("by characters (SpanRecall)", "span_recall", few),
            ("by claims, built-in judge (ClaimRecall)", "claim_recall", few),
        )
    ]
    by_id = [report.summary()["id_recall"] for report in reports.values()]
    heads = [f"{name}\n{_THROUGH[name]}" for name in reports]
    return terminal.table(heads, [*sections, terminal.coverage(by_id)])


def _means(
    reports: Mapping[str, Report], score: str, measures: Iterable[Measure]
) -> list[tuple[str, list[str]]]:
    """Return a row for each measure of a score, and below it one for its intervals."""
    summaries = [report.summary(*measures)[score] for report in reports.values()]
    rows = []
    for measure in summaries[0]:
        estimates = [summary[measure] for summary in summaries]
        rows.append((measure.name, [shown(one.mean) for one in estimates]))
        rows.append(("  95%", [terminal.between(one.interval) for one in estimates]))
    return rows


def _missed(reports: Mapping[str, Report], k: int, limit: int) -> Iterator[RenderableType]:
    """Yield some of the questions for which a document was missed, and where each one stands."""
    rows_of = zip(*(report.rows for report in reports.values()), strict=True)
    lacking = [rows for rows in rows_of if any(_misses(row, k) for row in rows)]
    # The nearest misses first: a larger k or a reranker would find them.
    lacking.sort(key=lambda rows: min(_nearest_miss(row, k) for row in rows))
    shares = ", ".join(
        f"{sum(_misses(row, k) for row in report.rows)} with {name}"
        for name, report in reports.items()
    )
    yield ""
    yield Text(f"Missed in the first {k} chunks", style="bold")
    yield f"Questions that miss a document: {shares}. The nearest misses:"
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
        places = len("not in the first 50") + 2
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
            yield Text(terminal.one_line(rows[0].sample.user_input or "", 200), style="cyan")
            body = self._grid(width, places)
            for findings in zip(*(result.findings for result in results), strict=True):
                cells = [_place_cell(*one, self.k) for one in zip(findings, results, strict=True)]
                body.add_row(Text(_named(findings[0])), *cells)
            yield terminal.indented(body)

    def _grid(self, width: int, places: int) -> Table:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=width - 2, overflow="fold")
        for _ in self.names:
            grid.add_column(width=places - 2)
        return grid


def _place_cell(finding: Finding, result: Result, k: int) -> Text:
    return Text(place(finding, result, k), style="" if finding.found_at(k) else "yellow")


def _named(finding: Finding) -> str:
    return " or ".join(finding.target.any_of)


def _misses(row: Row, k: int) -> bool:
    """Return whether the first `k` chunks miss a document."""
    return any(not finding.found_at(k) for finding in _by_id(row).findings)


def _nearest_miss(row: Row, k: int) -> float:
    """Return the first rank beyond `k` at which something missed stands; infinity for none."""
    missed = (f.rank for f in _by_id(row).findings if not f.found_at(k))
    return min((rank for rank in missed if rank is not None), default=inf)


def _next_steps(*, k: int, missed: int, output: Path | None) -> Iterator[RenderableType]:
    steps = [
        ("fullrecall demo --k 5 --missed 20", "a shorter list, more of what was missed"),
        ("fullrecall demo --output reports", "save reports and web pages"),
        ("fullrecall evaluate --help", "the options, and what a line of FILE holds"),
    ]
    if output is not None:
        yield Text(f"Saved in {output}: reports and pages; compared.html has both side by side.")
        yield ""
        del steps[1]
    if (k, missed) == (5, 20):  # what was just run is no next step
        del steps[0]
    yield Text("Next", style="bold")
    grid = Table.grid(padding=(0, 2, 0, 0))
    for command, why in (*steps[:2], ("fullrecall evaluate FILE", "your own retriever")):
        grid.add_row(Text(command, style="cyan"), Text(why))
    yield terminal.indented(grid)


def _by_id(row: Row) -> Result:
    return next(result for result in row.results if result.method.name == "id_recall")
