"""Details that decide: a claim that differs from its contexts in one of them is not supported.

A regression weighs a hundred words that fit against one that does not. These rules do not weigh:
each names what a claim says that no context does, though a context says the like. Most compare the
claim with the sentence that covers most of it, aligned by their longest common subsequence: what
the claim has *in place of* something else is another detail, what it merely adds may be a
paraphrase. Which rules there are, and how strictly they look, was settled on labeled claims
(`tests/benchmarks/README.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from fullrecall.judges.lexical.matching import Match
from fullrecall.judges.lexical.passages import Passage
from fullrecall.judges.lexical.quantities import has_absent_number, may_stand_for, values
from fullrecall.judges.lexical.roles import capitalised_runs, has_roles_exchanged
from fullrecall.judges.lexical.slots import has_name_in_anothers_slot
from fullrecall.judges.words.frequencies import weight, zipf_frequencies
from fullrecall.judges.words.opposites import is_denied_form, opposites, rivals
from fullrecall.judges.words.tokens import Word, stem

_ABOUT = 0.3  # of the claim's weight that one sentence covers, to be about the same
_CLOSE = 0.5  # of it, to say the like
_NAME_WEIGHT = 0.5  # a capitalised word that weighs less is a function word
_NAME_LEAST = 2.0  # what a name's rarest word weighs
_AUXILIARIES = frozenset(map(stem, "be have do can could will would may must should".split()))
_DENIALS = frozenset("not no never none nor neither cannot nobody nothing nowhere".split())
_AFTER_DENIAL = frozenset(map(stem, "only just necessarily merely".split()))  # not only: no denial
_BEFORE_DENIAL = frozenset("if or whether why".split())
_ABBREVIATED = 3  # letters
_LONG = 6  # letters of a word, for what is left of it without a prefix to be one: not "dis-cover"
_NUMBER_GAP, _WORD_GAP = 3, 4  # words of the sentence that may stand in place of one of the claim


def veto(claim: Passage, contexts: Sequence[Passage], found: Match) -> str:
    """Return the kind of detail in which the claim differs; empty where it differs in none."""
    if has_absent_number(claim, contexts, found):
        return "number"
    if found.best is None or found.windows[0] < _ABOUT * found.total:
        return ""
    aligned = _Aligned(claim, contexts, found)
    return next((kind for kind, differs in _RULES.items() if differs(aligned)), "")


class _Aligned:
    """A claim beside the sentence that covers most of it."""

    def __init__(self, claim: Passage, contexts: Sequence[Passage], found: Match) -> None:
        assert found.best is not None  # noqa: S101 - asked only where something was found
        self.passage, self.contexts, self.found = claim, contexts, found
        self.claim = claim.words
        passage, number = contexts[found.best.context], found.best.number
        first, last = passage.sentences[number]
        self.sentence = passage.words[first:last]
        before = passage.sentences[max(0, number - 1)][0]
        after = passage.sentences[min(len(passage.sentences) - 1, number + 1)][1]
        self.window = passage.words[before:after]
        self.claimed = frozenset(word.key for word in claim.words)
        self.there = frozenset(word.key for word in self.sentence)

    @cached_property
    def _blocks(self) -> list[tuple[int, int, int]]:
        """Where both have the same words in the same order: claim's first and end, sentence's."""
        from rapidfuzz.distance import LCSseq

        ours = [word.key for word in self.claim]
        theirs = [word.key for word in self.sentence]
        return [
            (block.src_start, block.src_end, block.dest_start)
            for block in LCSseq.opcodes(ours, theirs)
            if block.tag == "equal"
        ]

    def in_place_of(self, first: int, end: int) -> Sequence[Word]:
        """Return what the sentence has between the words aligned before and after the claim's."""
        start, stop = 0, len(self.sentence)
        for src_start, src_end, dest_start in self._blocks:
            if src_start < first:
                start = max(start, dest_start + min(first, src_end) - src_start)
            if src_end > end:
                stop = min(stop, dest_start + max(0, end - src_start))
        return self.sentence[start:stop]


def _is_denied(aligned: _Aligned) -> bool:
    """Whether one of the two denies what the other states."""
    if _denies(aligned.claim):
        is_close = aligned.found.windows[0] >= _CLOSE * aligned.found.total
        nearby = aligned.sentence if is_close else aligned.window
        return not any(word.is_negation for word in nearby)
    return not any(word.is_negation for word in aligned.claim) and _denies_the_same(
        aligned.sentence, aligned.claim
    )


