"""The mean cost of a question: contexts, their tokens, and the seconds of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from math import ceil, isnan
from typing import NamedTuple

import numpy as np

from fullrecall.measures import Measure
from fullrecall.measures.costs import Costs
from fullrecall.samples.sample import Sample
from fullrecall.table.table import Table

_LOOKED_AT = 500
"""The most samples from which costs are taken; more would not change a digit that is shown."""

_LOOKED_THROUGH = 10 * _LOOKED_AT
"""The most samples that are searched for a retrieval."""

_AS_MUCH = 0.01
"""The relative difference below which contexts or tokens are shown as equal."""

_AS_LONG = 0.25
"""The relative difference below which seconds are shown as equal, since calls vary."""


FELT = 0.01
"""The median seconds below which time is not shown, because no user notices it."""


class Seconds(NamedTuple):
    """The duration of calls: the median, and the 95th percentile."""

    p50: float
    p95: float

    def __str__(self) -> str:
        return f"{shown_seconds(self.p50)} s (p95 {shown_seconds(self.p95)} s)"


class QuestionCost(NamedTuple):
    """The mean cost of a question, over the first `samples` (at most 500) with a retrieval.

    `tokens` is the number in the contexts' metadata, or else estimated as characters / 4; it is
    None if a text is unknown. `seconds` is None if no call was timed.
    """

    contexts: float
    tokens: float | None
    seconds: Seconds | None
    samples: int

    def __str__(self) -> str:
        number = f"{self.contexts:.3g}"
        parts = [f"{number} {'context' if number == '1' else 'contexts'}"]
        if self.tokens is not None:
            parts.append(f"about {self.tokens:,.0f} tokens")
        if self.seconds is not None and self.seconds.p50 >= FELT:
            parts.append(str(self.seconds))
        return ", ".join(parts)


def shown_seconds(seconds: float) -> str:
    """Return seconds with two significant digits, or "<0.01" below `FELT`."""
    return f"{seconds:.2g}" if seconds >= FELT else f"<{FELT:g}"


def question_cost(table: Table, measures: Iterable[Measure] = ()) -> QuestionCost | None:
    """Return the mean cost of a question from a table's first samples; None without a retrieval.

    Only the contexts within the measures' largest k count. All contexts count if there are no
    measures, or if a measure has no k, or has a budget in place of k.
    """
    # Read only the first samples, since reading one from a file takes about 100 µs.
    first = (table.sample(row) for row in range(min(len(table), _LOOKED_THROUGH)))
    ranks: list[Sequence[int]] = []

    def looked_at() -> Iterator[Sample]:
        for sample in islice((each for each in first if each.has_retrieval), _LOOKED_AT):
            ranks.append(sample.ranks or range(1, len(sample.retrieved_context_ids or ()) + 1))
            yield sample  # The sample is not kept, since its texts may be long.

    costs = Costs.of(looked_at())
    samples = len(costs.offsets) - 1
    if not samples:
        return None
    ks = [measure.k for measure in measures]
    largest = max((k for k in ks if isinstance(k, int)), default=None)
    is_read = np.ones(len(costs.own_tokens), np.bool_)
    if largest is not None and all(isinstance(k, int) for k in ks):
        is_read = np.fromiter(chain.from_iterable(ranks), np.int64) <= largest
    tokens = float(costs.own_tokens[is_read].sum()) / samples
    last_seconds = [float(costs.seconds[end - 1]) for end in costs.offsets[1:].tolist() if end]
    timed = [seconds for seconds in last_seconds if not isnan(seconds)]
    return QuestionCost(
        int(is_read.sum()) / samples,
        None if isnan(tokens) else tokens,
        percentiles(timed),
        samples,
    )


def percentiles(seconds: Sequence[float]) -> Seconds | None:
    """Return the 50th and the 95th percentile; None without any call."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    return Seconds(*(ordered[ceil(share * len(ordered)) - 1] for share in (0.5, 0.95)))


def cost_change(before: QuestionCost | None, after: QuestionCost | None) -> str:
    """Describe how the cost of a question changed; return "" if it is unknown.

    Example: "10 times the contexts (5 to 50), 3.1 times the seconds (p50 0.1 to 0.31)".
    """
    if before is None or after is None:
        return ""
    old_seconds = None if before.seconds is None else before.seconds.p50
    new_seconds = None if after.seconds is None else after.seconds.p50
    parts = []
    for quantity, old, new, share, form in (
        ("contexts", before.contexts, after.contexts, _AS_MUCH, "{:.3g} to {:.3g}"),
        ("tokens", before.tokens, after.tokens, _AS_MUCH, "{:,.0f} to {:,.0f}"),
        ("seconds", old_seconds, new_seconds, _AS_LONG, "p50 {:.2g} to {:.2g}"),
    ):
        if old is None or new is None or abs(old - new) <= share * max(old, new):
            continue
        if quantity != "seconds" or max(old, new) >= FELT:
            # Show two digits, without an exponent: 330, not 3.3e+02.
            times = f"{float(f'{new / old:.2g}'):,.15g}" if old else "any number of"
            parts.append(f"{times} times the {quantity} ({form.format(old, new)})")
    return ", ".join(parts) or f"the same: {after}"
