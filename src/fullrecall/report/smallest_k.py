"""The smallest k that brings enough, and what it costs in text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, NamedTuple

from fullrecall.context import Context
from fullrecall.report.choosing import scored
from fullrecall.report.needed import samples_needed
from fullrecall.report.report import Report
from fullrecall.report.statistics import CONFIDENCE, check_share, decision_bounds
from fullrecall.result import Status, check_k

CHARACTERS_PER_TOKEN = 4.0
"""What a token is taken for where nobody counts: the usual rule of thumb for English text."""

CountTokens = Callable[[str], int]


class Tested(NamedTuple):
    """One k that was tested: the mean there, and its one-sided lower bound."""

    k: int
    mean: float
    lower: float | None


@dataclass(frozen=True)
class SmallestK:
    """The smallest `k` whose mean reaches `target` with `confidence`; None if none up to `largest`.

    `mean` and `lower`, its one-sided lower bound, are those at `k`, or at `largest` where there is
    no k. `tested` has each k that was tested, from the largest down. `characters` and `tokens`
    are means over the samples of what the first `k` contexts hold, None where their texts are not
    known or there is no k; `tokens_are` says how they were counted. `needed` is how many samples
    would do, where there are too few. `reason` is one sentence.
    """

    k: int | None
    target: float
    confidence: float
    score: str
    measure: str
    largest: int
    mean: float | None
    lower: float | None
    samples: int
    groups: int
    characters: float | None
    tokens: float | None
    tokens_are: str
    needed: int | None
    reason: str
    tested: tuple[Tested, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**self.__dict__, "tested": [list(one) for one in self.tested]}

    def __str__(self) -> str:
        return self.reason


def smallest_k(
    report: Report,
    target: float,
    confidence: float = CONFIDENCE,
    *,
    score: str | None = None,
    measure: str | None = None,
    largest: int | None = None,
    count_tokens: CountTokens | None = None,
) -> SmallestK:
    """Return the smallest k that reaches the target; see `Report.smallest_k`.

    The hypotheses "the mean at k is below the target" are tested from the largest k down, each at
    the full level, and the first that is not rejected ends it: a fixed sequence. The k returned
    can only be too small if the first k, in this order, whose mean *is* below the target was
    rejected, and one test at level 1 - confidence does that with this probability at most. Going
    up from k = 1 to the first success would have one chance to err at each k. Source: Maurer,
    Hothorn, Lehmacher, "Multiple comparisons in drug clinical trials and preclinical assays:
    a-priori ordered hypotheses", 1995.
    """
    check_share(target, "target")
    check_share(confidence, "confidence", whole=False)
    data = scored(report, score)
    name = measure or data.method.measure
    retrieved = max((result.retrieved for result in data.results), default=0)
    top = retrieved if largest is None else check_k(largest, "largest")
    tested: list[Tested] = []
    best: Tested | None = None
    at_top = None
    for k in range(top, 0, -1):
        spread = data.spread(name, k)
        if spread is None:
            break
        bounds = decision_bounds(spread, confidence)
        one = Tested(k, spread.mean, None if bounds is None else bounds.low)
        at_top = at_top or spread
        tested.append(one)
        if one.lower is None or one.lower < target:
            break
        best = one
    shown = best or (tested[0] if tested else None)
    cost = _Cost(report, data.method.name, best, count_tokens)
    needed = None
    if best is None and at_top is not None and at_top.mean >= target:
        needed = samples_needed(at_top, len(data.results), target, confidence)
    found = SmallestK(
        None if best is None else best.k,
        target,
        confidence,
        data.method.name,
        name,
        top,
        None if shown is None else shown.mean,
        None if shown is None else shown.lower,
        len(data.results),
        0 if at_top is None else at_top.groups,
        cost.characters,
        cost.tokens,
        cost.tokens_are,
        needed,
        "",
        tuple(tested),
    )
    return replace(found, reason=_reason(found))


class _Cost:
    """What the first k contexts hold, in mean over the samples whose texts are all known."""

    def __init__(
        self, report: Report, score: str, at: Tested | None, count: CountTokens | None
    ) -> None:
        self.tokens_are = (
            f"characters / {CHARACTERS_PER_TOKEN:g}" if count is None else "count_tokens"
        )
        self.characters: float | None = None
        self.tokens: float | None = None
        texts = [] if at is None else list(_texts(report, score, at.k))
        if not texts:
            return
        self.characters = _mean([sum(map(len, each)) for each in texts])
        self.tokens = (
            self.characters / CHARACTERS_PER_TOKEN
            if count is None
            else _mean([sum(map(count, each)) for each in texts])
        )


def _texts(report: Report, score: str, k: int) -> Iterable[list[str]]:
    place = next(n for n, method in enumerate(report.methods) if method.name == score)
    for row in report.rows:
        contexts: Sequence[Context] | None = row.sample.retrieved_contexts
        if row.results[place].status is not Status.SCORED or contexts is None:
            continue
        texts = [context.text for context in contexts[:k]]
        known = [text for text in texts if text is not None]
        if len(known) == len(texts):
            yield known


def _reason(found: SmallestK) -> str:
    what = f"{found.score}, {found.measure}@k"
    sure = f"{100 * found.confidence:g}%"
    if found.mean is None:
        return f"{what}: no sample has a score, so no k can be told"
    if found.k is not None:
        cost = ""
        if found.characters is not None:
            cost = (
                f"; {found.characters:,.0f} characters, about {found.tokens:,.0f} tokens "
                f"({found.tokens_are}), a question"
            )
        return (
            f"{what}: k = {found.k} reaches {found.target:g}: {sure} sure of at least "
            f"{_down(found.lower or 0.0)}, the mean is {found.mean:.3f} over {found.samples:,} "
            f"samples{cost}"
        )
    start = f"{what}: no k up to {found.largest} reaches {found.target:g}"
    if found.lower is None:
        return f"{start}: one independent sample tells nothing of the others"
    if found.mean < found.target:
        return (
            f"{start}: the mean at {found.largest} is {found.mean:.3f}; retrieve more, or "
            "retrieve better"
        )
    enough = (
        "no number of samples would do at this mean"
        if found.needed is None
        else f"about {found.needed:,} samples would do if their mean is the same"
    )
    return (
        f"{start} with {sure} confidence: the mean at {found.largest} is {found.mean:.3f}, but "
        f"{found.samples:,} samples are only sure of {_down(found.lower)}; {enough}"
    )


def _mean(values: Sequence[int]) -> float:
    return fsum(values) / len(values)


def _down(value: float) -> str:
    """Return a lower bound rounded down: it must not look better than it is."""
    return f"{int(value * 1000) / 1000:.3f}"
