"""Measures of what is among the first k, in whatever order."""

from __future__ import annotations

from bisect import bisect_right
from math import fsum
from typing import TYPE_CHECKING, Literal, Self, get_args

from fullrecall.findings import (
    ColumnFindings,
    Findings,
    SingleFindings,
    contexts_within,
    lists_of,
    relevant_ranks,
)
from fullrecall.measures.measure import GradedMeasure, check_choice

Weight = Literal["equal", "grade", "size"]
Denominator = Literal["retrieved", "k"]


class RecallMeasure(GradedMeasure):
    """The share of the targets' credit that the first k contexts earn.

    - `weight`: what a target counts: "equal" (1 each, the default), its "grade", or its "size",
      the characters of a passage.

    Source: Manning, Raghavan, Schütze, "Introduction to Information Retrieval" (2008), eq. 8.2,
    with credit for membership and weights for counts.
    """

    weight: Weight = "equal"

    text = "recall"
    written = "Recall"

    if TYPE_CHECKING:

        def __call__(  # type: ignore[override]  # noqa: D102 - its own parameters, for whoever checks types
            self,
            *,
            min_grade: float | None = ...,
            weight: Weight = ...,
            zero_division: float | None = ...,
        ) -> Self: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.weight, "weight", get_args(Weight))

    def of(self, findings: Findings, retrieved: int) -> float | None:
        """Return the value in [0, 1]; `zero_division` where there are no findings to count."""
        # The measure that is read most: columns answer it without making a finding, where it
        # `needs_only_ranks`.
        if self.min_grade is None and self.weight == "equal":
            if type(findings) is SingleFindings:  # told in a fifth of the time of an isinstance
                size, hits, k = len(findings.ids), findings.hits, self.k
                if not size:
                    return self.zero_division
                return (len(hits) if k is None else bisect_right(hits, k)) / size
            if isinstance(findings, ColumnFindings):
                size = len(findings)
                return findings.found_within(self.k) / size if size else self.zero_division
        return super().of(findings, retrieved)

    @property
    def needs_only_ranks(self) -> bool:
        """Whether the value follows from the ranks of what was found and the number of targets."""
        return self.min_grade is None and self.weight == "equal"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return the weighted mean of the credits."""
        if self.weight == "equal":
            return recall(findings, self.k)
        weights = [getattr(finding.target, self.weight) for finding in findings]
        credits_ = [finding.credit_at(self.k) for finding in findings]
        earned = fsum(w * credit for w, credit in zip(weights, credits_, strict=True))
        return min(1.0, earned / fsum(weights))


class PrecisionMeasure(GradedMeasure):
    """The share of the first k contexts that support a target.

    - `denominator`: "retrieved" divides by the contexts there are, at most k; "k" by k, however
      few there are, as trec_eval's P_k does (k for each list, where several were united).
    """

    denominator: Denominator = "retrieved"

    text = "precision"
    written = "Precision"

    if TYPE_CHECKING:

        def __call__(  # type: ignore[override]  # noqa: D102 - as above
            self,
            *,
            min_grade: float | None = ...,
            denominator: Denominator = ...,
            zero_division: float | None = ...,
        ) -> Self: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.denominator, "denominator", get_args(Denominator))

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return relevant contexts among the first k, over the denominator."""
        divisor = contexts_within(findings, retrieved, self.k)
        if self.k is not None and self.denominator == "k":
            divisor = self.k * lists_of(findings)
        ranks = relevant_ranks(findings)
        relevant = len(ranks) if self.k is None else bisect_right(ranks, self.k)
        return relevant / divisor if divisor else 0.0


class F1Measure(PrecisionMeasure):
    """The harmonic mean of precision and recall (van Rijsbergen, 1979, with β = 1)."""

    text = "f1"
    written = "F1"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return 2PR / (P + R); 0.0 where both are."""
        share, found = super().count(findings, retrieved), recall(findings, self.k)
        return 2 * share * found / (share + found) if share + found else 0.0


class HitMeasure(GradedMeasure):
    """1.0 if any of the first k contexts supports a target, else 0.0."""

    text = "hit"
    written = "Hit"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return whether the first relevant rank is within k."""
        ranks = relevant_ranks(findings)
        return float(bool(ranks) and (self.k is None or ranks[0] <= self.k))


class AllFoundMeasure(GradedMeasure):
    """1.0 if every target is found in full within the first k contexts, else 0.0.

    The measure of multi-hop questions, where all of the parts are needed at once.
    """

    text = "all_found"
    written = "AllFound"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return whether no target is left."""
        if isinstance(findings, ColumnFindings):
            return float(findings.found_within(self.k) == len(findings))
        return float(all(finding.found_at(self.k) for finding in findings))


def recall(findings: Findings, k: int | None) -> float:
    """Return the mean credit of the findings within the first `k` ranks."""
    if isinstance(findings, ColumnFindings):
        return findings.found_within(k) / len(findings)
    return fsum(finding.credit_at(k) for finding in findings) / len(findings)


Recall = RecallMeasure()
Precision = PrecisionMeasure()
F1 = F1Measure()
Hit = HitMeasure()
AllFound = AllFoundMeasure()
