"""Measures of the order: how far up the contexts stand that support a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from fullrecall._util.parameters import check_choice
from fullrecall.measures.measure import FindingsOf, GradedMeasure, Measure

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.measures.lists import Floats

Gain = Literal["linear", "exponential"]


class RRMeasure(GradedMeasure):
    """1 / the rank of the first relevant context among the first k, 0.0 if there is none.

    Its mean is MRR (Voorhees, TREC-8 Question Answering Track Report, 1999).
    """

    text = "rr"

    def formula(self, outcomes: FoundColumns, findings_of: FindingsOf) -> Floats:
        """Return the reciprocal of the first relevant rank."""
        within = 1.0 * (outcomes.relevant_within(self.top).counts > 0)
        return outcomes.share(within, outcomes.first_relevant)


class APMeasure(GradedMeasure):
    """The mean over targets of the precision at the rank where each was found.

    With one context for each target this is the average precision of Manning et al. (2008),
    eq. 8.8, over all targets, found or not; its mean is MAP. A target that earns its credit in
    steps contributes the precision at each in proportion.
    """

    text = "ap"

    def formula(self, outcomes: FoundColumns, findings_of: FindingsOf) -> Floats:
        """Return the mean precision at the ranks of the targets within the first k."""
        return outcomes.share(outcomes.rising_precisions(self.top).sums, outcomes.targets)


class MeanPrecisionMeasure(GradedMeasure):
    """The mean of the precision at the rank of each relevant context among the first k.

    Average precision over what was *retrieved*: it shows whether relevant contexts come first,
    and cannot see what is missing, so that it may rise when a relevant context falls below k.
    Source: ragas's context precision.
    """

    text = "mean_precision"

    def formula(self, outcomes: FoundColumns, findings_of: FindingsOf) -> Floats:
        """Return the mean precision at the relevant ranks within the first k."""
        precisions = outcomes.precisions(self.top)
        return outcomes.share(precisions.sums, precisions.counts)


class nDCGMeasure(Measure):  # noqa: N801 - the field's own spelling
    """Normalized discounted cumulative gain, each target gaining by its grade.

    - `gain`: "linear" gains the grade, as in trec_eval (the default); "exponential" gains
      2^grade - 1, as in reval, and as ranx and ir_measures offer (Burges et al., "Learning to
      rank using gradient descent", ICML 2005).

    A context gains what the targets that it adds are worth, discounted by log2(rank + 1); the
    ideal is the best order of these gains, each missing target at a rank of its own, cut at k.
    Where several lists were united, each rank has as many places as there were lists. With one
    context for each target and one list this is nDCG of Järvelin and Kekäläinen, "Cumulated
    gain-based evaluation of IR techniques", TOIS 20(4), 2002.
    """

    gain: Gain = "linear"

    text = "ndcg"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.gain, "gain", get_args(Gain))

    def formula(self, outcomes: FoundColumns, findings_of: FindingsOf) -> Floats:
        """Return the discounted gain over that of the ideal order."""
        # Gains by context, not by target: a context that supports two stands at one rank.
        gains, ideal = outcomes.gains(self.top, self._worth)
        return outcomes.share(gains.sums, ideal.sums)

    def _worth(self, grade: float) -> float:
        """Return what a target gains."""
        return grade if self.gain == "linear" else 2.0**grade - 1


RR = RRMeasure()
AP = APMeasure()
nDCG = nDCGMeasure()  # noqa: N816 - as above
MeanPrecision = MeanPrecisionMeasure()
