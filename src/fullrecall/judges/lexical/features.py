"""What is measured of a claim against contexts: what is covered, what is missing, what clashes.

Coverage is weighted by the rarity of words (`frequencies`), and taken over the whole contexts,
over one to three neighbouring sentences, and over the two sentences that together cover most.
The length of the contexts is no feature: what supports a claim does so in any company.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fullrecall.judges.lexical.matching import Match
from fullrecall.judges.lexical.passages import Passage
from fullrecall.judges.words.opposites import is_denied_form, opposites, rivals

_NAME_WEIGHT = 0.5  # a capitalised word that weighs less is a function word
_NEAR = 12  # words: the distance over which closeness fades to 1/e
_PLACES = 12  # of a word, when distances are taken
_FREQUENT = 3  # a word found so often is the topic, and tells little about this claim
_STRICT = frozenset(
    "all every only always never most first last none best worst exact entir sole alon".split()
)

# The sign that a feature's weight may have: +1 speaks for support, -1 against, 0 either.
SIGNS: Mapping[str, int] = {
    "coverage": 1,
    "coverage_1": 1,
    "coverage_2": 1,
    "coverage_3": 1,
    "coverage_region": 1,
    "coverage_pair": 1,
    "words_region": 1,
    "rarest_three": 1,
    "rarest_three_region": 1,
    "missing": -1,
    "missing_region": -1,
    "missing_pair": -1,
    "names": 0,
    "names_missing": -1,
    "names_missing_region": -1,
    "numbers": 0,
    "numbers_missing": -1,
    "numbers_missing_region": -1,
    "new": 1,
    "new_region": 1,
    "focus_region": 1,
    "focus_share": 0,
    "bigrams": 1,
    "close": 1,
    "in_order": 1,
    "denied_by_claim": -1,
    "denied_by_context": -1,
    "opposite": -1,
    "strict": -1,
    "rival": -1,
    "claim_words": 0,
    "claim_rarity": 0,
}


def features(
    claim: Passage, contexts: Sequence[Passage], question: Passage | None, found: Match
) -> dict[str, float]:
    """Return all features, by name, in the order of `SIGNS`."""
    measured = {
        **_coverage(found),
        **_kinds(found),
        **_focus(found, question),
        "bigrams": _bigrams(claim, contexts, found),
        "close": _closeness(found),
        **_clashes(claim, contexts, found),
        "claim_words": math.log1p(len(found.telling)),
        "claim_rarity": found.total / (len(found.units) or 1),
    }
    return {name: measured[name] for name in SIGNS}


def _coverage(found: Match) -> dict[str, float]:
    total = found.total or 1.0
    units = range(len(found.units))
    telling = found.telling
    one, two, three, region = (covered / total for covered in found.windows)
    rarest = sorted(telling, key=lambda unit: -found.units[unit].word.weight)[:3]
    return {
        "coverage": found.weigh(units, found.found),
        "coverage_1": one,
        "coverage_2": two,
        "coverage_3": three,
        "coverage_region": region,
        "coverage_pair": found.pair_covered / total,
        "words_region": sum(found.region[unit] for unit in telling) / (len(telling) or 1),
        "rarest_three": found.weigh(rarest, found.found),
        "rarest_three_region": found.weigh(rarest, found.region),
        "missing": _worst(found, found.found),
        "missing_region": _worst(found, found.region),
        "missing_pair": _worst(found, found.pair),
    }


def _worst(found: Match, credit: Sequence[float]) -> float:
    """Return the weight of the heaviest word that is missing."""
    losses = (found.units[unit].word.weight * (1 - credit[unit]) for unit in found.telling)
    return max(losses, default=0.0)


def _kinds(found: Match) -> dict[str, float]:
    """Return how many names and numbers the claim has, and how many of them are missing."""
    names, numbers = [], []
    for index, (word, order) in enumerate(found.units):
        if word.is_number:
            if word.written[0].isdigit():
                numbers.append(index)
        elif word.is_capitalised and order > 0 and word.weight > _NAME_WEIGHT:
            names.append(index)
    measured = {}
    for kind, units in (("names", names), ("numbers", numbers)):
        root = math.sqrt(len(units) or 1)
        measured[kind] = math.log1p(len(units))
        measured[f"{kind}_missing"] = sum(1 - found.found[unit] for unit in units) / root
        measured[f"{kind}_missing_region"] = sum(1 - found.region[unit] for unit in units) / root
    return measured


def _focus(found: Match, question: Passage | None) -> dict[str, float]:
    """Return coverage of what the claim adds: to the question, and to the contexts' topic."""
    asked = question.places if question is not None else {}
    new = [unit for unit in found.telling if found.units[unit].word.key not in asked]
    focus = [
        unit
        for unit in found.telling
        if sum(len(places.get(unit, ())) for places in found.places) < _FREQUENT
    ]
    weights = [unit.word.weight for unit in found.units]
    telling = sum(weights[unit] for unit in found.telling)
    return {
        "new": found.weigh(new, found.found),
        "new_region": found.weigh(new, found.region),
        "focus_region": found.weigh(focus, found.region),
        "focus_share": sum(weights[unit] for unit in focus) / (telling or 1.0),
    }


