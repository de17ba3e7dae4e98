"""Details that decide: a number or a month that stands nowhere, a "not" on one side only.

A regression weighs a hundred words that fit against one that does not; these rules do not weigh.
Of ten such rules these two held on data sets that they were not chosen on (`docs/judges.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from fullrecall.judges.local.matching import Match
from fullrecall.judges.local.passages import Passage
from fullrecall.judges.words.negations import denials, denied_keys
from fullrecall.judges.words.numbers import follows_from, months, numbers
from fullrecall.judges.words.tokens import read_words, stem

_ABOUT = 0.3  # of the claim's weight that one sentence covers, to be about the same
_CLOSE = 0.5  # of it, to say the like
_AUXILIARIES = frozenset(map(stem, "be have do can could will would may must should".split()))


def differing_detail(claim: Passage, contexts: Sequence[Passage], match: Match) -> str:
    """Return in what the claim differs, "number" or "negation"; empty where in neither."""
    if has_absent_number(claim.text, [passage.text for passage in contexts]):
        return "number"
    if match.best is None or match.covered < _ABOUT * match.total:
        return ""
    return "negation" if _is_denied(claim, contexts[match.best.context], match) else ""


def has_absent_number(claim: str, contexts: Sequence[str]) -> bool:
    """Whether a number in digits, with its unit and scale, or a month stands in no context.

    A number may stand there for another: rounded, within bounds, or the years between two others.
    """
    if not months(claim) <= {month for context in contexts for month in months(context)}:
        return True
    own = [number for number in numbers(claim) if number.in_digits]
    present = [number for context in contexts for number in numbers(context)] if own else []
    return not all(follows_from(number, present) for number in own)


def _is_denied(claim: Passage, context: Passage, match: Match) -> bool:
    """Whether the claim or the sentence that covers most of it denies what the other states."""
    assert match.best is not None  # noqa: S101 - asked only where something was found
    number = match.best.number
    sentence = context.sentence(number)
    claimed = denials(claim.text, "en")
    if any(denial.kind != "implied" for denial in claimed):
        if match.covered >= _CLOSE * match.total:
            return not _denies_word_of(sentence, claim)
        around = range(max(0, number - 1), min(len(context.sentences), number + 2))
        return not any(denials(context.sentence(at), "en") for at in around)
    return not claimed and _denies_neighbors_of(sentence, claim)


def _denies_word_of(sentence: str, claim: Passage) -> bool:
    """Whether the sentence denies in other words, or denies a word that the claim has."""
    if any(denial.kind != "plain" for denial in denials(sentence, "en")):
        return True
    return not denied_keys(sentence).isdisjoint(word.key for word in claim.words)


def _denies_neighbors_of(sentence: str, claim: Passage) -> bool:
    """Whether the sentence has a "not" between two words that stand side by side in the claim.

    Any other negation in it may be about something else: "not far from", "not only".
    """
    negations = [denial for denial in denials(sentence, "en") if denial.kind == "plain"]
    if not negations:
        return False
    pairs = {(word.key, other.key) for word, other in pairwise(claim.words)}
    seconds = {other for word, other in pairs if word in _AUXILIARIES}
    words = list(read_words(sentence))
    for before, denial, after in zip(words, words[1:], words[2:], strict=False):
        if denial.key == "not" and (
            (before.key, after.key) in pairs
            or (denial.written != "not" and after.key in seconds)  # isn't, wasn't
        ):
            return any(word.start <= denial.start < word.end for word in negations)
    return False
