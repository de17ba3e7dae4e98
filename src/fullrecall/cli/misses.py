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
        self.limit = limit
        self.k = k
        self.count = 0
        self.scored = False
        self._several = len(methods) > 1
        self._parts: list[RenderableType] = []

    def add(self, row: Row) -> None:
        """Count one row, and keep what is shown of it if it misses something and there is room."""
        scored = [result for result in row.results if result.status == "scored"]
        missed = [
            (finding, result)
            for result in scored
            for finding in result.findings
            if not finding.found_at(self.k)
        ]
        self.scored = self.scored or bool(scored)
        self.count += bool(missed)
        if missed and self.count <= self.limit:
            self._parts += self._described(row, missed)

    def shown(self) -> Iterator[RenderableType]:
        """Yield what a console prints."""
        from rich.text import Text

        if self.scored and not self.count:
            yield Text("No scored sample misses anything.")
        if not self.count or not self.limit:
            return
        first = ":"
        if self.count > self.limit:
            first = f", the first {self.limit}:" if self.limit > 1 else ", the first:"
        some = "samples miss" if self.count > 1 else "sample misses"
        yield Text(f"{self.count:,} {some} something{first}", style="bold")
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
            where = f" — {score}{_where(finding, result, self.k)}"
            target = one_line(finding.target.label, 120)
            yield indented(Text.assemble(target, (where, "yellow")))
        if len(missed) > _TARGETS_SHOWN:
            yield indented(Text(f"… and {len(missed) - _TARGETS_SHOWN:,} more"))


def _where(finding: Finding, result: Result, k: int | None) -> str:
    """Return where a target that was missed stands: beyond `k`, in part, or nowhere."""
    retrieved = result.retrieved
    if finding.rank is not None:
        return f"at rank {finding.rank}"
    credit = finding.credit_at()
    if credit:
        within = (
            "" if k is None or k >= retrieved else f", {finding.credit_at(k):.0%} in the first {k}"
        )
        return f"{credit:.0%} of it in the {retrieved} retrieved{within}"
    return f"not in the first {retrieved}" if retrieved else "nothing was retrieved"
