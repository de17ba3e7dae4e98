"""Compute the support of contexts for a claim, without a language model, a key or a download.

The support is a logistic regression over named features. The signs of its weights were fixed before
training, so that a missing number can never increase the support. `weights.json` has the weights;
`bench/local_judge.py` trains them and measures the agreement with human labels on other datasets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from fullrecall._util.data import table
from fullrecall.lexical.claim_judge import Best, Judged
from fullrecall.lexical.contrast import in_words_of
from fullrecall.lexical.features import differing_detail, features
from fullrecall.lexical.matching import ClaimMatch, ParsedText, match_of, read_for, read_passage
from fullrecall.lexical.words.tokens import read_words

_CLOSING = frozenset(".!?…。！？।؟\"'”’»)]%")  # noqa: RUF001 - they are full-width stops
_LEADING_PRONOUN = re.compile(r"(?:It|He|She|They)\b")
_LIST_NUMBER = re.compile(r"\A\s*+\(?\d{1,2}[.)]\s++(?=\S)")
_DENIED = 0.3  # the factor that lowers the support of a claim that differs in a detail
_SHORT = 10  # the most distinct words of a short claim
_KEPT = 4  # the number of earlier contexts that are paired with each context
_COVERED = 0.6  # the share of the claim's weight that a pair of contexts must cover
_ADDED = 0.08  # the share of the claim's weight that each context of a pair must add
_LINKING = 2.5  # the least weight of a shared word that links two contexts


def weights() -> Mapping[str, Any]:
    """Return the intercept, the features' weights, the threshold and the measured agreement."""
    return table("weights.json", __package__)


def supported(claim: str, contexts: Sequence[str]) -> Best:
    """Return the joint support of all contexts for the claim, with a quote of the evidence."""
    return _best(*matched(claim, contexts))


def judged(claim: str, contexts: Sequence[str], *, threshold: float) -> Judged:
    """Judge the claim by each context alone, and by two together if no context reaches `threshold`.

    Each text is parsed once. The time is linear in the number of contexts, since each is paired
    only with the few earlier contexts that cover most of the claim. More contexts never lower the
    support.
    """
    alone = [matched(claim, [context]) for context in contexts]
    best_of = [_best(*match) for match in alone]
    if any(best.support >= threshold for best in best_of):
        return Judged(best_of)
    return Judged(
        best_of, *_two_jointly(claim, contexts, [match for *_, match in alone], threshold)
    )


def matched(claim: str, contexts: Sequence[str]) -> tuple[ParsedText, list[ParsedText], ClaimMatch]:
    """Return the parsed claim, the parsed contexts, and their match.

    The claim loses its list number, and is reworded as in the contexts (`in_words_of`).
    """
    bare = _LIST_NUMBER.sub("", claim)
    read = [read_for(read_passage(bare), context) for context in contexts]
    passage = read_passage(in_words_of(_for_chunk(bare, read), read))
    return passage, read, match_of(passage, read)


def _for_chunk(claim: str, contexts: Sequence[ParsedText]) -> str:
    """Return a claim with its initial name replaced by the pronoun with which a chunk begins.

    Chunks are often cut from texts that named the subject earlier: "It was built in 1889." The
    claim is unchanged if there are several contexts, or if the context has the name's last word.
    """
    pronoun = _LEADING_PRONOUN.match(contexts[0].text) if len(contexts) == 1 else None
    named = list(takewhile(lambda word: word.is_capitalised, read_words(claim)))
    if pronoun is None or not named or any(word.key in contexts[0].places for word in named[-1:]):
        return claim
    return f"{pronoun[0]}{claim[named[-1].end :]}"


def _best(claim: ParsedText, contexts: Sequence[ParsedText], match: ClaimMatch) -> Best:
    if match.best is None:
        return Best()
    values = features(claim, match)
    score = weights()["intercept"] + sum(
        entry["weight"] * (values[name] - entry["mean"]) / entry["scale"]
        for name, entry in weights()["features"].items()
    )
    # Round the support, so that the last bits, which differ between machines, have no effect.
    probability = round(1 / (1 + math.exp(-score)), 6)
    if differing_detail(claim, contexts, match) or _lacks_end(match):
        probability = round(probability * _DENIED, 6)
    quote = _evidence(match, contexts[match.best.context])
    return Best(probability, quote)


def _lacks_end(match: ClaimMatch) -> bool:
    """Return whether the contexts have only the first content words of a short claim, its subject.

    At least two further content words must be absent. Long claims are exempt, since contexts may
    state them in other words.
    """
    are_found = [unit in match.found for unit in match.telling]
    rest = are_found[len(list(takewhile(bool, are_found))) :]
    return len(match.units) <= _SHORT and len(rest) > 1 and not any(rest)


def _two_jointly(
    claim: str, contexts: Sequence[str], matches: Sequence[ClaimMatch], threshold: float
) -> tuple[tuple[int, ...], float]:
    """Return the first pair of contexts that supports the claim jointly, with the support.

    Returns ((), 0.0) without such a pair. Two contexts that share no rare word of the claim are not
    tried, since their subjects differ. Nor are three contexts, since their joint support is mostly
    chance: among labeled claims, as many false as true claims had it.
    """
    kept: list[int] = []
    for index, match in enumerate(matches):
        if not match.weight:
            continue
        weights_beside = {other: _joint_weight(matches[other], match) for other in kept}
        best = max(kept, key=weights_beside.__getitem__, default=index)
        if best != index and weights_beside[best] >= _COVERED * match.total:
            pair = best, index
            together = supported(claim, [contexts[n] for n in pair]).support
            if together >= threshold:
                return pair, together
        kept = sorted([*kept, index], key=lambda number: -matches[number].weight)[:_KEPT]
    return (), 0.0


def _joint_weight(match: ClaimMatch, other: ClaimMatch) -> float:
    """Return the part of a claim's weight that two contexts cover jointly.

    Returns 0.0 if they share no name or rare word of the claim, or if one of them adds too little.
    """
    # Match words by their keys, since their numbers differ: the claim was reworded for each context
    # ("unavailable" to "not available").
    found = {other.units[unit].key: credit for unit, credit in other.found.items()}
    covered = [
        (u, match.found.get(n, 0.0), found.get(u.key, 0.0)) for n, u in enumerate(match.units)
    ]
    if not any(unit.weight >= _LINKING and own and joined for unit, own, joined in covered):
        return 0.0
    weight = sum(unit.weight * max(own, joined) for unit, own, joined in covered)
    return weight if weight >= max(match.weight, other.weight) + _ADDED * match.total else 0.0


def _evidence(match: ClaimMatch, passage: ParsedText) -> str:
    """Return the text of the evidence, with its closing marks."""
    first, last = match.evidence
    start = passage.words[passage.sentences[max(0, first)][0]].start
    last = min(last, len(passage.sentences) - 1)
    end = passage.words[passage.sentences[last][1] - 1].end
    while end < len(passage.text) and passage.text[end] in _CLOSING:
        end += 1
    return passage.text[start:end]
