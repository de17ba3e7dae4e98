"""The smallest k at which a mean is shown to reach a target.

k is a number of contexts, or a budget of calls, tokens or seconds. For each k from the largest
down, the hypothesis "the mean at k is below the target" is tested at the full level, until one is
not rejected (a fixed sequence; Maurer, Hothorn, Lehmacher, "Multiple comparisons in drug clinical
trials and preclinical assays: a-priori ordered hypotheses", 1995). So the mean at the k returned is
below the target with probability 1 - confidence at most, for every distribution of the values. A
measure that may fall with k, such as precision, is refused: the sequence could end at the largest k
although the mean at k = 1 is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fullrecall._util.counts import counted
from fullrecall._util.parameters import check_share
from fullrecall._util.truth import NoTruth
from fullrecall.errors import ParameterError
from fullrecall.measures import AP, RR, AllFound, CutBudget, Hit, Measure, Recall
from fullrecall.measures.budgets import Cut, Unit, budgets_to, check_unit
from fullrecall.measures.found import SCORED, UNSCORED
from fullrecall.show.sheet import Cell, Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import chance, outward, shown
from fullrecall.stats.bounds import alpha_of
from fullrecall.stats.plain import plain_of
from fullrecall.stats.totals import totals_at
from fullrecall.table.table import Table

_NEVER_FALL = frozenset(map(type, (AllFound, Hit, Recall)))
_NEVER_FALL_WITH_RANKS = _NEVER_FALL | {type(AP), type(RR)}
"""Measures that never fall with a larger number of contexts. AP and RR may fall with a larger
budget, which may admit a context that ranks above a target.
"""


class Tested(NamedTuple):
    """One k, the mean of the measure there, and the p-value of "the true mean is below target"."""

    k: Cut
    mean: float
    p: float


@dataclass(frozen=True, repr=False)
class SmallestK(NoTruth, Shown):
    """The smallest `k` at which the mean reaches `target` with `confidence`; None if there is none.

    `k` is a number of contexts, or a budget such as `calls(3)`, for `measure @ k`. `largest` is the
    largest k that was searched. `mean` and `lower`, its one-sided lower bound, are those at `k`, or
    at `largest` if `k` is None. `lower` counts the `unscored` samples as 0; the mean leaves them
    out. `tested` has each k that was tested, ascending. If there are too few samples, `needed` is
    the number that would suffice, else None. `reason` is one sentence.
    """

    read: ClassVar[str] = ".k"

    k: Cut | None
    target: float
    confidence: float
    score: str
    measure: Measure
    largest: Cut
    mean: float | None
    lower: float | None
    samples: int
    groups: int
    unscored: int
    needed: int | None
    reason: str
    tested: tuple[Tested, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return plain_of(self)

    def __str__(self) -> str:
        return f"{self.reason}"  # an f-string is always a `str`, as `__str__` requires

    def __repr__(self) -> str:
        return f"SmallestK({self.k}, {self.reason})"

    @property
    def sheets(self) -> Sequence[Sheet]:
        """A table of each k that was tested, with its mean and p-value; the reason is below it."""
        lines, best = [], "none"
        for each in self.tested:
            label = f"{each.k.amount if isinstance(each.k, CutBudget) else each.k:,.15g}"
            best = label if each.k == self.k else best
            cell = Cell(label, "strong" if each.k == self.k else "")
            lines.append(Line(cell, [shown(each.mean), chance(each.p)]))
        heads = ["mean", f"p of below {self.target:g}"]
        corner = self.largest.unit if isinstance(self.largest, CutBudget) else "k"
        return [Sheet(heads, [Section("", lines)], [self.reason], f"{corner} = {best}", corner)]


def smallest_k(
    table: Table,
    score: int,
    target: float,
    measure: Measure,
    *,
    confidence: float,
    unit: Unit | None,
) -> SmallestK:
    """Return the smallest k at which the mean reaches the target; see `Report.smallest_k`.

    See the top of this module for the method.
    """
    check_share(target, "target")
    check_share(confidence, "confidence", whole=False)
    cuts = cuts_of(table, score, check_unit(unit))
    if may_fall(measure, unit):
        raise ParameterError(
            f"{measure.whole.name} may be smaller at a larger k, so that no search finds the "
            "smallest: use Recall, AllFound or Hit, or look at report.summary(measure @ k)"
        )

    alpha = alpha_of(confidence)
    smallest: Cut | None = None
    tested: list[Tested] = []
    # Test each k at the full level, from the largest down. The number of tests needs no correction,
    # because the search ends at the first hypothesis that is not rejected.
    for k in reversed(cuts):
        totals = totals_at(table, score, measure @ k)
        if totals.mean is not None:
            p = totals.counts(0.0).p_above(target) if target > 0 else 0.0
            tested.append(Tested(k, totals.mean, p))
            if p > alpha:
                break
            smallest = k
    totals = totals_at(table, score, measure @ (cuts[-1] if smallest is None else smallest))
    values, needed = totals.counts(0.0), None
    if smallest is None and totals.mean is not None and values.low.mean >= target:
        needed = values.needed(target, alpha, totals.due, above=True)
    answer = SmallestK(
        smallest,
        target,
        confidence,
        table.methods[score].name,
        measure.whole,
        cuts[-1],
        totals.mean,
        None if totals.mean is None else values.lower(alpha),
        totals.samples,
        totals.independent,
        int((table.status(score) == UNSCORED).sum()),
        needed,
        "",
        tuple(reversed(tested)),
    )
    return replace(answer, reason=_reason(answer))


def may_fall(measure: Measure, unit: Unit | None = None) -> bool:
    """Return whether a sample's value may be smaller at a larger k, or at a larger budget.

    Returns True for measures that users define, since their behavior is unknown.
    """
    rising = _NEVER_FALL_WITH_RANKS if unit is None else _NEVER_FALL
    return type(measure) not in rising or getattr(measure, "denominator", None) == "k"


def cuts_of(table: Table, score: int, unit: Unit | None) -> list[Cut]:
    """Return each k, or each budget of a unit, ascending.

    The last one includes all contexts of every scored sample.
    """
    if unit is None:
        columns = [part.columns(score) for part in table.parts]
        depths = [each.retrieved[each.status == SCORED].max(initial=1) for each in columns]
        return list(range(1, 1 + int(max(depths, default=1))))
    spent = [np.zeros(1)]
    for part in table.parts:
        scored = part.columns(score).status == SCORED
        spent.append(getattr(part.costs, unit)[scored[part.costs.rows]])
    return [*budgets_to(unit, np.nanmax(np.concatenate(spent)))]


def _reason(answer: SmallestK) -> str:
    """Return a sentence on where the target is reached, or why it is not and how to reach it."""
    label = answer.score if answer.measure == Recall else f"{answer.score}.{answer.measure.name}"
    if answer.mean is None or answer.lower is None:
        return f"{label}: no sample has a score"
    cut = answer.largest if answer.k is None else answer.k
    kind, at = ("budget", cut.words) if isinstance(cut, CutBudget) else ("k", str(cut))
    low, _ = outward((answer.lower, answer.lower))
    lower = f"at least {low:.3f} (one-sided, {100 * answer.confidence:g}% confidence)"
    basis = f"mean {answer.mean:.3f}, {counted(answer.samples, 'sample')}"
    if answer.unscored:
        basis += f"; {answer.unscored:,} unscored count as 0 in the bound"
    if answer.k is not None:
        reached = at if kind == "budget" else f"k = {at}"
        return f"{label} reaches {answer.target:g} at {reached}: {lower}, {basis}"
    if answer.mean < answer.target:
        way = f"the mean at {at} is {answer.mean:.3f}; retrieve more, or retrieve better"
    elif answer.needed is None:
        way = f"{lower} at {at}, {basis}; more samples with these values would not show it"
    else:
        samples = counted(answer.needed, "sample")
        way = f"{lower} at {at}, {basis}; about {samples} with these values would show it"
    return f"{label} reaches {answer.target:g} at no {kind} up to {at}: {way}"
