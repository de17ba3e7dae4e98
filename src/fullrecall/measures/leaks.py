"""Leak: whether what must not be retrieved was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall.measures.budgets import CutBudget
from fullrecall.measures.measure import FindingsOf, Measure

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.measures.lists import Floats


class LeakMeasure(Measure):
    """1.0 if any of the first k contexts is forbidden, else 0.0; its mean is the leak rate.

    A context is forbidden whose ID is among the sample's `forbidden_ids` or `superseded`; where
    `answerable` is False every context is. It is undefined where nothing is forbidden or no
    retrieval was observed, and does not depend on what a scorer finds, nor on whether it can.
    """

    text = "leak"
    of_sample = True
    lower_is_better = True

    def values(self, outcomes: FoundColumns, findings_of: FindingsOf) -> Floats:
        """Return whether each row leaks; `zero_division`, or NaN, where nothing could."""
        import numpy as np

        from fullrecall.measures.paid import leaks_within

        values = np.full(
            len(outcomes), np.nan if self.zero_division is None else self.zero_division
        )
        forbidden = outcomes.forbidden
        if forbidden is None:
            return values
        at_stake = forbidden.at_stake
        if isinstance(self.k, CutBudget):
            leaks = leaks_within(outcomes, forbidden.positions, self.k)
        else:
            leaks = forbidden.leaks(self.k).astype(float)
        values[at_stake] = leaks[at_stake]
        return values


Leak = LeakMeasure()
