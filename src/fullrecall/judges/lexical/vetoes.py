"""Details that decide: a claim that differs from its contexts in one of them is not supported.

A regression weighs a hundred words that fit against one that does not. These rules do not weigh:
each names what a claim says that no context does, though the context says the like. Which rules
there are, and how strictly they look, was settled on labelled claims (`tests/benchmarks`): none of
them costs more true claims than it finds false ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fullrecall.judges.lexical.frequencies import weight, zipf_frequencies
from fullrecall.judges.lexical.matching import Match
from fullrecall.judges.lexical.passages import Passage
from fullrecall.judges.lexical.rivals import rivals
from fullrecall.judges.lexical.words import Word, stem

_ABOUT = 0.3  # of the claim's weight that one sentence covers, to be about the same
_CLOSE = 0.5  # of it, to say the like
_NAME_WEIGHT = 0.5  # a capitalised word that weighs less is a function word
_NAME_LEAST = 2.0  # what a name's rarest word weighs
_AUXILIARIES = frozenset(map(stem, "be have do can could will would may must should".split()))
_ABBREVIATED = 3  # letters


def veto(claim: Passage, contexts: Sequence[Passage], found: Match) -> str:
    """Return the kind of detail in which the claim differs; empty where it differs in none."""
    if _has_absent_number(found):
        return "number"
    share = found.windows[0] / (found.total or 1.0)
    if found.best is None or share < _ABOUT:
        return ""
    sentence = _best_sentence(contexts, found)
    if _denies(claim.words) != _denies(sentence) and (
        _denies(claim.words) or _denies_the_same(sentence, claim.words)
    ):
        return "negation"
    if _has_roles_exchanged(claim.words, sentence):
        return "role"
    if share >= _CLOSE and _has_absent_name(claim, found):
        return "name"
    return "unit" if share >= _CLOSE and _has_other_unit(claim, contexts) else ""


def _has_absent_number(found: Match) -> bool:
    return any(
        unit.word.is_number and unit.word.written[0].isdigit() and not credit
        for unit, credit in zip(found.units, found.found, strict=True)
    )


def _best_sentence(contexts: Sequence[Passage], found: Match) -> Sequence[Word]:
    assert found.best is not None  # noqa: S101 - asked only where something was found
    passage = contexts[found.best.context]
    first, last = passage.sentences[found.best.number]
    return passage.words[first:last]


def _denies(words: Sequence[Word]) -> bool:
    return any(word.is_negation for word in words)


def _denies_the_same(sentence: Sequence[Word], claim: Sequence[Word]) -> bool:
    """Whether the sentence has a "not" between two words that stand side by side in the claim.

    Any other negation in it may be about something else: "not far from", "not only".
    """
    pairs = {(one.key, other.key) for one, other in pairwise(claim)}
    seconds = {other for one, other in pairs if one in _AUXILIARIES}
    for before, denial, after in zip(sentence, sentence[1:], sentence[2:], strict=False):
        if denial.key == "not" and (
            (before.key, after.key) in pairs
            or (denial.written != "not" and after.key in seconds)  # isn't, wasn't
        ):
            return True
    return False


def _has_absent_name(claim: Passage, found: Match) -> bool:
    """Whether most of a name of the claim stands in no context."""
    credit = {unit.word.key: got for unit, got in zip(found.units, found.found, strict=True)}
    for name in names(claim.words):
        missing = sum(word.weight for word in name if not credit[word.key])
        if missing > sum(word.weight for word in name) / 2:
            return True
    return False


def names(words: Sequence[Word], least: float = _NAME_LEAST) -> Iterator[Sequence[Word]]:
    """Yield the runs of capitalised words; the first word of all only in a run, or if it is rare.

    Abbreviations are none: "the UK" need not stand where its parts do.
    """
    run: list[Word] = []
    for word in words:
        if not word.is_capitalised or word.is_number or weight(word.written) < _NAME_WEIGHT:
            if _is_name(run, words, least):
                yield run
            run = []
            continue
        if run and word.start - run[-1].end > 1:
            if _is_name(run, words, least):
                yield run
            run = []
        run.append(word)
    if _is_name(run, words, least):
        yield run


def _is_name(run: Sequence[Word], words: Sequence[Word], least: float) -> bool:
    longest = 1 if len(run) > 1 else _ABBREVIATED
    if all(len(word.written) <= longest for word in run):
        return False
    if len(run) == 1 and run[0] is words[0]:
        return run[0].written not in zipf_frequencies()
    return max(weight(word.written) for word in run) >= least


def _has_other_unit(claim: Passage, contexts: Sequence[Passage]) -> bool:
    """Whether a number of the claim has another unit of the same kind wherever it stands."""
    for number, unit in pairwise(claim.words):
        if not number.is_number or unit.key not in rivals():
            continue
        followers = {
            passage.words[position + 1].key
            for passage in contexts
            for position in passage.places.get(number.key, ())
            if position + 1 < len(passage.words)
        }
        if unit.key not in followers and followers & rivals()[unit.key]:
            return True
    return False


def _has_roles_exchanged(claim: Sequence[Word], sentence: Sequence[Word]) -> bool:
    """Whether two names stand the other way round about a word of theirs, in the same voice."""
    runs = list(names(claim, 0.0))
    places = {word.key: position for position, word in reversed(list(enumerate(sentence)))}
    for one, other in pairwise(runs):
        ours = [word for word in claim if one[-1].end < word.start and word.end < other[0].start]
        acts = {word.key for word in ours if weight(word.written) > _NAME_WEIGHT}
        first, second = places.get(one[-1].key), places.get(other[-1].key)
        if first is None or second is None or not acts or second > first:
            continue
        between = sentence[second + 1 : first]
        if not acts.isdisjoint(word.key for word in between) and _by(ours) == _by(between):
            return True
    return False


def _by(words: Sequence[Word]) -> bool:
    return any(word.written == "by" for word in words)
