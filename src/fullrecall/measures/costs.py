"""The cost spent until each context was returned: calls, tokens, seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from fullrecall.measures.budgets import CutBudget
from fullrecall.measures.lists import Floats, Integers, count_sums, offsets_of
from fullrecall.samples.context import Context
from fullrecall.samples.retrieval import Retrieval
from fullrecall.samples.sample import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHARACTERS_PER_TOKEN = 4.0
"""The number of characters per token if there is no tokenizer; the usual estimate for English."""

ESTIMATE = f"characters / {CHARACTERS_PER_TOKEN:g}"
"""The name shown in place of a tokenizer's if tokens are estimated."""

_UNNAMED = "the contexts' own count"
"""The name shown for a tokenizer if the metadata has `tokens` but does not name it."""

_UNKNOWN = float("nan")


@dataclass(eq=False, repr=False)
class Costs:
    """The calls, tokens and seconds spent until each context was returned, for some rows.

    Row i has the contexts from `offsets[i]` to `offsets[i + 1]`. `calls`, `tokens` and `seconds`
    include the context itself; `own_tokens` has the tokens of each context without those before it.
    An unknown cost is NaN. `calls_made` is the number of calls of each row, `counted_by` the number
    of contexts that each tokenizer counted.
    """

    offsets: Integers
    calls: Floats
    tokens: Floats
    seconds: Floats
    own_tokens: Floats
    calls_made: Integers
    counted_by: Mapping[str, int]

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Costs:
        """Return the costs of samples."""
        counts: list[int] = []
        call_counts: list[int] = []
        columns: tuple[list[float], ...] = ([], [], [], [])
        counted_by: Counter[str] = Counter()
        for sample in samples:
            count, contexts = len(sample.retrieved_context_ids or ()), sample.retrieved_contexts
            numbers = _call_numbers(sample, count)
            sizes = [_UNKNOWN] * count if contexts is None else list(map(tokens_of, contexts))
            rows = (numbers, _tokens(sample, numbers, sizes), _seconds(sample, count), sizes)
            for column, row in zip(columns, rows, strict=True):
                column.extend(row)
            counts.append(count)
            call_counts.append(_calls_made(sample, numbers))
            counted_by.update(filter(None, map(tokenizer_of, contexts or ())))
        calls, tokens, seconds, own = (np.array(column, np.float64) for column in columns)
        calls_made = np.array(call_counts, np.int64)
        return cls(offsets_of(counts), calls, tokens, seconds, own, calls_made, counted_by)

    @cached_property
    def rows(self) -> Integers:
        """The row of each context."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def within(self, budget: CutBudget) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return two masks: contexts within a budget, and rows whose costs are all known."""
        costs: Floats = getattr(self, budget.unit)
        unknown = count_sums(np.isnan(costs), self.offsets) > 0
        return costs <= budget.amount, ~unknown


def _call_numbers(sample: Sample, count: int) -> Sequence[float]:
    """Return the 1-based number of the call that returned each context; NaN if unknown."""
    record = sample.retrieval
    if record is None:
        return [1] * count
    if record.call_numbers is not None:
        return record.call_numbers
    if record.ranks is None and len(record.calls) <= 1:
        return [1] * count
    return _first_calls(record, count)


def _first_calls(record: Retrieval, count: int) -> list[float]:
    """Return for each context the number of the first outermost call that returned it, or NaN.

    An outermost call counts as returning the contexts of the calls inside it, too.
    """
    first: dict[tuple[str | None, str | None], int] = {}
    for number, call in enumerate(record.calls, start=1):
        for context in (c for each in call.walk() for c in each.contexts or ()):
            first.setdefault((context.id, context.text), number)
    contexts = record.contexts or ()
    return [first.get((c.id, c.text), _UNKNOWN) for c in contexts] or [_UNKNOWN] * count


def tokens_of(context: Context) -> float:
    """Return a context's number of tokens, from its metadata or else estimated from its text.

    Returns NaN if it has neither.
    """
    own = _counted(context)
    if own is not None:
        return own
    return _UNKNOWN if context.text is None else len(context.text) / CHARACTERS_PER_TOKEN


def _counted(context: Context) -> float | None:
    """Return `tokens` of a context's metadata if it is a number of at least 0, else None."""
    if not context.metadata:
        return None
    own = context.metadata.get("tokens")
    is_count = isinstance(own, (int, float)) and not isinstance(own, bool) and own >= 0
    return own if is_count else None


def tokenizer_of(context: Context) -> str | None:
    """Return the name of a context's tokenizer, or `ESTIMATE`; None without a count or a text."""
    if _counted(context) is not None:
        return str(context.metadata.get("tokenizer") or _UNNAMED)
    return None if context.text is None else ESTIMATE


def _calls_made(sample: Sample, numbers: Sequence[float]) -> int:
    """Return the number of calls made, at least 1.

    Calls that failed or returned no new context count too.
    """
    record = sample.retrieval
    call_counts = 0 if record is None else len(record.calls)
    return int(max([1.0, float(call_counts), *(number for number in numbers if not isnan(number))]))


def _tokens(sample: Sample, numbers: Sequence[float], own: Sequence[float]) -> Sequence[float]:
    """Return the number of tokens read up to and including each context.

    If several calls returned lists, and no later step merged them, the lists are read call by call,
    so a context that two calls returned is read twice. Any other list is read from the top.
    """
    if sample.ranks is None:
        return list(accumulate(own))
    read = _read_by_call(sample)
    if read is not None:
        return read
    if any(map(isnan, numbers)):
        return [_UNKNOWN] * len(own)
    order = sorted(range(len(own)), key=numbers.__getitem__)
    read_then = dict(zip(order, accumulate(own[row] for row in order), strict=True))
    return [read_then[row] for row in range(len(own))]


def _read_by_call(sample: Sample) -> Sequence[float] | None:
    """Return the tokens read up to each context, call by call.

    Returns None if the calls or the contexts were not recorded, or if a context is in no call.
    """
    record, contexts = sample.retrieval, sample.retrieved_contexts
    if record is None or contexts is None or not record.calls:
        return None
    total, first = 0.0, dict[tuple[str | None, str | None], float]()
    for call in record.calls:
        for context in call.contexts or ():
            total += tokens_of(context)
            first.setdefault((context.id, context.text), total)
    read = [first.get((context.id, context.text)) for context in contexts]
    return None if None in read else [cost for cost in read if cost is not None]


def _seconds(sample: Sample, count: int) -> Sequence[float]:
    end_times = None if sample.retrieval is None else sample.retrieval.seconds
    return [_UNKNOWN if second is None else second for second in end_times or [None] * count]
