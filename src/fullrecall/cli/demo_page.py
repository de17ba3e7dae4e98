"""What `fullrecall demo` prints."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fullrecall.cli.missing import place
from fullrecall.report import terminal
from fullrecall.report.summary import shown

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from fullrecall.demo import Demonstration
    from fullrecall.finding import Finding
    from fullrecall.report import Report, Row, ScoreSummary
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
    yield _table(demonstration.reports, k)
    yield ""
    yield (
        "k counts chunks: several chunks of one document take several ranks, and the first of "
        "them finds it. " + _about_the_judge()
    )
    for report in demonstration.reports.values():
        yield from terminal.gaps(report.summary())
    if missed:
        yield from _missed(demonstration.reports, k, missed)
    yield ""
    yield from _next_steps(k=k, missed=missed, output=output)


def _about_the_judge() -> str:
    """Return how far the claim figures can be trusted."""
    from fullrecall.judges.lexical import LexicalJudge

    return (
        f"The built-in judge agrees with people in {LexicalJudge().agreement:.0%} of cases "
        "(balanced accuracy)."
    )


def _table(reports: Mapping[str, Report], k: int) -> terminal.Grid:
    early = min(5, k)
    summaries = [report.summary() for report in reports.values()]
    by_id = [summary["id_recall"] for summary in summaries]
    by_span = [summary["span_recall"] for summary in summaries]
    by_claim = [summary["claim_recall"] for summary in summaries]
    documents = _recalls(by_id, by_id[0].method.ks)
    documents += [
        (f"precision@{early}", [shown(_mean(r, "precision", early)) for r in reports.values()]),
        (f"all found@{k}", [shown(score.means["all_found"]) for score in by_id]),
        (f"MRR@{k}", [shown(score.means["reciprocal_rank"]) for score in by_id]),
        (f"nDCG@{k}", [shown(score.means["ndcg"]) for score in by_id]),
    ]
    two = sorted({early, k} & set(by_id[0].method.ks))
    characters, claims = _recalls(by_span, two), _recalls(by_claim, two)
    sections = [
        terminal.Section("by document (IdRecall)", documents),
        terminal.Section("by characters (SpanRecall)", characters),
        terminal.Section("by claims, built-in judge (ClaimRecall)", claims),
        terminal.coverage(by_id),
    ]
    return terminal.table([f"{name}\n{_THROUGH[name]}" for name in reports], sections)


def _recalls(scores: Sequence[ScoreSummary], ks: Iterable[int]) -> list[tuple[str, list[str]]]:
    """Return a row for recall at each of `ks`, and below it one for its intervals."""
    rows = []
    for k in ks:
        rows.append((f"recall@{k}", [shown(score.at[k]) for score in scores]))
        rows += terminal.sureness([score.at_intervals[k] for score in scores])
    return rows


def _missed(reports: Mapping[str, Report], k: int, limit: int) -> Iterator[RenderableType]:
    """Yield some of the questions for which a document was missed, and where each one stands."""
    rows_of = zip(*(report.rows for report in reports.values()), strict=True)
    lacking = [rows for rows in rows_of if any(_by_id(row).missed for row in rows)]
    # The nearest misses first: they are what a larger k or a reranker would bring.
    lacking.sort(key=lambda rows: min(map(_nearest_miss, rows)))
    shares = ", ".join(
        f"{sum(bool(_by_id(row).missed) for row in report.rows)} with {name}"
        for name, report in reports.items()
    )
    yield ""
    yield Text(f"Missed in the first {k} chunks", style="bold")
    yield f"Questions that lack a document: {shares}. The nearest misses:"
    yield ""
    yield _Places(lacking[:limit], list(reports))
    if len(lacking) > limit:
        yield ""
        yield f"… and {len(lacking) - limit} more: --missed {len(lacking)} lists them all."


@dataclass(frozen=True)
class _Places:
    """Questions with where the documents that they need stand, one column per retriever."""

    questions: Sequence[tuple[Row, ...]]
    names: Sequence[str]

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
                body.add_row(Text(_named(findings[0])), *map(_place_cell, findings, results))
            yield terminal.indented(body)

    def _grid(self, width: int, places: int) -> Table:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=width - 2, overflow="fold")
        for _ in self.names:
            grid.add_column(width=places - 2)
        return grid


def _place_cell(finding: Finding, result: Result) -> Text:
    found = finding.found_at(result.method.k)
    return Text(place(finding, result), style="" if found else "yellow")


def _named(finding: Finding) -> str:
    return " or ".join(finding.target.any_of)


def _nearest_miss(row: Row) -> float:
    """Return the first rank beyond k at which something missed stands; infinity for none."""
    result = _by_id(row)
    missed = (f.rank for f in result.findings if not f.found_at(result.method.k))
    return min((rank for rank in missed if rank is not None), default=inf)


def _next_steps(*, k: int, missed: int, output: Path | None) -> Iterator[RenderableType]:
    steps = [
        ("fullrecall demo --k 5 --missed 20", "a shorter list, more of what was missed"),
        ("fullrecall demo --output reports", "each question with its ranks, in JSON"),
        ("fullrecall evaluate --help", "the options, and what a line of FILE holds"),
    ]
    if output is not None:
        yield Text(f"Saved in {output}: every question with its ranks, one line for each, and as")
        yield "web pages; compared.html has both retrievers side by side."
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


def _mean(report: Report, measure: str, k: int) -> float | None:
    """Return the mean of a measure of ID recall at another k than the report's own."""
    values = [_by_id(row).value(measure, k) for row in report.rows]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
