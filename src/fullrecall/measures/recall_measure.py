"""Recall: the share of the targets that were retrieved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from fullrecall._util.parameters import check_choice
from fullrecall.errors import ParameterError
from fullrecall.measures.measure import GradedMeasure

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.measures.lists import Floats

Weight = Literal["equal", "grade", "size"]
RecallDenominator = Literal["targets", "k"]


class RecallMeasure(GradedMeasure):
    """The share of the targets' credit that the first k contexts earn.

    - `weight`: the weight of a target: "equal" (1 each, the default), its "grade", or its "size",
      the number of characters of a passage.
    - `denominator`: "targets" divides by all targets. "k" divides by the targets that the first k
      ranks can hold, so that 1.0 can be reached with more than k targets. If several lists were
      merged, each rank holds one context of each list.

    Source: Manning, Raghavan, Schütze, "Introduction to Information Retrieval" (2008), eq. 8.2,
    generalized from sets of documents to partial credit and weighted targets.
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
        # Divide by the targets that k contexts can hold: of 20 targets, 5 contexts hold 5 at most.
        return outcomes.share(outcomes.credit_sums(self.top), outcomes.attainable(self.top))


def recall(outcomes: FoundColumns, k: int | None, weight: Weight = "equal") -> Floats:
    """Return each row's weighted mean of the targets' credits within the first `k` ranks."""
    weights = None if weight == "equal" else getattr(outcomes, weight)
    whole = outcomes.targets if weights is None else outcomes.sums(weights)
    return outcomes.share(outcomes.credit_sums(k, weights), whole)


Recall = RecallMeasure()
