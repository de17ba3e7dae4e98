"""A measure over the calls of a retrieval: its mean within the first 1, 2, … calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fullrecall.measures import Measure, calls
from fullrecall.measures.costs import Costs
from fullrecall.measures.lists import Integers
from fullrecall.measures.paid import within
from fullrecall.stats.plain import plain_of
from fullrecall.table.table import Table

_MOST_CALLS = 30
"""The most calls of a curve."""


@dataclass(frozen=True)
class OverCalls:
    """The mean of a measure within the first 1, 2, … calls, at most 30; `total` is over all calls.

    - `new_targets`: for each of these calls, the number of targets, over all questions, that are
      found in full with this call, but not with the calls before it.
    - `last_gain`: the first call after which the mean equals that of all calls; None if that is
      after more than 30 calls.
    - `most`: the largest number of calls of any question.
    - `tokens`: the share, in [0, 1], of all tokens that the calls up to the last gain returned;
      None if the texts or the last gain are unknown.
    """

    measure: Measure
    means: tuple[float, ...]
    total: float
    new_targets: tuple[int, ...]
    last_gain: int | None
    most: int
    tokens: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return plain_of(self, "means", "new_targets", "last_gain", "total", "most", "tokens")


def over_calls(table: Table, score: int, measure: Measure) -> OverCalls | None:
    """Return a measure's mean after each number of calls.

    Returns None if no sample has several calls, or if no sample has a value of the measure.
    """
    costs = [part.costs for part in table.parts]
    call_counts = np.concatenate([np.zeros(0, np.int64), *(cost.calls_made for cost in costs)])
    most = int(call_counts.max(initial=0))
    numbers = [*range(1, most + 1)[:_MOST_CALLS], most]
    values = np.array([table.values(score, measure @ calls(n)) for n in numbers if most > 1])
    valued = ~np.isnan(values[-1]) if most > 1 else np.zeros(0, np.bool_)
    if not valued.any():
        return None
    *means, total = map(float, values[:, valued].mean(axis=1))
    last_gain = next((n for n, mean in enumerate(means, 1) if mean == total), None)
    return OverCalls(
        measure,
        tuple(means),
        total,
        tuple(_new_targets(table, score, len(means)).tolist()),
        last_gain,
        most,
        None if last_gain is None else _share_of_tokens(costs, last_gain),
    )


def _new_targets(table: Table, score: int, count: int) -> Integers:
    """Return the number of targets that each of the first `count` calls completes.

    These targets are found in full with this call, but not with the calls before it.
    """
    counts = np.zeros(count + 1, np.int64)
    for part in table.parts:
        columns = part.outcomes(score)
        for number in range(1, count + 1):
            left, is_known = within(columns, calls(number))
            counts[number] += int(left.found_within(None)[is_known].sum())
    new: Integers = np.diff(counts)
    return new


def _share_of_tokens(costs: list[Costs], last: int) -> float | None:
    """Return the share of all tokens in the first `last` calls; None if tokens are unknown."""
    tokens = np.concatenate([cost.own_tokens for cost in costs])
    numbers = np.concatenate([cost.calls for cost in costs])
    if not len(tokens) or np.isnan(tokens).any() or not tokens.sum():
        return None
    return float(tokens[numbers <= last].sum() / tokens.sum())
