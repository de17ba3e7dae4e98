"""What leaked: forbidden contexts that were retrieved, each with its rank and its step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fullrecall.calls import Call
from fullrecall.context import Context
from fullrecall.sample import Sample
from fullrecall.table.forbidden import forbidden_ranks, rank_at
from fullrecall.table.table import Table


class Leaked(NamedTuple):
    """A forbidden context that was retrieved at `rank`, by the retriever or tool `step`.

    `id` and `step` are None where they are not known.
    """

    sample: str
    question: str | None
    id: str | None
    rank: int
    step: str | None

    def __str__(self) -> str:
        source = "" if self.step is None else f" from {self.step}"
        return f"{self.sample}: {self.id or 'a context without an ID'} at rank {self.rank}{source}"


def leaked(table: Table, k: int | None = None) -> Iterator[Leaked]:
    """Yield the forbidden contexts within the first `k` ranks of each sample, by rank."""
    row = 0
    for part in table.parts:
        if part.forbids:
            for nth in range(len(part)):
                yield from _of(part.sample(nth), row + nth + 1, k)
        row += len(part)


def _of(sample: Sample, row_number: int, k: int | None) -> Iterator[Leaked]:
    label = sample.id or f"#{row_number}"
    for position in forbidden_ranks(sample) or ():
        rank = rank_at(sample, position)
        if k is None or rank <= k:
            name = (sample.retrieved_context_ids or ())[position - 1]
            yield Leaked(label, sample.user_input, name, rank, _step(sample, position))


def _step(sample: Sample, position: int) -> str | None:
    """Return the name of the step that first brought a context."""
    if sample.retrieval is None or sample.retrieved_contexts is None:
        return None
    context = sample.retrieved_contexts[position - 1]
    return next(_sources(sample.retrieval.calls, context), None)


def _sources(calls: Iterable[Call], context: Context) -> Iterator[str]:
    for call in calls:
        for each in call.walk():
            if any((c.id, c.text) == (context.id, context.text) for c in each.contexts or ()):
                yield each.source
