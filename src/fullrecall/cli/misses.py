"""What was missed, sample by sample: a few are kept to be shown, all are counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fullrecall.views.terminal import indented
from fullrecall.views.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fullrecall.findings import Finding
    from fullrecall.report import Row
    from fullrecall.result import Method, Result

_TARGETS_SHOWN = 10


class MissedSamples:
    """The first `limit` samples that miss a target in the first `k`, and how many do.

    Its size is bounded. `k` is None for all that was retrieved.
    """

    def __init__(self, limit: int, methods: Sequence[Method], k: int | None = None) -> None:
        self._limit = limit
        self._k = k
        self._count = 0
        self._any_scored = False
        self._several = len(methods) > 1
        self._parts: list[RenderableType] = []

    def add(self, row: Row) -> None:
        """Count one row, and keep what is shown of it if it misses something and there is room."""
        scored = [result for result in row.results if result.status == "scored"]
        missed = [
            (finding, result)
            for result in scored
            for finding in result.findings
            if not finding.found_at(self._k)
        ]
        self._any_scored = self._any_scored or bool(scored)
        self._count += bool(missed)
        if missed and self._count <= self._limit:
            self._parts += self._described(row, missed)

    def shown(self) -> Iterator[RenderableType]:
        """Yield what a console prints."""
        from rich.text import Text

        if self._any_scored and not self._count:
            yield Text("No scored sample misses anything.")
        if not self._parts:
            return
        first = f", the first {self._limit}" if self._count > self._limit else ""
        some = "samples miss" if self._count > 1 else "sample misses"
        yield Text(f"{self._count:,} {some} something{first}:", style="bold")
        yield from self._parts

    def _described(
        self, row: Row, missed: Sequence[tuple[Finding, Result]]
    ) -> Iterator[RenderableType]:
        from rich.text import Text

        question = one_line(row.sample.user_input or "", 200)
        yield ""
        yield Text.assemble((one_line(row.label, 60), "bold cyan"), f"  {question}")
        for finding, result in missed[:_TARGETS_SHOWN]:
            score = f"{result.method.name}: " if self._several else ""
            target = one_line(finding.target.label, 120)
            yield indented(
                Text.assemble(target, (f" — {score}{_where(finding, result)}", "yellow"))
            )
        if len(missed) > _TARGETS_SHOWN:
            yield indented(Text(f"… and {len(missed) - _TARGETS_SHOWN:,} more"))


def _where(finding: Finding, result: Result) -> str:
    """Return where a target that was missed stands: further down, in part, or nowhere."""
    if finding.rank is not None:
        return f"at rank {finding.rank}"
    credit, retrieved = finding.credit_at(), result.retrieved
    if credit:
        return f"{credit:.0%} of it in the {retrieved} retrieved"
    return f"not in the first {retrieved}" if retrieved else "nothing was retrieved"
