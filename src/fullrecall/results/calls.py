"""Recall over the calls of an agent, and after which of them no more was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fullrecall.measures import Measure, calls
from fullrecall.table.table import Table

_MOST_CALLS = 30
"""Calls of a sample from which on a curve stops."""


@dataclass(frozen=True)
class OverCalls:
    """The mean of a measure within the first 1, 2, … calls.

    `tokens` is what the calls up to the last gain brought of all tokens, in [0, 1]; None where
    the texts are not known.
    """

    measure: Measure
    means: tuple[float, ...]
    tokens: float | None

    @property
    def last_gain(self) -> int:
        """The call after which the mean is what it is after all of them."""
        return next(n for n, mean in enumerate(self.means, 1) if mean == self.means[-1])

    @property
    def gains(self) -> tuple[float, ...]:
        """What each call added to the mean."""
        return tuple(np.diff(self.means, prepend=0.0).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"means": list(self.means), "last_gain": self.last_gain, "tokens": self.tokens}


def over_calls(table: Table, score: int, measure: Measure) -> OverCalls | None:
    """Return a measure over the calls; None where no sample has several, or none has a value."""
    costs = [table.costs(owner) for owner in range(len(table.parts))]
    numbers = np.concatenate([cost.calls for cost in costs]) if costs else np.zeros(0)
    known = numbers[~np.isnan(numbers)]
    most = int(known.max(initial=0))
    if not 1 < most <= _MOST_CALLS:
        return None
    columns = [table.values(score, measure @ calls(n)) for n in range(1, most + 1)]
    if np.isnan(columns[-1]).all():
        return None
    means = tuple(float(np.nanmean(column)) for column in columns)
    curve = OverCalls(measure, means, None)
    tokens = np.concatenate([cost.own_tokens for cost in costs])
    share = None
    if len(tokens) and not np.isnan(tokens).any() and tokens.sum():
        share = float(tokens[numbers <= curve.last_gain].sum() / tokens.sum())
    return OverCalls(measure, means, share)
