"""Measures of the first k contexts, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from fullrecall._util.parameters import check_choice, check_positive
from fullrecall.errors import ParameterError
from fullrecall.measures.measure import GradedMeasure

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.measures.lists import Floats

Weight = Literal["equal", "grade", "size"]
Denominator = Literal["retrieved", "k"]
RecallDenominator = Literal["targets", "k"]


class RecallMeasure(GradedMeasure):
    """The share of the targets' credit that the first k contexts earn.

    - `weight`: the weight of a target: "equal" (1 each, the default), its "grade", or its "size",
      the characters of a passage.
    - `denominator`: "targets" divides by all targets; "k" by as many as k contexts can hold, if
      that is fewer, so that 1.0 can be reached (k for each list, where several were united).

    Source: Manning, Raghavan, Schütze, "Introduction to Information Retrieval" (2008), eq. 8.2,
    with credit for membership and weights for counts.
    """

    weight: Weight = "equal"
    denominator: RecallDenominator = "targets"

    text = "recall"
    plain = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.weight, "weight", get_args(Weight))
        check_choice(self.denominator, "denominator", get_args(RecallDenominator))
        if self.denominator == "k" and self.weight != "equal":
            raise ParameterError('denominator="k" counts targets: leave weight out')

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the weighted mean of the credits."""
        if self.denominator == "targets" or self.top is None:
            return recall(outcomes, self.top, self.weight)
        # Example: 5 contexts hold at most 5 of 20 targets, so plain recall@5 could not exceed 0.25.
        return outcomes.share(outcomes.credit_sums(self.top), outcomes.attainable(self.top))


class PrecisionMeasure(GradedMeasure):
    """The share of the first k contexts that support a target.

    - `denominator`: "retrieved" divides by the number of contexts, at most k; "k" always divides by
      k, as trec_eval's P_k does (k for each list, where several were united).
    """

    denominator: Denominator = "retrieved"

    text = "precision"
    plain = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.denominator, "denominator", get_args(Denominator))

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return relevant contexts among the first k, over the denominator."""
        divisor = outcomes.contexts_within(self.top)
        # trec_eval's P_k counts the missing ranks of a list shorter than k as misses.
        if self.top is not None and self.denominator == "k":
            divisor = self.top * outcomes.lists
        return outcomes.share(outcomes.relevant_count(self.top), divisor)


class F1Measure(PrecisionMeasure):
    """The harmonic mean of precision and recall (van Rijsbergen, 1979, with β = 1)."""

    text = "f1"
    plain = True

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return 2PR / (P + R), or 0.0 if P and R are 0."""
        precision, share = super().formula(outcomes), recall(outcomes, self.top)
        return outcomes.share(2 * precision * share, precision + share)


class FBetaMeasure(PrecisionMeasure):
    """The weighted harmonic mean of precision and recall (van Rijsbergen, 1979).

    - `beta`: recall counts β times as much as precision.
    """

    beta: float = 1.0

    text = "f_beta"
    plain = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.beta, "beta")

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return (1 + β²)PR / (β²P + R), or 0.0 if P and R are 0."""
        precision, share = super().formula(outcomes), recall(outcomes, self.top)
        square = self.beta**2
        return outcomes.share((1 + square) * precision * share, square * precision + share)


class HitMeasure(GradedMeasure):
    """1.0 if any of the first k contexts supports a target, else 0.0."""

    text = "hit"
    plain = True

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return 1.0 if the first relevant rank is within k, else 0.0."""
        is_hit: Any = outcomes.relevant_count(self.top) > 0
        return 1.0 * is_hit  # type: ignore[no-any-return]


class AllFoundMeasure(GradedMeasure):
    """1.0 if every target is found in full within the first k contexts, else 0.0.

    It suits multi-hop questions, which need all parts at once.
    """

    text = "all_found"
    plain = True

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return 1.0 if every target is found in full within k, else 0.0."""
        all_found: Any = outcomes.found_within(self.top) == outcomes.targets
        return 1.0 * all_found  # type: ignore[no-any-return]


def recall(outcomes: FoundColumns, k: int | None, weight: Weight = "equal") -> Floats:
    """Return the mean credit of the targets within the first `k` ranks, by their weight."""
    weights = None if weight == "equal" else getattr(outcomes, weight)
    whole = outcomes.targets if weights is None else outcomes.sums(weights)
    return outcomes.share(outcomes.credit_sums(k, weights), whole)


Recall = RecallMeasure()
Precision = PrecisionMeasure()
F1 = F1Measure()
FBeta = FBetaMeasure()
Hit = HitMeasure()
AllFound = AllFoundMeasure()
