"""The features of a claim against contexts: covered words, missing names, and closeness.

Coverage is weighted by the rarity of words (`words.frequencies`). The features were chosen on one
collection and tested on another (`docs/judges.md`). The length of the contexts is not a feature: a
context supports a claim regardless of other contexts.

A regression lets a hundred matching words outweigh a single wrong one. So rules also look for a
detail that differs (`differing_detail`); it lowers the support, whatever the features are. Such a
detail is a number, a month or a code that no context has; a "not" in only one of the texts; an
opposite; another name, amount, item or agent; or one other word in an otherwise equal sentence.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence

from fullrecall.lexical.clauses import clauses_of, predicate_of
from fullrecall.lexical.contrast import (
    states_opposite,
    states_other_agent,
    states_other_amount,
    states_other_item,
    states_other_word,
)
from fullrecall.lexical.matching import ClaimMatch, ParsedText, read_passage
from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.negations import denials, denied_keys, denies
from fullrecall.lexical.words.numbers import may_stand_for, months, numbers
from fullrecall.lexical.words.tokens import read_words

_CODE = re.compile("`([^`]++)`")
_NEAR = 12  # words; over this distance, closeness falls to 1/e
_PLACES = 12  # the most places of a word that are used for distances
_ABOUT = 0.3  # the share of a claim's weight that a sentence must cover to have the same subject
_HALF = 0.5  # the least share of a sentence's denied words that must be in the claim
_MOST_CLOSEST = 6  # the most sentences that are compared if several share equal weight with a claim


def features(claim: ParsedText, match: ClaimMatch) -> dict[str, float]:
    """Return the features by which the built-in judge decides, by name; all are at least 0."""
    units = range(len(match.units))
    rarest = sorted(match.telling, key=lambda unit: -match.units[unit].weight)[:3]
    named = {key for name in names(claim.text) for key in name.keys}
    missing = [1 - match.found.get(unit, 0.0) for unit in units if match.units[unit].key in named]
    return {
        "coverage": match.weigh(units, match.found),
        "coverage_region": match.weigh(units, match.region),
        "rarest_three_region": match.weigh(rarest, match.region),
        "names_missing": sum(missing) / math.sqrt(len(missing) or 1),
        "close": _closeness(claim, match),
    }


def _closeness(claim: ParsedText, match: ClaimMatch) -> float:
    """Return the closeness, in [0, 1], of the claim's content words in a context.

    Each word is paired with the next two. A pair counts 1 if its words are at most one word further
    apart than in the claim; beyond that, its value falls with the distance. Pairs that no context
    has are ignored; without any pair the result is 0.5.
    """
    weight = close = 0.0
    for gap in (1, 2):
        for unit, other in zip(match.telling, match.telling[gap:], strict=False):
            apart = _distance(match, unit, other)
            if apart is None:
                continue
            word, next_word = match.units[unit], match.units[other]
            claimed = abs(claim.places[next_word.key][0] - claim.places[word.key][0])
            worth = min(word.weight, next_word.weight)
            weight += worth
            close += worth * math.exp(-max(0, apart - claimed - 1) / _NEAR)
    return close / weight if weight else 0.5  # neutral without pairs


def _distance(match: ClaimMatch, unit: int, other: int) -> int | None:
    """Return the smallest distance, in words, of two words in a context.

    Returns None if no context has both words.
    """
    distances = (
        abs(here - there)
        for places in match.places
        # read only the first places: a frequent word would take quadratic time
        for here in places.get(unit, ())[:_PLACES]
        for there in places.get(other, ())[:_PLACES]
    )
    return min(distances, default=None)


def differing_detail(claim: ParsedText, contexts: Sequence[ParsedText], match: ClaimMatch) -> bool:
    """Return whether a detail of the claim differs from the contexts.

    The docstring of this module lists the details that are compared.
    """
    coded = {word.key for code in _CODE.findall(claim.text) for word in read_words(code)}
    if not all(any(key in passage.places for passage in contexts) for key in coded):
        return True
    if _has_absent_number(claim.text, [passage.text for passage in contexts]):
        return True
    if match.best is None or match.covered < _ABOUT * match.total:
        return False
    sentence = contexts[match.best.context].sentence(match.best.number)
    differs = states_opposite, states_other_amount, states_other_item
    if any(rule(claim.text, sentence) for rule in differs) or _is_denied(claim, sentence):
        return True
    clauses = _closest(claim, contexts)
    is_other = bool(clauses) and all(states_other_word(claim.text, each) for each in clauses)
    return is_other or states_other_agent(claim.text, [passage.text for passage in contexts])


def _closest(claim: ParsedText, contexts: Sequence[ParsedText]) -> list[str]:
    """Return the clauses that are closest to a claim's predicate, by the weight of shared words.

    Only the sentences with the largest shared weight count; each gives its closest clause.
    """
    said = {word.key for word in read_words(predicate_of(claim.text))}
    # Add weights in the claim's order: the order of a set, and with it the last bits of a sum,
    # differ between processes.
    worth = {key: claim.words[at[0]].weight for key, at in claim.places.items() if key in said}
    weight_of: defaultdict[str, float] = defaultdict(float)
    for passage in contexts:
        for key, weight in worth.items():
            for at in sorted({passage.sentence_of[at] for at in passage.places.get(key, ())}):
                weight_of[passage.sentence(at)] += weight

    def shared(clause: str) -> float:
        places = read_passage(clause).places
        return sum(weight for key, weight in worth.items() if key in places)

    most = max(weight_of.values(), default=0.0)
    closest = [text for text, weight in weight_of.items() if weight >= most - 1e-9]
    return [max(clauses_of(text), key=shared) for text in closest[:_MOST_CLOSEST]]


def _has_absent_number(claim: str, contexts: Sequence[str]) -> bool:
    """Return whether the claim has a month, or a number in digits, that is in no context.

    Numbers are compared with their unit and scale; a rounded number counts as equal.
    """
    named = months(claim)
    if named and not named <= {month for context in contexts for month in months(context)}:
        return True
    own = [number for number in numbers(claim) if number.in_digits]
    present = [number for context in contexts for number in numbers(context)] if own else []
    return not all(may_stand_for(number, present) for number in own)


def _is_denied(claim: ParsedText, sentence: str) -> bool:
    """Return whether either the claim or `sentence` is a denial, but not both.

    `sentence` is the one that covers most of the claim. A claim without a denial is denied if at
    least half of the words that the sentence denies are in the claim. A claim with a denial is
    confirmed if the sentence denies a word of the claim, or has another form of denial ("failed
    to", "a myth").
    """
    denied = denied_keys(sentence)
    shared = denied.intersection(word.key for word in claim.words)
    if denials(claim.text, "en"):
        return not (shared or denies(sentence, "en", ("implied", "reported")))
    return bool(shared) and len(shared) >= _HALF * len(denied)
