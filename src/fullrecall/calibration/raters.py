"""How far two people who label the same claims agree with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import sqrt
from typing import NamedTuple

from fullrecall.calibration.judged import JudgedClaims
from fullrecall.calibration.labels import Label
from fullrecall.calibration.spread import spread_of
from fullrecall.results.bounds import Interval
from fullrecall.results.special import t_quantile


class RaterAgreement(NamedTuple):
    """Cohen's κ of two raters over the claims that both have labeled; None where it has none.

    κ is over the three labels, each claim counting the same, and its interval over samples.
    """

    raters: tuple[str, str]
    claims: int
    agreed: int
    kappa: float | None
    interval: Interval | None


def rater_agreements(
    labels: Mapping[str, Sequence[Label]], judged: JudgedClaims, confidence: float
) -> tuple[RaterAgreement, ...]:
    """Return the agreement of each two raters who have both labeled a claim; labels by item."""
    words_of: dict[str, dict[str, str]] = {}
    for item, group in labels.items():
        for label in group:
            if label.label is not None:
                words_of.setdefault(label.rater, {})[item] = label.label
    cluster = {claim.item: str(judged.cluster[claim.row]) for claim in judged.claims}
    agreements = []
    for first, second in combinations(sorted(words_of), 2):
        both = [item for item in words_of[first] if item in words_of[second]]
        if both:
            pairs = [(words_of[first][item], words_of[second][item]) for item in both]
            clusters = [cluster[item] for item in both]
            agreements.append(_agreement((first, second), pairs, clusters, confidence))
    return tuple(agreements)


def _agreement(
    raters: tuple[str, str],
    pairs: Sequence[tuple[str, str]],
    clusters: Sequence[str],
    confidence: float,
) -> RaterAgreement:
    count, agreed = len(pairs), sum(first == second for first, second in pairs)
    words = sorted({word for pair in pairs for word in pair})
    ours = {word: sum(first == word for first, _ in pairs) / count for word in words}
    theirs = {word: sum(second == word for _, second in pairs) / count for word in words}
    chance = sum(ours[word] * theirs[word] for word in words)
    if chance >= 1:
        return RaterAgreement(raters, count, agreed, None, None)
    share = agreed / count
    value = (share - chance) / (1 - chance)
    # The line of Fleiss, Cohen and Everitt, 1969; what it gives is small enough for `spread_of`.
    lines = [
        ((first == second) - share) / (1 - chance)
        - (1 - share) * (theirs[first] + ours[second] - 2 * chance) / (1 - chance) ** 2
        for first, second in pairs
    ]
    spread = spread_of(lines, clusters)
    interval = None
    if spread is not None and spread.groups > 1 and spread.variance > 0:
        half = t_quantile(spread.df, confidence) * sqrt(spread.variance)
        interval = Interval(max(-1.0, value - half), min(1.0, value + half), confidence)
    return RaterAgreement(raters, count, agreed, value, interval)
