"""The smallest k that brings enough, and what it costs in text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from fullrecall.context import Context
from fullrecall.counts import counted
from fullrecall.measures import Measure, Recall
from fullrecall.parameters import check_k
from fullrecall.results.bounds import CONFIDENCE, Counts, alpha_of, groups_needed, lower_bound
from fullrecall.results.decision import rounded_down
from fullrecall.results.k_search import KSearch, Tested, may_fall, search_k
from fullrecall.results.summary import totals_of
from fullrecall.results.totals import Totals
from fullrecall.sample import Sample
from fullrecall.table.costs import CHARACTERS_PER_TOKEN
from fullrecall.table.part import SCORED, UNSCORED
from fullrecall.table.table import Table

CountTokens = Callable[[str], int]


@dataclass(frozen=True, repr=False)
class SmallestK:
    """The smallest `k` whose mean reaches `target` with `confidence`; None if none up to `largest`.

    `mean` and `lower`, its one-sided lower bound, are those at `at`: that is `k`, or, where there
    is no k, `largest`, or the k with the highest mean of a measure that `falls`, which may be
    smaller at a larger k. `lower` counts the `unscored` samples as 0, the mean leaves them out; it
    is the target itself where `falls` and there is a k. `tested` has each k that was tested,
    ascending. `characters` and `tokens` are means over the samples of what the first `k` contexts
    hold, None where their texts are not known or there is no k; `tokens_are` says how they were
    counted. `needed` is how many samples would do, where there are too few. `reason` is one
    sentence.
    """

    k: int | None
    target: float
    confidence: float
    score: str
    measure: Measure
    largest: int
    falls: bool
    at: int
    mean: float | None
    lower: float | None
    samples: int
    groups: int
    unscored: int
    characters: float | None
    tokens: float | None
    tokens_are: str
    needed: int | None
    reason: str
    tested: tuple[Tested, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        tested = [one._asdict() for one in self.tested]
        return {**self.__dict__, "measure": self.measure.name, "tested": tested}

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return f"SmallestK({self.k}, {self.reason})"

    def _repr_html_(self) -> str:
        from fullrecall.views import html
        from fullrecall.views.summaries import smallest_k_sheet

        return html.text_of(smallest_k_sheet(self))


def smallest_k(
    table: Table,
    score: int,
    target: float,
    measure: Measure = Recall,
    *,
    confidence: float = CONFIDENCE,
    largest: int | None = None,
    count_tokens: CountTokens | None = None,
) -> SmallestK:
    """Return the smallest k that reaches the target; see `Report.smallest_k`.

    How is said in `fullrecall.results.k_search`.
    """
    status = table.status(score)
    deepest = int(table.retrieved(score)[status == SCORED].max(initial=1))
    top = deepest if largest is None else check_k(largest, "largest")

    def totals_at(k: int) -> Totals:
        return totals_of(table, score, measure @ k)

    falls = may_fall(measure)
    search = search_k(totals_at, top, target, falls=falls, confidence=confidence)
    at = search.k or _nearest(search, top)
    shown = totals_at(at)
    values = shown.counts(0.0).low
    alpha = alpha_of(confidence) / search.tests
    cost = _Cost(() if search.k is None else _with_texts(table, score), at, count_tokens)
    found = SmallestK(
        search.k,
        target,
        confidence,
        table.methods[score].name,
        measure.whole,
        top,
        falls,
        at,
        shown.mean,
        None if shown.mean is None else _lower(search, values, target, alpha),
        shown.samples,
        shown.independent,
        int((status == UNSCORED).sum()),
        cost.characters,
        cost.tokens,
        cost.tokens_are,
        _needed(shown, values, target, alpha) if search.k is None else None,
        "",
        search.tested,
    )
    return replace(found, reason="; ".join(filter(None, [_reason(found), search.note])))


def _nearest(search: KSearch, largest: int) -> int:
    """Return the k to speak of where none is shown to reach the target."""
    if not (search.falls and search.tested):
        return largest
    return max(search.tested, key=lambda one: (one.mean, -one.k)).k


def _lower(search: KSearch, values: Counts, target: float, alpha: float) -> float:
    """Return the bound that holds for the k that was chosen.

    Beside Holm's rejections, a rejected k has no better bound at the same confidence than the
    target (Strassburger and Bretz, "Compatible simultaneous lower confidence bounds for the Holm
    procedure and other Bonferroni-based closed tests", Statistics in Medicine 27, 2008).
    """
    return target if search.falls and search.k is not None else lower_bound(values, alpha)


def _with_texts(table: Table, score: int) -> Iterator[Sample]:
    """Yield the scored samples, without those that are known to have no contexts but IDs."""
    for part in table.parts:
        if part.has_texts:
            for row in np.flatnonzero(part.columns(score).status == SCORED).tolist():
                yield part.sample(row)


def _needed(shown: Totals, values: Counts, target: float, alpha: float) -> int | None:
    """Return how many samples with these values would show that the target is reached."""
    if shown.mean is None or values.mean < target:
        return None
    groups = groups_needed(values, target, alpha)
    return None if groups is None else ceil(groups * shown.due / values.size)


class _Cost:
    """What the first k contexts hold, in mean over the samples whose texts are all known."""

    def __init__(self, samples: Iterable[Sample], k: int, count: CountTokens | None) -> None:
        self.tokens_are = (
            f"characters / {CHARACTERS_PER_TOKEN:g}" if count is None else "count_tokens"
        )
        self.characters: float | None = None
        self.tokens: float | None = None
        count_ = characters = tokens = 0
        for texts in _texts(samples, k):
            count_ += 1
            characters += sum(map(len, texts))
            tokens += 0 if count is None else sum(map(count, texts))
        if count_:
            self.characters = characters / count_
            self.tokens = (
                self.characters / CHARACTERS_PER_TOKEN if count is None else tokens / count_
            )


def _texts(samples: Iterable[Sample], k: int) -> Iterable[list[str]]:
    for sample in samples:
        contexts: Sequence[Context] | None = sample.retrieved_contexts
        if contexts is None:
            continue
        texts = [context.text for context in contexts[:k]]
        known = [text for text in texts if text is not None]
        if len(known) == len(texts):
            yield known


def _reason(found: SmallestK) -> str:
    what = found.score if found.measure == Recall else f"{found.score}.{found.measure.name}"
    sure = f"{100 * found.confidence:g}% confidence"
    if found.mean is None or found.lower is None:
        return f"{what}: no sample has a score"
    lower = f"at least {rounded_down(found.lower):.3f} ({sure})"
    unscored = f"; {found.unscored:,} unscored count as 0 in the bound" if found.unscored else ""
    on = f"mean {found.mean:.3f}, {counted(found.samples, 'sample')}{unscored}"
    if found.k is not None:
        return f"{what} reaches {found.target:g} at k = {found.k}: {lower}, {on}{_price(found)}"
    start = f"{what} reaches {found.target:g} at no k up to {found.largest}"
    if found.mean < found.target:
        if found.falls:
            return f"{start}: the highest mean is {found.mean:.3f}, at {found.at}"
        return (
            f"{start}: the mean at {found.largest} is {found.mean:.3f}; retrieve more, or "
            "retrieve better"
        )
    enough = (
        "more samples with these values would not show it"
        if found.needed is None
        else f"about {counted(found.needed, 'sample')} with these values would show it"
    )
    return f"{start}: {lower} at {found.at}, {on}; {enough}"


def _price(found: SmallestK) -> str:
    if found.characters is None:
        return ""
    return (
        f"; {found.characters:,.0f} characters, about {found.tokens:,.0f} tokens "
        f"({found.tokens_are}) per question"
    )
