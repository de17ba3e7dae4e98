"""The smallest k at which a mean is shown to reach a target, whether or not it can fall with k.

k is a number of contexts, or a budget of calls, tokens or seconds.
Recall never falls when k grows: "the mean at k is below the target" is tested from the largest k
down, each at the full level, until one is not rejected (a fixed sequence; Maurer, Hothorn,
Lehmacher, "Multiple comparisons in drug clinical trials and preclinical assays: a-priori ordered
hypotheses", 1995). Precision falls: there the sequence would end at the largest k, although the
mean at k = 1 may be 1. All k are then tested, corrected for their number by Holm's method. Either
way, that the mean at the k returned is below the target has probability 1 - confidence at most, for
every distribution of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fullrecall.counts import counted
from fullrecall.measures import AP, RR, AllFound, Hit, Measure, Recall
from fullrecall.measures.budgets import Cut, Unit
from fullrecall.parameters import check_share
from fullrecall.results.bounds import CONFIDENCE, alpha_of, holm, mean_above
from fullrecall.results.totals import Totals

_NEVER_FALL = frozenset(map(type, (AllFound, Hit, Recall)))
_NEVER_FALL_WITH_RANKS = _NEVER_FALL | {type(AP), type(RR)}
"""A larger budget may put a context that is no target above one that is."""


class Tested(NamedTuple):
    """One k: the mean there, the p-value of "it is below the target", and the same corrected.

    In a fixed sequence nothing is corrected.
    """

    k: Cut
    mean: float
    p: float
    p_adjusted: float


class KSearch(NamedTuple):
    """The smallest `k` that is shown to reach the target, None if none is; and all that was tested.

    `tested` ascends. `falls` says that the measure may fall with k, so that every k was tested.
    """

    k: Cut | None
    tested: tuple[Tested, ...]
    falls: bool

    @property
    def tests(self) -> int:
        """For how many tests the level of each is corrected: 1 in a fixed sequence."""
        return max(1, len(self.tested)) if self.falls else 1

    @property
    def note(self) -> str:
        """How the confidence was kept, in one sentence; empty for the usual way."""
        if not self.falls:
            return ""
        return (
            f"the measure may fall with k: each of {counted(len(self.tested), 'value')} of k was "
            "tested, corrected for their number (Holm)"
        )


def may_fall(measure: Measure, unit: Unit | None = None) -> bool:
    """Return whether a measure of a sample may be smaller at a larger k, or budget of a unit.

    Measures of your own may, as far as anybody knows.
    """
    rising = _NEVER_FALL_WITH_RANKS if unit is None else _NEVER_FALL
    return type(measure) not in rising or getattr(measure, "denominator", None) == "k"


def search_k(
    totals_at: Callable[[Cut], Totals],
    cuts: Sequence[Cut],
    target: float,
    *,
    falls: bool,
    confidence: float = CONFIDENCE,
) -> KSearch:
    """Return the smallest of `cuts`, ascending, whose mean is at least `target`, in [0, 1].

    Where the measure `falls`, the cuts must not be chosen by the values. `totals_at(k)` has the
    values at k; gaps count as 0. It is asked for no k below the one that ends a fixed sequence; a k
    without values is not tested. Raises `ParameterError` for shares out of range.
    """
    check_share(target, "target")
    check_share(confidence, "confidence", whole=False)
    alpha = alpha_of(confidence)
    tested: list[Tested] = []
    for k in reversed(cuts):
        totals = totals_at(k)
        if totals.mean is not None:
            p = mean_above(totals.counts(0.0).low, target) if target > 0 else 0.0
            tested.append(Tested(k, totals.mean, p, p))
            if not falls and p > alpha:
                break
    tested.reverse()
    if falls:
        adjusted = holm([each.p for each in tested])
        tested = [each._replace(p_adjusted=p) for each, p in zip(tested, adjusted, strict=True)]
    passed = [each.k for each in tested if each.p_adjusted <= alpha]
    return KSearch(next(iter(passed), None), tuple(tested), falls)
