"""How far two people who label the same claims agree with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from fullrecall.calibration.labels import Label


class RaterAgreement(NamedTuple):
    """Cohen's κ of two raters over the claims that both have labeled; None where it has none.

    κ is over the three labels, each claim counting the same.
    """

    raters: tuple[str, str]
    claims: int
    agreed: int
    kappa: float | None


def rater_agreements(labels: Mapping[str, Sequence[Label]]) -> tuple[RaterAgreement, ...]:
    """Return the agreement of each two raters who have both labeled a claim; labels by item."""
    words_of: dict[str, dict[str, str]] = {}
    for item, group in labels.items():
        for label in group:
            if label.label is not None:
                words_of.setdefault(label.rater, {})[item] = label.label
    agreements = []
    for raters in combinations(sorted(words_of), 2):
        ours, theirs = (words_of[rater] for rater in raters)
        both = [item for item in ours if item in theirs]
        if not both:
            continue
        agreed, count = sum(ours[item] == theirs[item] for item in both), len(both)
        first, second = (Counter(words[item] for item in both) for words in (ours, theirs))
        chance = sum(first[word] * second[word] for word in first) / count**2
        kappa = None if chance >= 1 else (agreed / count - chance) / (1 - chance)
        agreements.append(RaterAgreement(raters, count, agreed, kappa))
    return tuple(agreements)
