"""The lines below a summary: the means of slices, and the missed targets of each sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from fullrecall.measures import AllFound, Measure
from fullrecall.measures.findings import Finding
from fullrecall.report import Report, Row, Slices
from fullrecall.scorers.result import Result
from fullrecall.show.terminal import indented
from fullrecall.show.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

_TARGETS_SHOWN = 10


def slices_of(report: Report, by: str | None, measures: Sequence[Measure]) -> list[Slices]:
    """Return the slices of each score by the field `by`, for each of `measures`.

    Without measures, the score's headline measure is used. The list is empty if `by` is None.
    """
    return [
        report.slices(by, measure, score=method.name)
        for method in report.methods
        if by is not None
        for measure in measures or (None,)
    ]


def slices_dict(parts: Sequence[Slices]) -> dict[str, Any]:
    """Return slices as part of a summary's JSON; an empty dict without slices."""
    return {"slices": [part.to_dict() for part in parts]} if parts else {}


def missed_lines(report: Report, limit: int, k: int | None = None) -> Iterator[RenderableType]:
    """Yield the number of samples that miss a target, then the misses of the first `limit` of them.

    `k` is the number of contexts that count, None for all retrieved contexts.
    """
    measure = AllFound if k is None else AllFound @ k
    # Find the misses in columns, so that row objects are made only for the rows that are shown.
    columns = [report.values(measure, score=method.name) for method in report.methods]
    row_indices = np.flatnonzero((np.array(columns) < 1).any(axis=0)).tolist()
    if not row_indices:
        if any(np.isfinite(column).any() for column in columns):
            yield Text("No scored sample misses anything.")
        return
    if not limit:
        return
    first = f", the first {limit}" if len(row_indices) > limit else ""
    verb = "samples miss" if len(row_indices) > 1 else "sample misses"
    yield Text(f"{len(row_indices):,} {verb} something{first}:", style="bold")
    for index in row_indices[:limit]:
        yield from _described(report.rows[index], k)


def _described(row: Row, k: int | None) -> Iterator[RenderableType]:
    missed = [
        (finding, result)
        for result in row.results
        if result.status == "scored"
        for finding in result.findings
        if not finding.found_at(k)
    ]
    yield ""
    question = one_line(row.sample.user_input or "", 200)
    yield Text.assemble((one_line(row.label, 60), "bold cyan"), f"  {question}")
    for finding, result in missed[:_TARGETS_SHOWN]:
        score = f"{result.method.name}: " if len(row.results) > 1 else ""
        target = one_line(finding.target.label, 120)
        sure = "" if finding.support is None else f", support {finding.support:.2f}"
        where = f" — {score}{_where(finding, result)}{sure}"
        yield indented(Text.assemble(target, (where, "yellow")))
    if len(missed) > _TARGETS_SHOWN:
        yield indented(Text(f"… and {len(missed) - _TARGETS_SHOWN:,} more"))


def _where(finding: Finding, result: Result) -> str:
    """Describe where a missed target was found: at a lower rank, in part, or not at all."""
    if finding.rank is not None:
        return f"at rank {finding.rank}"
    credit, retrieved = finding.credit_at(), result.retrieved
    if credit:
        return f"{credit:.0%} of it in the {retrieved} retrieved"
    return f"not in the first {retrieved}" if retrieved else "nothing was retrieved"
