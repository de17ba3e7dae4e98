"""Targets that were not found, and forbidden contexts that were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fullrecall.measures import Recall
from fullrecall.measures.budgets import Cut, CutBudget
from fullrecall.measures.of_samples import forbidden_positions, rank_at
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Status
from fullrecall.table.table import Table


class Missed(NamedTuple):
    """A target that one scorer did not find in full within `k`, which may be a budget.

    `credit` is what it earned of 1.0 within k; `rank` where it does stand beyond k, None if it
    was not retrieved at all.
    """

    sample: str
    question: str | None
    score: str
    target: str
    credit: float
    rank: int | None


def missed(table: Table, k: Cut | None = None, score: str | None = None) -> Iterator[Missed]:
    """Yield the targets that were not found in full within k, sample by sample."""
    measure = Recall if k is None else Recall @ k
    for row in table:
        for result in row.results:
            # Of a result whose calls, tokens or seconds are unknown, nothing is known to be missed.
            is_known = not isinstance(k, CutBudget) or result[measure] is not None
            if result.status is not Status.SCORED or score not in (None, result.method.name):
                continue
            rank_of = {finding.target: finding.rank for finding in result.ranked}
            for finding in result.paid(measure) if is_known else ():
                if not finding.found_at(measure.top):
                    yield Missed(
                        row.label,
                        row.sample.user_input,
                        result.method.name,
                        finding.target.label,
                        finding.credit_at(measure.top),
                        rank_of[finding.target],
                    )


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


def leaked(table: Table, k: int | None = None, *, unanswerable: bool = True) -> Iterator[Leaked]:
    """Yield the forbidden contexts within the first `k` ranks of each sample, by rank.

    All contexts of an unanswerable question are forbidden; `unanswerable=False` leaves them out.
    """
    first = 1
    for part in table.parts:
        for row in range(len(part)) if part.forbids else ():
            sample = part.sample(row)
            if sample.answerable is False and not unanswerable:
                continue
            for position in forbidden_positions(sample) or ():
                rank = rank_at(sample, position)
                if k is None or rank <= k:
                    label = sample.id or f"#{first + row}"
                    name = (sample.retrieved_context_ids or ())[position - 1]
                    step = _step(sample, position)
                    yield Leaked(label, sample.user_input, name, rank, step)
        first += len(part)


def _step(sample: Sample, position: int) -> str | None:
    """Return the name of the step that first brought a context."""
    if sample.retrieval is None or sample.retrieved_contexts is None:
        return None
    context = sample.retrieved_contexts[position - 1]
    for call in sample.retrieval.calls:
        for each in call.walk():
            if any((c.id, c.text) == (context.id, context.text) for c in each.contexts or ()):
                return each.source
    return None