def _bigrams(claim: Passage, contexts: Sequence[Passage], found: Match) -> float:
    """Return the weighted share of the claim's neighbouring words that are neighbours there too."""
    weight = shared = 0.0
    for one, other in zip(claim.words, claim.words[1:], strict=False):
        weight += one.weight + other.weight
        if any((one.key, other.key) in passage.neighbours for passage in contexts):
            shared += one.weight + other.weight
    return shared / weight if weight else found.weigh(range(len(found.units)), found.found)


def _closeness(found: Match) -> float:
    """Return how close the claim's telling words stand in a context, of those that are there.

    Each word is paired with the next two. A pair as close as in the claim counts 1, and less the
    further apart it is; without a pair the answer is 0.5.
    """
    weight = close = 0.0
    for gap in (1, 2):
        for one, other in zip(found.telling, found.telling[gap:], strict=False):
            apart = _distance(found, one, other)
            if apart is None:
                continue
            claimed = abs(found.units[other].order - found.units[one].order)
            worth = min(found.units[one].word.weight, found.units[other].word.weight)
            weight += worth
            close += worth * math.exp(-max(0, apart - claimed - 1) / _NEAR)
    return close / weight if weight else 0.5


def _distance(found: Match, one: int, other: int) -> int | None:
    distances = (
        abs(here - there)
        for places in found.places
        for here in places.get(one, ())[:_PLACES]
        for there in places.get(other, ())[:_PLACES]
    )
    return min(distances, default=None)


def _clashes(claim: Passage, contexts: Sequence[Passage], found: Match) -> dict[str, float]:
    """Compare the claim with the best window: order of words, negations, opposites, strictness."""
    clashes = dict.fromkeys(
        ("in_order", "denied_by_claim", "denied_by_context", "opposite", "strict", "rival"), 0.0
    )
    if found.best is None:
        return clashes
    context, sentence = found.best
    passage = contexts[context]
    start = passage.sentences[max(0, sentence - 1)][0]
    end = passage.sentences[min(len(passage.sentences) - 1, sentence + 1)][1]
    window = [word.key for word in passage.words[start:end]]
    clashes["in_order"] = _in_order(claim, found, window, range(start, end), passage)
    first, last = passage.sentences[sentence]
    matched = [
        position
        for unit in found.telling
        for position in found.places[context].get(unit, ())
        if first <= position < last
    ]
    denied = bool(matched) and any(
        passage.words[position].is_negation
        for position in range(max(first, min(matched) - 3), min(last, max(matched) + 2))
    )
    denies = any(word.is_negation for word in claim.words)
    clashes["denied_by_claim"] = float(denies and not denied)
    clashes["denied_by_context"] = float(denied and not denies)
    there = set(window)
    opposed = strict = rival = 0
    claimed = {word.key for word in claim.words}
    for index, unit in enumerate(found.units):
        key, credit = unit.word.key, found.region[index]
        against = opposites().get(key, frozenset())
        others = rivals().get(key, frozenset()) - claimed
        opposed += credit < 1 and not there.isdisjoint(against)
        opposed += credit == 0 and is_denied_form(key, there)
        strict += credit == 0 and key in _STRICT
        rival += credit == 0 and not there.isdisjoint(others)
    clashes["opposite"] = float(min(2, opposed))
    clashes["strict"] = float(strict)
    clashes["rival"] = float(min(2, rival))
    return clashes


def _in_order(
    claim: Passage, found: Match, window: Sequence[str], positions: range, passage: Passage
) -> float:
    """Return the weighted share of the claim in the longest common subsequence with the window."""
    from rapidfuzz.distance import LCSseq

    there = set(window)
    unit_of = {unit.word.key: index for index, unit in enumerate(found.units)}
    context = found.best.context if found.best is not None else 0
    keys = []
    for word in claim.words:
        key = word.key
        if key not in there:  # stand in the word that was found alike
            alike = found.places[context].get(unit_of[key], ())
            key = next((passage.words[p].key for p in alike if p in positions), key)
        keys.append(key)
    aligned = sum(
        word.weight
        for block in LCSseq.opcodes(keys, window)
        if block.tag == "equal"
        for word in claim.words[block.src_start : block.src_end]
    )
    return aligned / (sum(word.weight for word in claim.words) or 1.0)
