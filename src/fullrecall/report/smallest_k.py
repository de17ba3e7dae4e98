"""The smallest k that brings enough, and what it costs in text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, NamedTuple

from fullrecall.context import Context
from fullrecall.counts import counted
from fullrecall.measures import Measure, Recall
from fullrecall.parameters import check_k, check_share
from fullrecall.report.bounds import CONFIDENCE, Counts, groups_needed, lower_bound, mean_above
from fullrecall.report.choice import Scored, place_of
from fullrecall.report.decision import rounded_down
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.report.sign_flips import alpha_of
from fullrecall.report.totals import Totals

CHARACTERS_PER_TOKEN = 4.0
"""What a token is taken for where nobody counts: the usual rule of thumb for English text."""

CountTokens = Callable[[str], int]


class Tested(NamedTuple):
    """One k that was tested: the mean there, and the p-value of "it is below the target"."""

    k: int
    mean: float
    p: float


@dataclass(frozen=True, repr=False)
class SmallestK:
    """The smallest `k` whose mean reaches `target` with `confidence`; None if none up to `largest`.

    `mean` and `lower`, its one-sided lower bound, are those at `k`, or at `largest` where there is
    no k; `lower` counts the `unscored` samples as 0, the mean leaves them out. `tested` has each k
    that was tested, from the largest down. `characters` and `tokens` are means over the samples of
    what the first `k` contexts hold, None where their texts are not known or there is no k;
    `tokens_are` says how they were counted. `needed` is how many samples would do, where there are
    too few. `reason` is one sentence.
    """

    k: int | None
    target: float
    confidence: float
    score: str
    measure: Measure
    largest: int
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
    report: Report,
    target: float,
    measure: Measure = Recall,
    *,
    confidence: float = CONFIDENCE,
    score: str | None = None,
    largest: int | None = None,
    count_tokens: CountTokens | None = None,
) -> SmallestK:
    """Return the smallest k that reaches the target; see `Report.smallest_k`.

    The hypotheses "the mean at k is below the target" are tested from the largest k down by
    Gaffke's test, each at the full level, and the first that is not rejected ends it: a fixed
    sequence. The k returned can only be too small if the first k, in this order, whose mean *is*
    below the target was rejected, and one test at level 1 - confidence does that with this
    probability at most. Going up from k = 1 to the first success would have one chance to err at
    each k. Source: Maurer, Hothorn, Lehmacher, "Multiple comparisons in drug clinical trials and
    preclinical assays: a-priori ordered hypotheses", 1995.
    """
    check_share(target, "target")
    check_share(confidence, "confidence", whole=False)
    data, alpha = Scored(report, place_of(report, score)), alpha_of(confidence)
    top = max(data.retrieved, 1) if largest is None else check_k(largest, "largest")
    tested: list[Tested] = []
    k, shown = None, Totals()
    for each in _from_the_top(data, measure, top):
        if not tested:
            shown = each
        if each.mean is None:
            break
        p = mean_above(each.counts(0.0).low, target) if target > 0 else 0.0
        tested.append(Tested(top - len(tested), each.mean, p))
        if p > alpha:
            break
        shown, k = each, tested[-1].k
    values = shown.counts(0.0).low
    cost = _Cost(() if k is None else data.with_contexts, k or 1, count_tokens)
    found = SmallestK(
        k,
        target,
        confidence,
        data.method.name,
        measure.whole,
        top,
        shown.mean,
        None if shown.mean is None else lower_bound(values, alpha),
        shown.samples,
        shown.independent,
        data.unscored,
        cost.characters,
        cost.tokens,
        cost.tokens_are,
        _needed(shown, values, target, alpha) if k is None else None,
        "",
        tuple(tested),
    )
    return replace(found, reason=_reason(found))


def _from_the_top(data: Scored, measure: Measure, top: int) -> Iterator[Totals]:
    """Yield the totals of the measure at each k, the largest first."""
    while top:
        some = range(top, max(0, top - data.at_once), -1)
        yield from data.totals([measure @ k for k in some])
        top -= len(some)


def _needed(shown: Totals, values: Counts, target: float, alpha: float) -> int | None:
    """Return how many samples with these values would show that the target is reached."""
    if shown.mean is None or values.mean < target:
        return None
    groups = groups_needed(values, target, alpha)
    return None if groups is None else ceil(groups * shown.due / values.size)


class _Cost:
    """What the first k contexts hold, in mean over the samples whose texts are all known."""

    def __init__(self, rows: Iterable[Row], k: int, count: CountTokens | None) -> None:
        self.tokens_are = (
            f"characters / {CHARACTERS_PER_TOKEN:g}" if count is None else "count_tokens"
        )
        self.characters: float | None = None
        self.tokens: float | None = None
        samples = characters = tokens = 0
        for texts in _texts(rows, k):
            samples += 1
            characters += sum(map(len, texts))
            tokens += 0 if count is None else sum(map(count, texts))
        if samples:
            self.characters = characters / samples
            self.tokens = (
                self.characters / CHARACTERS_PER_TOKEN if count is None else tokens / samples
            )


def _texts(rows: Iterable[Row], k: int) -> Iterable[list[str]]:
    for row in rows:
        contexts: Sequence[Context] | None = row.sample.retrieved_contexts
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
    noun = "sample" if found.samples == 1 else "samples"
    on = f"mean {found.mean:.3f}, {found.samples:,} {noun}{unscored}"
    if found.k is not None:
        return f"{what} reaches {found.target:g} at k = {found.k}: {lower}, {on}{_price(found)}"
    start = f"{what} reaches {found.target:g} at no k up to {found.largest}"
    if found.mean < found.target:
        return (
            f"{start}: the mean at {found.largest} is {found.mean:.3f}; retrieve more, or "
            "retrieve better"
        )
    enough = (
        "more samples with these values would not show it"
        if found.needed is None
        else f"about {counted(found.needed, 'sample')} with these values would show it"
    )
    return f"{start}: {lower} at {found.largest}, {on}; {enough}"


def _price(found: SmallestK) -> str:
    if found.characters is None:
        return ""
    return (
        f"; {found.characters:,.0f} characters, about {found.tokens:,.0f} tokens "
        f"({found.tokens_are}) per question"
    )
