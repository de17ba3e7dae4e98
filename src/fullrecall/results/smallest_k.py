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
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from fullrecall.counts import counted
from fullrecall.measures import AP, RR, AllFound, Budget, Hit, Measure, Recall
from fullrecall.measures.budgets import Cut, Unit, budgets_to, calls, check_unit, seconds, tokens
from fullrecall.parameters import check_k, check_share
from fullrecall.results.bounds import (
    CONFIDENCE,
    Counts,
    alpha_of,
    groups_needed,
    holm,
    lower_bound,
    mean_above,
    rounded_down,
)
from fullrecall.results.plain import plain_of
from fullrecall.results.summary import totals_of
from fullrecall.results.totals import Totals
from fullrecall.table.lists import row_sums
from fullrecall.table.part import SCORED, UNSCORED
from fullrecall.table.table import Table
from fullrecall.views.sheet import Sheet, Shown

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


@dataclass(frozen=True, repr=False)
class SmallestK(Shown):
    """The smallest `k` whose mean reaches `target` with `confidence`; None if none up to `largest`.

    k counts contexts, or is a budget such as `calls(3)`: `measure @ k` reads it either way. `mean`
    and `lower`, its one-sided lower bound, are those at `at`: that is `k`, or, where there is no k,
    `largest`, or the k with the highest mean of a measure that `falls`, which may be smaller at a
    larger k. `lower` counts the `unscored` samples as 0, the mean leaves them out; it is the target
    itself where `falls` and there is a k. `tested` has each k that was tested, ascending. `tokens`
    is the mean over the samples of what the contexts within `k` hold, None where that is not known
    or there is no k; `tokens_are` says how they were counted. `needed` is how many samples would
    do, where there are too few. `reason` is one sentence.
    """

    k: Cut | None
    target: float
    confidence: float
    score: str
    measure: Measure
    largest: Cut
    falls: bool
    at: Cut
    mean: float | None
    lower: float | None
    samples: int
    groups: int
    unscored: int
    tokens: float | None
    tokens_are: str
    needed: int | None
    reason: str
    tested: tuple[Tested, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return plain_of(self)

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return f"SmallestK({self.k}, {self.reason})"

    @property
    def sheets(self) -> Sequence[Sheet]:
        """Each k that was tested, with the reason."""
        from fullrecall.views.summaries import smallest_k_sheet

        return [smallest_k_sheet(self)]


def smallest_k(
    table: Table,
    score: int,
    target: float,
    measure: Measure = Recall,
    confidence: float = CONFIDENCE,
    *,
    unit: Unit | None = None,
    largest: float | None = None,
) -> SmallestK:
    """Return the smallest k that reaches the target; see `Report.smallest_k`.

    How is said at the top of this module.
    """
    cuts = _cuts(table, score, check_unit(unit), largest)
    falls = may_fall(measure, unit)

    def totals_at(k: Cut) -> Totals:
        return totals_of(table, score, measure @ k)

    k, tested = search_k(totals_at, cuts, target, falls=falls, confidence=confidence)
    at = cuts[-1] if k is None else k
    if k is None and falls and tested:  # the highest mean, at the least k that has it
        at = max(tested, key=lambda each: each.mean).k
    totals = totals_at(at)
    values = totals.counts(0.0).low
    alpha = alpha_of(confidence) / (max(1, len(tested)) if falls else 1)
    lower = None
    if totals.mean is not None:
        # Beside Holm's rejections, a rejected k has no better bound at the same confidence than
        # the target (Strassburger and Bretz, "Compatible simultaneous lower confidence bounds for
        # the Holm procedure and other Bonferroni-based closed tests", Statistics in Medicine 27,
        # 2008).
        lower = target if falls and k is not None else lower_bound(values, alpha)
    answer = SmallestK(
        k,
        target,
        confidence,
        table.methods[score].name,
        measure.whole,
        cuts[-1],
        falls,
        at,
        totals.mean,
        lower,
        totals.samples,
        totals.independent,
        int((table.status(score) == UNSCORED).sum()),
        None if k is None else _tokens(table, score, k),
        "" if k is None else " and ".join(table.tokenizers),
        _needed(totals, values, target, alpha) if k is None else None,
        "",
        tested,
    )
    return replace(answer, reason=_reason(answer))


def search_k(
    totals_at: Callable[[Cut], Totals],
    cuts: Sequence[Cut],
    target: float,
    *,
    falls: bool,
    confidence: float = CONFIDENCE,
) -> tuple[Cut | None, tuple[Tested, ...]]:
    """Return the smallest of `cuts`, ascending, whose mean is at least `target`, and all tested.

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
    return passed[0] if passed else None, tuple(tested)


def may_fall(measure: Measure, unit: Unit | None = None) -> bool:
    """Return whether a measure of a sample may be smaller at a larger k, or budget of a unit.

    Measures of your own may, as far as anybody knows.
    """
    rising = _NEVER_FALL_WITH_RANKS if unit is None else _NEVER_FALL
    return type(measure) not in rising or getattr(measure, "denominator", None) == "k"


def _cuts(table: Table, score: int, unit: Unit | None, largest: float | None) -> list[Cut]:
    """Return each k to be tested, ascending: up to `largest`, or to what holds all there is."""
    # A command line reads floats.
    whole: Any = int(largest) if largest is not None and float(largest).is_integer() else largest
    if unit is None:
        scored = table.status(score) == SCORED
        deepest = int(table.retrieved(score)[scored].max(initial=1))
        return list(range(1, 1 + (deepest if largest is None else check_k(whole, "largest"))))
    if largest is None:
        spent = [np.zeros(1)]
        for owner, part in enumerate(table.parts):
            costs = table.costs(owner)
            scored = part.columns(score).status == SCORED
            spent.append(getattr(costs, unit)[scored[costs.rows]])
        return [*budgets_to(unit, np.nanmax(np.concatenate(spent)))]
    budget = {"calls": calls, "tokens": tokens, "seconds": seconds}[unit](whole)
    return [*(each for each in budgets_to(unit, largest) if each.amount < largest), budget]


def _words(k: Cut) -> str:
    return k.words if isinstance(k, Budget) else str(k)


def _needed(totals: Totals, values: Counts, target: float, alpha: float) -> int | None:
    """Return how many samples with these values would show that the target is reached."""
    if totals.mean is None or values.mean < target:
        return None
    groups = groups_needed(values, target, alpha)
    return None if groups is None else ceil(groups * totals.due / values.size)


def _tokens(table: Table, score: int, k: Cut) -> float | None:
    """Return the tokens of the contexts within k, in mean over the samples where they are known."""
    sums = []
    for owner, part in enumerate(table.parts):
        if not part.has_texts:
            continue
        costs, columns = table.costs(owner), part.columns(score)
        if isinstance(k, Budget):
            within, is_known = costs.within(k)
        else:
            nth = np.arange(len(costs.own_tokens)) - costs.offsets[costs.rows]
            within = nth < columns.outcomes.cut(k)[costs.rows]
            is_known = np.ones(len(part), np.bool_)
        of_rows = row_sums(np.where(within, costs.own_tokens, 0.0), costs.offsets)
        sums.append(of_rows[is_known & (columns.status == SCORED) & ~np.isnan(of_rows)])
    known_tokens = np.concatenate([np.zeros(0), *sums])
    return float(known_tokens.mean()) if len(known_tokens) else None


def _reason(answer: SmallestK) -> str:
    what = answer.score if answer.measure == Recall else f"{answer.score}.{answer.measure.name}"
    if answer.mean is None or answer.lower is None:
        return f"{what}: no sample has a score"
    lower = f"at least {rounded_down(answer.lower):.3f} ({100 * answer.confidence:g}% confidence)"
    on = f"mean {answer.mean:.3f}, {counted(answer.samples, 'sample')}"
    if answer.unscored:
        on += f"; {answer.unscored:,} unscored count as 0 in the bound"
    reaches, at = f"{what} reaches {answer.target:g} at", _words(answer.at)
    if answer.k is not None:
        equals = "" if isinstance(answer.k, Budget) else "k = "
        reason = f"{reaches} {equals}{at}: {lower}, {on}"
        if answer.tokens is not None:
            tokens_are = f"tokens ({answer.tokens_are})"
            reason += f"; about {answer.tokens:,.0f} {tokens_are} per question"
    else:
        kind = "budget" if isinstance(answer.largest, Budget) else "k"
        reason = f"{reaches} no {kind} up to {_words(answer.largest)}: {_why(answer, lower, on)}"
    if answer.falls:
        reason += (
            f"; the measure may fall with k: each of {counted(len(answer.tested), 'value')} of k "
            "was tested, corrected for their number (Holm)"
        )
    return reason


def _why(answer: SmallestK, lower: str, on: str) -> str:
    """Return why no k reaches the target, and what would."""
    at = _words(answer.at)
    if answer.mean is not None and answer.mean < answer.target:
        if answer.falls:
            return f"the highest mean is {answer.mean:.3f}, at {at}"
        return f"the mean at {at} is {answer.mean:.3f}; retrieve more, or retrieve better"
    enough = "more samples with these values would not show it"
    if answer.needed is not None:
        enough = f"about {counted(answer.needed, 'sample')} with these values would show it"
    return f"{lower} at {at}, {on}; {enough}"
