"""The smallest k at which a mean is shown to reach a target, whether or not it can fall with k.

Recall never falls when k grows: "the mean at k is below the target" is tested from the largest k
down, each at the full level, until one is not rejected (a fixed sequence; Maurer, Hothorn,
Lehmacher, "Multiple comparisons in drug clinical trials and preclinical assays: a-priori ordered
hypotheses", 1995). Precision falls: there the sequence would end at the largest k, although the
mean at k = 1 may be 1. All k are then tested, corrected for their number by Holm's method. Either
way, that the mean at the k returned is below the target has probability 1 - confidence at most, for
every distribution of the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fullrecall.measures import AP, RR, AllFound, Hit, Measure, Recall
from fullrecall.parameters import check_share
from fullrecall.results.bounds import CONFIDENCE, Counts, alpha_of, mean_above
from fullrecall.results.multiplicity import holm

_NEVER_FALL = frozenset(map(type, (AP, RR, AllFound, Hit, Recall)))


class TriedK(NamedTuple):
    """One k: the mean there, the p-value of "it is below the target", and the same corrected.

    In a fixed sequence nothing is corrected.
    """

    k: int
    mean: float
    p: float
    p_adjusted: float


class KSearch(NamedTuple):
    """The smallest `k` that is shown to reach the target, None if none is; and all that was tested.

    `tested` ascends. `falls` says that the measure may fall with k, so that every k was tested.
    """

    k: int | None
    tested: tuple[TriedK, ...]
    falls: bool

    @property
    def note(self) -> str:
        """How the confidence was kept, in one sentence; empty for the usual way."""
        if not self.falls:
            return ""
        return (
            f"the measure may fall with k: each of {len(self.tested)} values of k was tested, "
            "corrected for their number (Holm)"
        )


def may_fall(measure: Measure) -> bool:
    """Return whether a measure of a sample may be smaller at a larger k.

    Measures of your own may, as far as anybody knows.
    """
    return type(measure) not in _NEVER_FALL


def search_k(
    counts: Sequence[Counts], target: float, *, falls: bool, confidence: float = CONFIDENCE
) -> KSearch:
    """Return the smallest k whose mean is at least `target`, in [0, 1], with this confidence.

    `counts` has the values of independent groups at k = 1, 2, …, unscored ones as 0. Without values
    at the largest k nothing is tested. Raises `ParameterError` for shares out of range.
    """
    check_share(target, "target")
    check_share(confidence, "confidence", whole=False)
    alpha = alpha_of(confidence)

    def tested(k: int) -> TriedK:
        values = counts[k - 1]
        p = mean_above(values, target) if target > 0 else 0.0
        return TriedK(k, values.mean, p, p)

    ks = [k for k, values in enumerate(counts, start=1) if values.values]
    if falls:
        every = [tested(k) for k in ks]
        adjusted = holm([each.p for each in every])
        every = [each._replace(p_adjusted=p) for each, p in zip(every, adjusted, strict=True)]
        passed = [each.k for each in every if each.p_adjusted <= alpha]
        return KSearch(min(passed, default=None), tuple(every), falls=True)
    downwards: list[TriedK] = []
    best: int | None = None
    for k in reversed(ks):
        downwards.append(tested(k))
        if downwards[-1].p > alpha:
            break
        best = k
    return KSearch(best, tuple(reversed(downwards)), falls=False)
