"""The measures: pure functions of findings, the number retrieved, and k.

All are in [0, 1]. `k` cuts the ranking; None takes all of it. Nothing retrieved gives 0.0. No
findings at all (no targets) is undefined, and the caller's to handle: `ValueError` here.

A *relevant* context is one that supports a target; a duplicate of an earlier context is never
relevant a second time, so that no duplicate raises a measure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import fsum, log2
from typing import Literal, TypeAlias

from fullrecall.finding import Finding
from fullrecall.findings import ColumnFindings, WholeFindings

Findings: TypeAlias = Sequence[Finding]
PrecisionDenominator: TypeAlias = Literal["retrieved", "k"]


def recall(findings: Findings, k: int | None = None) -> float:
    """Return the weighted share of the targets' credit that the first `k` contexts earn.

    Source: Manning, Raghavan, Schütze, "Introduction to Information Retrieval" (2008), eq. 8.2,
    with credit for membership and weights for counts.
    """
    return recall_at(findings, (k,))[0]


def recall_at(findings: Findings, ks: Sequence[int | None]) -> list[float]:
    """Return recall at each of `ks`, in one pass over the findings."""
    _require(findings)
    if isinstance(findings, ColumnFindings) and findings.weights is None:
        firsts = sorted(findings.first_ranks)
        total = len(findings)
        return [(len(firsts) if k is None else bisect_right(firsts, k)) / total for k in ks]
    weight = fsum(finding.target.weight for finding in findings)
    return [
        fsum(finding.target.weight * finding.credit_at(k) for finding in findings) / weight
        for k in ks
    ]


def precision(
    findings: Findings,
    retrieved: int,
    k: int | None = None,
    *,
    denominator: PrecisionDenominator = "retrieved",
) -> float:
    """Return the share of the first `k` contexts that are relevant.

    `denominator="retrieved"` divides by the contexts there are, at most `k`; `"k"` divides by
    `k` however few there are, as trec_eval's P_k does.
    """
    cut = _cut(retrieved, k)
    divisor = k if denominator == "k" and k is not None else cut
    return bisect_right(relevant_ranks(findings), cut) / divisor if divisor else 0.0


def f1(
    findings: Findings,
    retrieved: int,
    k: int | None = None,
    *,
    denominator: PrecisionDenominator = "retrieved",
) -> float:
    """Return the harmonic mean of precision and recall (van Rijsbergen, 1979, with β = 1)."""
    share = precision(findings, retrieved, k, denominator=denominator)
    found = recall(findings, k)
    return 2 * share * found / (share + found) if share + found else 0.0


def hit(findings: Findings, k: int | None = None) -> float:
    """Return 1.0 if any of the first `k` contexts is relevant, else 0.0."""
    _require(findings)
    ranks = relevant_ranks(findings)
    return float(bool(ranks) and (k is None or ranks[0] <= k))


def all_found(findings: Findings, k: int | None = None) -> float:
    """Return 1.0 if every target is found in full within the first `k` contexts, else 0.0.

    The measure of multi-hop questions, where all of the parts are needed at once.
    """
    _require(findings)
    if isinstance(findings, WholeFindings):
        return float(all(ranks and (k is None or ranks[0] <= k) for ranks in findings.ranks))
    return float(all(finding.found_at(k) for finding in findings))


def reciprocal_rank(findings: Findings, k: int | None = None) -> float:
    """Return 1 / the rank of the first relevant context, 0.0 if there is none.

    Its mean is MRR (Voorhees, TREC-8 Question Answering Track Report, 1999).
    """
    _require(findings)
    ranks = relevant_ranks(findings)
    return 1 / ranks[0] if ranks and (k is None or ranks[0] <= k) else 0.0


def average_precision(findings: Findings, k: int | None = None) -> float:
    """Return the mean over targets of the precision at the rank where each was found.

    With one context for each target this is the average precision of Manning et al. (2008),
    eq. 8.8, over all targets, found or not. A target that earns its credit in steps contributes
    the precision at each in proportion; targets count by their weight.
    """
    _require(findings)
    ranks = relevant_ranks(findings)
    gains = []
    total = 0.0
    for weight, _, steps in _earnings(findings):
        total += weight
        earned = 0.0
        for rank, credit in steps:
            if k is not None and rank > k:
                break
            gains.append(weight * (credit - earned) * bisect_right(ranks, rank) / rank)
            earned = credit
    return min(1.0, fsum(gains) / total)


def context_precision(findings: Findings, k: int | None = None) -> float:
    """Return the mean of the precision at the rank of each relevant context among the first `k`.

    Average precision over what was *retrieved*: it tells whether relevant contexts stand first
    and cannot see what is missing, so that it may rise when a relevant context falls below `k`.
    Source: ragas's context precision.
    """
    ranks = relevant_ranks(findings)
    seen = ranks if k is None else ranks[: bisect_right(ranks, k)]
    return fsum(nth / rank for nth, rank in enumerate(seen, 1)) / len(seen) if seen else 0.0


def ndcg(findings: Findings, k: int | None = None) -> float:
    """Return the normalised discounted cumulative gain, with each target's grade as its gain.

    A context gains the grades of the targets that it adds, discounted by log2(rank + 1); the
    ideal is the best order of these gains, each missing target on a rank of its own, cut at `k`.
    With one context for each target this is nDCG of Järvelin and Kekäläinen, "Cumulated
    gain-based evaluation of IR techniques", TOIS 20(4), 2002, with linear gains as in trec_eval.
    """
    _require(findings)
    gains: dict[int, float] = defaultdict(float)
    ideal = []
    for _, grade, steps in _earnings(findings):
        earned = 0.0
        for rank, credit in steps:
            gains[rank] += grade * (credit - earned)
            earned = credit
        ideal.append(grade * (1.0 - earned))
    ideal = sorted([*ideal, *gains.values()], reverse=True)[:k]
    best = fsum(gain / log2(rank + 1) for rank, gain in enumerate(ideal, 1))
    reached = fsum(g / log2(rank + 1) for rank, g in gains.items() if k is None or rank <= k)
    return min(1.0, reached / best) if best else 0.0


def relevant_ranks(findings: Findings) -> Sequence[int]:
    """Return the ranks of the contexts that support any target, ascending, each once."""
    if isinstance(findings, WholeFindings):
        return findings.relevant_ranks
    return sorted({rank for finding in findings for rank in finding.ranks})


Measure: TypeAlias = Callable[[Findings, int, int | None, PrecisionDenominator], float]

MEASURES: Mapping[str, Measure] = {
    "recall": lambda findings, _, k, __: recall(findings, k),
    "precision": lambda findings, n, k, per: precision(findings, n, k, denominator=per),
    "f1": lambda findings, n, k, per: f1(findings, n, k, denominator=per),
    "hit": lambda findings, _, k, __: hit(findings, k),
    "all_found": lambda findings, _, k, __: all_found(findings, k),
    "reciprocal_rank": lambda findings, _, k, __: reciprocal_rank(findings, k),
    "average_precision": lambda findings, _, k, __: average_precision(findings, k),
    "context_precision": lambda findings, _, k, __: context_precision(findings, k),
    "ndcg": lambda findings, _, k, __: ndcg(findings, k),
}
"""Each measure by name, called with findings, number retrieved, k, and precision's denominator."""


def _earnings(findings: Findings) -> Iterator[tuple[float, float, Sequence[tuple[int, float]]]]:
    """Yield each target's weight, grade and cumulative credit by rank."""
    if isinstance(findings, WholeFindings):
        weights = findings.weights or (1.0,) * len(findings)
        for weight, reference, ranks in zip(
            weights, findings.references, findings.ranks, strict=True
        ):
            yield weight, reference.grade, ((ranks[0], 1.0),) if ranks else ()
        return
    for finding in findings:
        yield finding.target.weight, finding.target.grade, finding.steps


def _require(findings: Findings) -> None:
    if not len(findings):
        raise ValueError("no findings: a measure over no targets is undefined")


def _cut(retrieved: int, k: int | None) -> int:
    return retrieved if k is None else min(retrieved, k)
