"""Measures of leaked contexts and of judged contexts, and measures that are counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall.measures.budgets import CutBudget
from fullrecall.measures.measure import GradedMeasure, Measure

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.measures.lists import Floats


class LeakMeasure(Measure):
    """1.0 if any of the first k contexts is forbidden, else 0.0; its mean is the leak rate.

    A context is forbidden if its ID is among the sample's `forbidden_ids` or `superseded`, or if
    the context matches one of the `forbidden_contexts`. If `answerable` is False, every context is
    forbidden. The measure is undefined in three cases: the sample forbids no context; the retrieval
    failed or was not observed; or missing texts leave open whether any context is forbidden. The
    measure does not depend on the scorer's findings, so unscored samples have a value too.
    """

    text = "leak"
    of_sample = True
    lower_is_better = True

    def values(self, outcomes: FoundColumns) -> Floats:
        """Return 1.0 for each row that leaks, else 0.0.

        Rows for which the measure is undefined have the value `zero_division`, or NaN if
        `zero_division` is None. Rows with unknown costs have NaN.
        """
        import numpy as np

        from fullrecall.measures.paid import leaks_within

        values = np.full(
            len(outcomes), np.nan if self.zero_division is None else self.zero_division
        )
        forbidden = outcomes.of_samples.forbidden
        if forbidden is None:
            return values
        at_stake = forbidden.at_stake
        if isinstance(self.k, CutBudget):
            leaks = leaks_within(outcomes, forbidden.positions, self.k)
        else:
            leaks = forbidden.leaks(self.k).astype(float)
        values[at_stake] = leaks[at_stake]
        return values


class JudgedMeasure(Measure):
    """The share of the first k contexts that were judged, with any grade.

    If the share is below 1, some contexts that count as irrelevant were never judged. Source:
    Judged@k of ir_measures.
    """

    text = "judged"
    needs_target = False

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the share of contexts within k that were judged; NaN without judgments by ID."""
        judged = outcomes.judgments
        positions = judged.positions
        within = positions.kept(positions.values <= outcomes.cut(self.top)[positions.rows])
        values = outcomes.share(within.counts, outcomes.contexts_within(self.top))
        values[~judged.known] = float("nan")
        return values


class RetrievedMeasure(Measure):
    """The number of contexts within k: trec_eval's num_ret, for each query."""

    text = "retrieved"
    is_count = True
    needs_target = False

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the number of contexts of each row within k."""
        return outcomes.contexts_within(self.top).astype(float)


class RelevantMeasure(GradedMeasure):
    """The number of targets: trec_eval's num_rel, for each query. It does not depend on k."""

    text = "relevant"
    is_count = True
    needs_target = False

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the number of targets of each row."""
        return outcomes.targets.astype(float)


class RelevantRetrievedMeasure(GradedMeasure):
    """The number of relevant contexts within k: trec_eval's num_rel_ret, for each query."""

    text = "relevant_retrieved"
    is_count = True
    needs_target = False

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return how many contexts of each row within k support a target."""
        return outcomes.relevant_within(self.top).counts.astype(float)


Leak = LeakMeasure()
Judged = JudgedMeasure()
Retrieved = RetrievedMeasure()
Relevant = RelevantMeasure()
RelevantRetrieved = RelevantRetrievedMeasure()
