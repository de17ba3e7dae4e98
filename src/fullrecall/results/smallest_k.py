"""The smallest k that brings enough, and what it costs in text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fullrecall.counts import counted
from fullrecall.measures import Budget, Measure, Recall
from fullrecall.measures.budgets import Cut, Unit, budgets_to, calls, check_unit, seconds, tokens
from fullrecall.parameters import check_k
from fullrecall.results.bounds import CONFIDENCE, Counts, alpha_of, groups_needed, lower_bound
from fullrecall.results.decision import rounded_down
from fullrecall.results.k_search import KSearch, Tested, may_fall, search_k
from fullrecall.results.summary import totals_of
from fullrecall.results.totals import Totals
from fullrecall.table.lists import row_sums
from fullrecall.table.part import SCORED, UNSCORED
from fullrecall.table.table import Table
from fullrecall.views.sheet import Sheet
from fullrecall.views.shown import Shown


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
        """Return plain JSON values; a budget is a text such as "3calls"."""
        cuts = {name: _plain_cut(getattr(self, name)) for name in ("k", "largest", "at")}
        tested = [{**each._asdict(), "k": _plain_cut(each.k)} for each in self.tested]
        return {**self.__dict__, **cuts, "measure": self.measure.name, "tested": tested}

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
    *,
    confidence: float = CONFIDENCE,
    unit: Unit | None = None,
    largest: float | None = None,
) -> SmallestK:
    """Return the smallest k that reaches the target; see `Report.smallest_k`.

    How is said in `fullrecall.results.k_search`.
    """
    status = table.status(score)
    cuts = _cuts(table, score, check_unit(unit), largest)

    def totals_at(k: Cut) -> Totals:
        return totals_of(table, score, measure @ k)

    falls = may_fall(measure, unit)
    search = search_k(totals_at, cuts, target, falls=falls, confidence=confidence)
    at = search.k or _nearest(search, cuts[-1])
    shown = totals_at(at)
    values = shown.counts(0.0).low
    alpha = alpha_of(confidence) / search.tests
    answer = SmallestK(
        search.k,
        target,
        confidence,
        table.methods[score].name,
        measure.whole,
        cuts[-1],
        falls,
        at,
        shown.mean,
        None if shown.mean is None else _lower(search, values, target, alpha),
        shown.samples,
        shown.independent,
        int((status == UNSCORED).sum()),
        None if search.k is None else _tokens(table, score, search.k),
        "" if search.k is None else " and ".join(table.tokenizers),
        _needed(shown, values, target, alpha) if search.k is None else None,
        "",
        search.tested,
    )
    return replace(answer, reason="; ".join(filter(None, [_reason(answer), search.note])))


def _cuts(table: Table, score: int, unit: Unit | None, largest: float | None) -> list[Cut]:
    """Return each k to be tested, ascending: up to `largest`, or to what holds all there is."""
    scored = table.status(score) == SCORED
    if unit is None:
        deepest = int(table.retrieved(score)[scored].max(initial=1))
        top = deepest if largest is None else check_k(_whole(largest), "largest")
        return list(range(1, top + 1))
    if largest is None:
        costs = [
            getattr(table.costs(owner), unit)[np.repeat(rows, np.diff(table.costs(owner).offsets))]
            for owner, rows in enumerate(_by_part(table, scored))
        ]
        spent = np.concatenate(costs) if costs else np.zeros(0)
        return [*budgets_to(unit, spent[~np.isnan(spent)].max(initial=0.0))]
    if unit == "seconds":
        budget = seconds(largest)
    else:
        budget = (calls if unit == "calls" else tokens)(_whole(largest))
    smaller = [each for each in budgets_to(unit, largest) if each.amount < largest]
    return [*smaller, budget]


def _whole(number: float) -> int:
    """Return a whole number as an int, for a command line that reads floats."""
    return int(number) if float(number).is_integer() else number  # type: ignore[return-value]  # refused next


def _by_part(table: Table, rows: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Return a mask of rows for each part."""
    ends = np.cumsum([len(part) for part in table.parts])
    return np.split(rows, ends[:-1])


def _plain_cut(k: Cut | None) -> int | str | None:
    return str(k) if isinstance(k, Budget) else k


def _words(k: Cut) -> str:
    return k.words if isinstance(k, Budget) else str(k)


def _amount(k: Cut) -> float:
    return k.amount if isinstance(k, Budget) else k


def _nearest(search: KSearch, largest: Cut) -> Cut:
    """Return the k to speak of where none is shown to reach the target."""
    if not (search.falls and search.tested):
        return largest
    return max(search.tested, key=lambda each: (each.mean, -_amount(each.k))).k


def _lower(search: KSearch, values: Counts, target: float, alpha: float) -> float:
    """Return the bound that holds for the k that was chosen.

    Beside Holm's rejections, a rejected k has no better bound at the same confidence than the
    target (Strassburger and Bretz, "Compatible simultaneous lower confidence bounds for the Holm
    procedure and other Bonferroni-based closed tests", Statistics in Medicine 27, 2008).
    """
    return target if search.falls and search.k is not None else lower_bound(values, alpha)


def _needed(shown: Totals, values: Counts, target: float, alpha: float) -> int | None:
    """Return how many samples with these values would show that the target is reached."""
    if shown.mean is None or values.mean < target:
        return None
    groups = groups_needed(values, target, alpha)
    return None if groups is None else ceil(groups * shown.due / values.size)


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
        tokens = row_sums(np.where(within, costs.own_tokens, 0.0), costs.offsets)
        sums.append(tokens[is_known & (columns.status == SCORED)])
    tokens = np.concatenate(sums) if sums else np.zeros(0)
    known_tokens = tokens[~np.isnan(tokens)]
    return float(known_tokens.mean()) if len(known_tokens) else None


def _reason(answer: SmallestK) -> str:
    what = answer.score if answer.measure == Recall else f"{answer.score}.{answer.measure.name}"
    sure = f"{100 * answer.confidence:g}% confidence"
    if answer.mean is None or answer.lower is None:
        return f"{what}: no sample has a score"
    lower = f"at least {rounded_down(answer.lower):.3f} ({sure})"
    unscored = f"; {answer.unscored:,} unscored count as 0 in the bound" if answer.unscored else ""
    on = f"mean {answer.mean:.3f}, {counted(answer.samples, 'sample')}{unscored}"
    if answer.k is not None:
        where = _words(answer.k) if isinstance(answer.k, Budget) else f"k = {answer.k}"
        return f"{what} reaches {answer.target:g} at {where}: {lower}, {on}{_price(answer)}"
    kind = "budget" if isinstance(answer.largest, Budget) else "k"
    start = f"{what} reaches {answer.target:g} at no {kind} up to {_words(answer.largest)}"
    if answer.mean < answer.target:
        if answer.falls:
            return f"{start}: the highest mean is {answer.mean:.3f}, at {_words(answer.at)}"
        return (
            f"{start}: the mean at {_words(answer.largest)} is {answer.mean:.3f}; retrieve more, "
            "or retrieve better"
        )
    enough = (
        "more samples with these values would not show it"
        if answer.needed is None
        else f"about {counted(answer.needed, 'sample')} with these values would show it"
    )
    return f"{start}: {lower} at {_words(answer.at)}, {on}; {enough}"


def _price(answer: SmallestK) -> str:
    if answer.tokens is None:
        return ""
    return f"; about {answer.tokens:,.0f} tokens ({answer.tokens_are}) per question"
