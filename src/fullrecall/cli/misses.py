"""What was missed, sample by sample: a few are kept to be shown, all are counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.views.terminal import indented
from fullrecall.views.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fullrecall.findings import Finding
    from fullrecall.report import Row
    from fullrecall.result import Method, Result


_TARGETS_SHOWN = 10


class MissedSample(NamedTuple):
    """A sample with a few of the targets that were missed in it, and how many more there are."""

    label: str
    question: str
    targets: list[tuple[str, str]]
    more: int


class MissedSamples:
    """The first `limit` samples that miss a target in the first `k`, and how many do.

    Its size is bounded. `k` is None for all that was retrieved.
    """

    def __init__(self, limit: int, methods: Sequence[Method], k: int | None = None) -> None:
        self.limit = limit
        self.k = k
        self.samples: list[MissedSample] = []
        self.count = 0
        self.scored = False
        self._several = len(methods) > 1

    def add(self, row: Row) -> None:
        """Count one row, and keep it if it misses something and there is room."""
        missed = [
            (finding, result)
            for result in row.results
            for finding in result.findings
            if result.status == "scored" and not finding.found_at(self.k)
        ]
        self.scored = self.scored or any(r.status == "scored" for r in row.results)
        if not missed:
            return
        self.count += 1
        if self.count > self.limit:
            return
        self.samples.append(
            MissedSample(
                one_line(row.label, 60),
                one_line(row.sample.user_input or "", 200),
                [self._described(*one) for one in missed[:_TARGETS_SHOWN]],
                max(0, len(missed) - _TARGETS_SHOWN),
            )
        )

    def shown(self) -> Iterator[RenderableType]:
        """Yield what a console prints."""
        from rich.text import Text

        if not self.count:
            if self.scored:
                yield Text("No scored sample misses anything.")
            return
        if not self.limit:
            return
        first = ":"
        if self.count > len(self.samples):
            first = f", the first {len(self.samples)}:" if self.limit > 1 else ", the first:"
        some = "samples miss" if self.count > 1 else "sample misses"
        yield Text(f"{self.count:,} {some} something{first}", style="bold")
        for sample in self.samples:
            yield ""
            yield Text.assemble((sample.label, "bold cyan"), f"  {sample.question}")
            for target, where in sample.targets:
                yield indented(Text.assemble(target, (f" — {where}", "yellow")))
            if sample.more:
                yield indented(Text(f"… and {sample.more:,} more"))

    def _described(self, finding: Finding, result: Result) -> tuple[str, str]:
        where = place(finding, result, self.k)
        if self._several:
            where = f"{result.method.name}: {where}"
        return one_line(finding.target.label, 120), where


def place(finding: Finding, result: Result, k: int | None) -> str:
    """Return where a target that was missed stands: beyond `k`, in part, or nowhere."""
    seen = result.retrieved
    if finding.rank is not None:
        return f"at rank {finding.rank}"
    credit = finding.credit_at()
    if credit:
        within = "" if k is None or k >= seen else f", {finding.credit_at(k):.0%} in the first {k}"
        return f"{credit:.0%} of it in the {seen} retrieved{within}"
    return f"not in the first {seen}" if seen else "nothing was retrieved"