def _denies(words: Sequence[Word]) -> bool:
    """Whether there is a plain denial: "without" or "failed" may say the same in other words."""
    return any(
        word.key in _DENIALS
        and (position + 1 == len(words) or words[position + 1].key not in _AFTER_DENIAL)
        and (position == 0 or words[position - 1].key not in _BEFORE_DENIAL)
        for position, word in enumerate(words)
    )


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


def _has_other_name(aligned: _Aligned) -> bool:
    """Whether the sentence has another name in place of one that stands in no context."""
    found = aligned.found
    credit = {unit.word.key: got for unit, got in zip(found.units, found.found, strict=True)}
    for first, end in names(aligned.claim):
        name = aligned.claim[first:end]
        missing = sum(word.weight for word in name if not credit[word.key])
        if missing <= sum(word.weight for word in name) / 2:
            continue
        if any(_may_be_name(word, aligned) for word in aligned.in_place_of(first, end)):
            return True
    return False


def _may_be_name(word: Word, aligned: _Aligned) -> bool:
    if not word.is_capitalised or word.is_number or word.key in aligned.claimed:
        return False
    least = _NAME_LEAST if word is aligned.sentence[0] else _NAME_WEIGHT
    return weight(word.written) > least


def names(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Yield where names stand: capitalised words, of which the first only in a run, or if rare.

    Abbreviations are none: "the UK" need not stand where its parts do.
    """
    for first, end in capitalised_runs(words):
        run = words[first:end]
        longest = 1 if len(run) > 1 else _ABBREVIATED
        if all(len(word.written) <= longest for word in run):
            continue
        if len(run) == 1 and first == 0:
            if run[0].written not in zipf_frequencies():
                yield first, end
        elif max(weight(word.written) for word in run) >= (_NAME_LEAST if len(run) == 1 else 1):
            yield first, end


def _has_other_number(aligned: _Aligned) -> bool:
    """Whether the sentence has another number in place of one of the claim's."""
    for position, word in enumerate(aligned.claim):
        if not word.is_number or word.key in aligned.there:
            continue
        instead = aligned.in_place_of(position, position + 1)
        if (
            len(instead) <= _NUMBER_GAP
            and any(other.is_number and other.key not in aligned.claimed for other in instead)
            and not may_stand_for(aligned.claim, position, values(aligned.sentence))
        ):
            return True
    return False


def _has_rival(aligned: _Aligned) -> bool:
    """Whether the sentence has a word's opposite, or another of its kind, in its place."""
    for position, word in enumerate(aligned.claim):
        if word.key in aligned.there:
            continue
        against = rivals().get(word.key, frozenset()) | opposites().get(word.key, frozenset())
        if not against:
            continue
        instead = aligned.in_place_of(position, position + 1)
        if len(instead) <= _WORD_GAP and any(
            other.key in against and other.key not in aligned.claimed for other in instead
        ):
            return True
    return False


def _has_denied_form(aligned: _Aligned) -> bool:
    """Whether the sentence denies a word of the claim, or states one that it denies: un-certain."""
    found = aligned.found
    return any(
        not got and len(unit.word.key) >= _LONG and is_denied_form(unit.word.key, aligned.there)
        for unit, got in zip(found.units, found.found, strict=True)
    )


def _has_other_unit(aligned: _Aligned) -> bool:
    """Whether a number of the claim has another unit of the same kind wherever it stands."""
    for number, unit in pairwise(aligned.claim):
        if not number.is_number or unit.key not in rivals():
            continue
        followers = {
            passage.words[position + 1].key
            for passage in aligned.contexts
            for position in passage.places.get(number.key, ())
            if position + 1 < len(passage.words)
        }
        if unit.key not in followers and followers & rivals()[unit.key]:
            return True
    return False


def _has_roles_exchanged(aligned: _Aligned) -> bool:
    return has_roles_exchanged(aligned.passage, aligned.contexts)


def _has_name_in_anothers_slot(aligned: _Aligned) -> bool:
    return has_name_in_anothers_slot(aligned.passage, aligned.contexts, aligned.found)


_RULES: Mapping[str, Callable[[_Aligned], bool]] = {
    "negation": _is_denied,
    "role": _has_roles_exchanged,
    "name": _has_other_name,
    "confusion": _has_name_in_anothers_slot,
    "number": _has_other_number,
    "word": _has_rival,
    "prefix": _has_denied_form,
    "unit": _has_other_unit,
}
