"""Measures of the order: how far up the contexts stand that support a target."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import fsum, log2
from typing import TYPE_CHECKING, Literal, Self, get_args

from fullrecall.findings import (
    Findings,
    RankedFindings,
    SingleFindings,
    WholeFindings,
    contexts_within,
    lists_of,
    relevant_ranks,
)
from fullrecall.measures.measure import GradedMeasure, Measure, check_choice

Gain = Literal["linear", "exponential"]


class RRMeasure(GradedMeasure):
    """1 / the rank of the first relevant context among the first k, 0.0 if there is none.

    Its mean is MRR (Voorhees, TREC-8 Question Answering Track Report, 1999).
    """

    text = "rr"
    written = "RR"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return the reciprocal of the first relevant rank."""
        ranks = relevant_ranks(findings)
        return 1 / ranks[0] if ranks and (self.k is None or ranks[0] <= self.k) else 0.0


class APMeasure(GradedMeasure):
    """The mean over targets of the precision at the rank where each was found.

    With one context for each target this is the average precision of Manning et al. (2008),
    eq. 8.8, over all targets, found or not; its mean is MAP. A target that earns its credit in
    steps contributes the precision at each in proportion.
    """

    text = "ap"
    written = "AP"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return the mean precision at the ranks of the targets within the first k."""
        ranks = relevant_ranks(findings)
        gains = []
        for _, steps in _earnings(findings):
            earned = 0.0
            for rank, credit in steps:
                if self.k is not None and rank > self.k:
                    break
                above = contexts_within(findings, rank, rank)
                gains.append((credit - earned) * bisect_right(ranks, rank) / above)
                earned = credit
        return min(1.0, fsum(gains) / len(findings))


class ContextPrecisionMeasure(GradedMeasure):
    """The mean of the precision at the rank of each relevant context among the first k.

    Average precision over what was *retrieved*: it shows whether relevant contexts come first,
    and cannot see what is missing, so that it may rise when a relevant context falls below k.
    Source: ragas's context precision.
    """

    text = "context_precision"
    written = "ContextPrecision"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return the mean precision at the relevant ranks within the first k."""
        ranks = relevant_ranks(findings)
        seen = ranks if self.k is None else ranks[: bisect_right(ranks, self.k)]
        shares = [bisect_right(seen, rank) / contexts_within(findings, rank, rank) for rank in seen]
        return fsum(shares) / len(shares) if shares else 0.0


class NDCGMeasure(Measure):
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
    written = "nDCG"

    if TYPE_CHECKING:

        def __call__(  # type: ignore[override]  # noqa: D102 - its own parameters, for whoever checks types
            self, *, gain: Gain = ..., zero_division: float | None = ...
        ) -> Self: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.gain, "gain", get_args(Gain))

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return the discounted gain over that of the ideal order."""
        if type(findings) is SingleFindings and findings.grades is None:
            return self._count_equal(findings)
        gains: dict[int, float] = defaultdict(float)
        missing = []
        placed, ranks = findings, None
        if type(findings) is RankedFindings:
            placed, ranks = findings.placed, findings.ranks
        for grade, steps in _earnings(placed):
            worth = grade if self.gain == "linear" else 2.0**grade - 1
            earned = 0.0
            for rank, credit in steps:
                gains[rank] += worth * (credit - earned)
                earned = credit
            missing.append(worth * (1.0 - earned))
        k, lists = self.k, lists_of(findings)
        ideal = sorted([*missing, *gains.values()], reverse=True)
        ideal = ideal if k is None else ideal[: k * lists]
        best = fsum(gain / log2(nth // lists + 2) for nth, gain in enumerate(ideal))
        by_rank = [(place if ranks is None else ranks[place - 1], g) for place, g in gains.items()]
        reached = fsum(g / log2(rank + 1) for rank, g in by_rank if k is None or rank <= k)
        return min(1.0, reached / best) if best else 0.0

    def _count_equal(self, findings: SingleFindings) -> float:
        """Return the same of targets that all gain 1, whatever `gain` is."""
        found = findings.relevant_ranks
        within = found if self.k is None else found[: findings.found_within(self.k)]
        best = _ideal(len(findings) if self.k is None else min(len(findings), self.k))
        return min(1.0, fsum(1.0 / log2(rank + 1) for rank in within) / best)


@lru_cache(maxsize=1_024)
def _ideal(targets: int) -> float:
    """Return the discounted gain of targets that gain 1 each, at the first ranks."""
    return fsum(1.0 / log2(nth + 2) for nth in range(targets))


RR = RRMeasure()
AP = APMeasure()
ContextPrecision = ContextPrecisionMeasure()
nDCG = NDCGMeasure()  # noqa: N816 - the field's own spelling


def _earnings(findings: Findings) -> Iterator[tuple[float, Sequence[tuple[int, float]]]]:
    """Yield each target's grade and its cumulative credit by rank."""
    if isinstance(findings, WholeFindings):
        for (_, grade), ranks in zip(findings.references, findings.ranks, strict=True):
            yield grade, ((ranks[0], 1.0),) if ranks else ()
        return
    for finding in findings:
        yield finding.target.grade, finding.steps
