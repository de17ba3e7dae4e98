"""What it cost until each context was there: calls, tokens, seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fullrecall.measures.budgets import Budget
from fullrecall.retrieval import Call, Retrieval
from fullrecall.sample import Sample
from fullrecall.table.lists import Floats, Integers, count_sums, offsets_of

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English; a context's metadata may have its `tokens`."""

_UNKNOWN = float("nan")


@dataclass(frozen=True)
class Costs:
    """The cost of each context of some rows, by place: what had to be paid until it was there.

    Row i has the contexts from `offsets[i]` to `offsets[i + 1]`. NaN: the cost is not known.
    """

    offsets: Integers
    calls: Floats
    tokens: Floats
    seconds: Floats

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Costs:
        """Return the costs of samples."""
        counts: list[int] = []
        columns: tuple[list[float], list[float], list[float]] = ([], [], [])
        for sample in samples:
            count = len(sample.retrieved_context_ids or ())
            numbers = _call_numbers(sample, count)
            counts.append(count)
            columns[0].extend(numbers)
            columns[1].extend(_tokens(sample, numbers))
            columns[2].extend(_seconds(sample, count))
        calls, tokens, seconds = (np.array(column, np.float64) for column in columns)
        return cls(offsets_of(counts), calls, tokens, seconds)

    def within(self, budget: Budget) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which contexts a budget pays for, and of which rows that is known."""
        costs: Floats = getattr(self, budget.unit)
        unknown = count_sums(np.isnan(costs), self.offsets) > 0
        return costs <= budget.amount, ~unknown


def _call_numbers(sample: Sample, count: int) -> Sequence[float]:
    """Return the number of the call that brought each context."""
    record = sample.retrieval
    if record is None:
        return [1] * count
    if record.call_numbers is not None:
        return record.call_numbers
    if record.ranks is None and len(record.calls) <= 1:
        return [1] * count
    return _first_calls(record, count)


def _first_calls(record: Retrieval, count: int) -> list[float]:
    """Return the number of the first of the outermost calls that returned each context."""
    first: dict[tuple[str | None, str | None], int] = {}
    for number, call in enumerate(record.calls, start=1):
        for context in _returned(call):
            first.setdefault(context, number)
    contexts = record.contexts or ()
    return [first.get((c.id, c.text), _UNKNOWN) for c in contexts] or [_UNKNOWN] * count


def _returned(call: Call) -> Iterable[tuple[str | None, str | None]]:
    return ((c.id, c.text) for each in call.walk() for c in each.contexts or ())


def _tokens(sample: Sample, numbers: Sequence[float]) -> Sequence[float]:
    """Return how many tokens the reader has had with each context.

    Several lists that nobody merged were read one call after another, any other list from its top.
    """
    contexts = sample.retrieved_contexts
    if contexts is None or any(context.text is None for context in contexts):
        return [_UNKNOWN] * len(numbers)
    order = list(range(len(numbers)))
    if sample.ranks is not None:
        if any(number != number for number in numbers):  # noqa: PLR0124 - NaN
            return [_UNKNOWN] * len(numbers)
        order.sort(key=numbers.__getitem__)
    costs, total = [0.0] * len(numbers), 0.0
    for place in order:
        context = contexts[place]
        told = context.metadata.get("tokens")
        known = isinstance(told, (int, float)) and not isinstance(told, bool)
        total += told if known else len(context.text or "") / CHARACTERS_PER_TOKEN
        costs[place] = total
    return costs


def _seconds(sample: Sample, count: int) -> Sequence[float]:
    known = None if sample.retrieval is None else sample.retrieval.seconds
    if known is None:
        return [_UNKNOWN] * count
    return [_UNKNOWN if second is None else second for second in known]
