"""Measures of the first k contexts that ignore their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from fullrecall._util.parameters import check_choice, check_positive
from fullrecall.measures.measure import GradedMeasure
from fullrecall.measures.recall_measure import recall

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.measures.lists import Floats

Denominator = Literal["retrieved", "k"]


class PrecisionMeasure(GradedMeasure):
    """The share of the first k contexts that support a target.

    - `denominator`: "retrieved" divides by the number of contexts, at most k. "k" always divides by
      k, as trec_eval's P_k does; if several lists were merged, it divides by k times their number.
      Without a k, both divide by the number of contexts.
    """

    denominator: Denominator = "retrieved"

    text = "precision"
    plain = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.denominator, "denominator", get_args(Denominator))

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the number of relevant contexts among the first k, divided by the denominator."""
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

    It suits multi-hop questions, which need all of their parts.
    """

    text = "all_found"
    plain = True

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return 1.0 if every target is found in full within k, else 0.0."""
        all_found: Any = outcomes.found_within(self.top) == outcomes.targets
        return 1.0 * all_found  # type: ignore[no-any-return]


Precision = PrecisionMeasure()
F1 = F1Measure()
FBeta = FBetaMeasure()
Hit = HitMeasure()
AllFound = AllFoundMeasure()
