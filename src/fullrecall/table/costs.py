"""What it cost until each context was there: calls, tokens, seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np
from numpy.typing import NDArray

from fullrecall.calls import Call
from fullrecall.context import Context
from fullrecall.measures.budgets import Budget
from fullrecall.retrieval import Retrieval
from fullrecall.sample import Sample
from fullrecall.table.lists import Floats, Integers, count_sums, offsets_of

CHARACTERS_PER_TOKEN = 4.0
"""What a token is taken for where nobody counts: the usual rule of thumb for English text."""

_UNKNOWN = float("nan")


@dataclass(frozen=True)
class Costs:
    """The cost of each context of some rows, by place: what had to be paid until it was there.

    Row i has the contexts from `offsets[i]` to `offsets[i + 1]`. `own_tokens` are those of each
    context alone. NaN: the cost is not known.
    """

    offsets: Integers
    calls: Floats
    tokens: Floats
    seconds: Floats
    own_tokens: Floats

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Costs:
        """Return the costs of samples."""
        counts: list[int] = []
        columns: tuple[list[float], ...] = ([], [], [], [])
        for sample in samples:
            count = len(sample.retrieved_context_ids or ())
            numbers = _call_numbers(sample, count)
            counts.append(count)
            columns[0].extend(numbers)
            own = _own_tokens(sample, count)
            columns[1].extend(_tokens(sample, numbers, own))
            columns[2].extend(_seconds(sample, count))
            columns[3].extend(own)
        return cls(offsets_of(counts), *(np.array(column, np.float64) for column in columns))

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


def _own_tokens(sample: Sample, count: int) -> list[float]:
    """Return the tokens of each context."""
    contexts = sample.retrieved_contexts
    if contexts is None:
        return [_UNKNOWN] * count
    return [_tokens_of(context) for context in contexts]


def _tokens_of(context: Context) -> float:
    given = context.metadata.get("tokens")
    if isinstance(given, (int, float)) and not isinstance(given, bool) and given >= 0:
        return given
    return _UNKNOWN if context.text is None else len(context.text) / CHARACTERS_PER_TOKEN


def _tokens(sample: Sample, numbers: Sequence[float], own: Sequence[float]) -> Sequence[float]:
    """Return how many tokens the reader has had with each context.

    Several lists that nobody merged were read one call after another, any other list from its top.
    """
    order = np.arange(len(own))
    if sample.ranks is not None:
        if any(map(isnan, numbers)):
            return [_UNKNOWN] * len(own)
        order = np.argsort(np.array(numbers), kind="stable")
    costs = np.zeros(len(own))
    costs[order] = np.cumsum(np.array(own, np.float64)[order])
    read: list[float] = costs.tolist()
    return read


def _seconds(sample: Sample, count: int) -> Sequence[float]:
    known = None if sample.retrieval is None else sample.retrieval.seconds
    if known is None:
        return [_UNKNOWN] * count
    return [_UNKNOWN if second is None else second for second in known]
