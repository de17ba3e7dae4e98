"""What people's labels say of the references: how right additions are, how much is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fullrecall.testset.assessment import Judged
from fullrecall.testset.completeness import (
    WIDEST,
    Share,
    Stratum,
    Total,
    completeness,
    tail_needed,
    total,
)

RIGHT = 0.8
"""Fewer right finds than this, by people's labels, and only confirmed ones are added."""


class Estimate(NamedTuple):
    """How complete the references are, within the frame.

    `complete` is None where the data do not carry a figure, and `refused` says why. `at_most`
    tells that people looked at a part of the tail only, so that it is an upper bound; `lower_only`
    that the interval is too wide to show more than its lower end, and `needed` how large a tail
    would show the completeness that is assumed. `by_judge` tells that nobody labeled anything.
    `right` is the share of the judge's finds in the pool that people confirm, `overlooked` that
    of the others that people found. `relevant` is how many pairs of the frame are relevant.
    """

    complete: Share | None
    refused: str = ""
    by_judge: bool = False
    at_most: bool = False
    lower_only: bool = False
    needed: int | None = None
    right: Share | None = None
    overlooked: float = 0.0
    relevant: float | None = None


_LIKELY = 0.9
"""The completeness that a larger tail is planned for, where nothing was found in it."""


def estimated(
    judged: Sequence[Judged],
    strata: Sequence[int],
    labels: Mapping[str, bool],
    named: int,
) -> Estimate:
    """Return the estimate from verdicts and labels; `named` pairs were known before.

    Without labels the judge's verdicts stand for them. Its errors in the pool are estimated by
    verdict, in the tail people's labels alone count.
    """
    known = [one for one in judged if one.verdict.relevant is not None]
    by_judge = not labels
    if judged and not known and not labels:
        return Estimate(None, "the judge decided on none of the contexts", by_judge)
    words = labels or {one.item: bool(one.verdict.relevant) for one in known}
    right = _right(known, words) if labels else None
    if not strata:
        why = "no sample below the pool: tail=1000 draws one"
        return Estimate(None, why, by_judge, right=right)
    tail = [one for one in judged if one.stratum is not None]
    found = [one for one in tail if one.verdict.relevant]
    if any(one.item not in words for one in found):
        return Estimate(None, "people have not labeled what was found below the pool", right=right)
    at_most = any(one.item not in words for one in tail)
    hidden = _strata(known, strata, words)
    kept, missed = _split(known, words, hidden, named, right)
    if missed is None:
        return Estimate(None, "too few labels of the pool: draw more with to_label", right=right)
    share = completeness(kept, missed)
    wide = share.high - share.low > WIDEST or missed.value == 0 < missed.high
    needed = tail_needed(sum(strata), kept.value, max(_LIKELY, share.low)) if wide else None
    others = [one for one in known if one.stratum is None and not one.verdict.relevant]
    said = [words[one.item] for one in others if one.item in words]
    return Estimate(
        share,
        by_judge=by_judge,
        at_most=at_most and not by_judge,
        lower_only=wide,
        needed=needed,
        right=right,
        overlooked=sum(said) / len(said) if said else 0.0,
        relevant=kept.value + missed.value,
    )


def _right(known: Sequence[Judged], labels: Mapping[str, bool]) -> Share | None:
    """Return the share of the judge's finds in the pool that are relevant; None without labels."""
    finds = [one for one in known if one.stratum is None and one.verdict.relevant]
    said = [labels[one.item] for one in finds if one.item in labels]
    if not said:
        return None
    wrong = total([Stratum(len(finds), len(said), len(said) - sum(said))])
    if wrong is None:
        return None
    count = len(finds)
    return Share(1 - wrong.value / count, 1 - wrong.high / count, 1 - wrong.low / count)


def _strata(
    known: Sequence[Judged],
    sizes: Sequence[int],
    words: Mapping[str, bool],
) -> list[Stratum]:
    """Return the tail's strata; a pair that people were not asked about counts as not relevant."""
    found = []
    for number, size in enumerate(sizes):
        members = [one for one in known if one.stratum == number]
        hits = sum(words.get(one.item, False) for one in members)
        found.append(Stratum(size, len(members), hits))
    return found


def _split(
    known: Sequence[Judged],
    words: Mapping[str, bool],
    tail: Sequence[Stratum],
    named: int,
    right: Share | None,
) -> tuple[Total, Total | None]:
    """Return what the completed references hold, and what they lack; None where it is unknown.

    What people confirmed is held. Of the judge's other finds those that are right are held if
    they are added, and lacked if not.
    """
    pool = [one for one in known if one.stratum is None]
    finds = _stratum([one for one in pool if one.verdict.relevant], words)
    others = _stratum([one for one in pool if not one.verdict.relevant], words)
    added = right is None or right.value >= RIGHT
    sampled = [*tail, others] if added else [*tail, others, finds]
    below = total([stratum for stratum in sampled if stratum.size])
    wrong = total(
        [Stratum(finds.size, finds.drawn, finds.drawn - finds.hits)] if finds.size else []
    )
    if below is None or wrong is None:
        return Total(named, named, named), None
    confirmed = sum(stratum.hits for stratum in sampled)
    held = float(named + confirmed)
    if not added:
        return Total(held, held, held), below.plus(-confirmed)
    most = held + finds.size
    kept = Total(most - wrong.value, most - wrong.high, most - wrong.low)
    return kept, below.plus(-confirmed)


def _stratum(members: Sequence[Judged], words: Mapping[str, bool]) -> Stratum:
    said = [words[one.item] for one in members if one.item in words]
    return Stratum(len(members), len(said), sum(said))
