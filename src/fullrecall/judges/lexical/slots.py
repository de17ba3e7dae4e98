"""A name in another's slot: the sentence that says what the claim does says it of someone else.

Every name of a claim may stand in the contexts and the claim be false all the same: "Clara founded
Altimar" where the text has "Boris founded Altimar. Clara taught him." So each name is looked for in
the sentences that cover the rest of the claim. If none of them has it, and the fullest has another
name beside the words that the claim has beside its own, the statement is about the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from fullrecall.judges.lexical.matching import Match, Sentence
from fullrecall.judges.lexical.passages import Passage
from fullrecall.judges.lexical.roles import capitalised_runs, names_in
from fullrecall.judges.words.frequencies import weight
from fullrecall.judges.words.tokens import Word, stem

_REST = 0.6  # of the claim's weight without the name, that a sentence covers to say the same
_LIKE = 0.8  # of what the fullest sentence covers, for another to say the same as well
_HELD = 0.5  # of the name's weight, for a sentence to have it
_APART = 1  # words that may stand between a name and the word beside it: "the", "Mr"
_NAME_LEAST, _FIRST_LEAST = 1.0, 2.0  # what a name's rarest word weighs; as a sentence's first word
_NEAR = 6  # words: two names so near each other somewhere may be one
_SAME = frozenset(
    map(stem, "or born aka known called named formerly nicknamed also as the".split())
)
_PLACES = 12  # of a word in a context

_Covered: TypeAlias = Mapping[Sentence, AbstractSet[int]]


def has_name_in_anothers_slot(claim: Passage, contexts: Sequence[Passage], found: Match) -> bool:
    """Whether what the claim says of a name, the contexts say of another one."""
    names = [
        (first, end)
        for first, end in names_in(claim.words, contexts)
        if max(word.weight for word in claim.words[first:end]) >= _NAME_LEAST
    ]
    if not names:
        return False
    unit_of = {unit.word.key: number for number, unit in enumerate(found.units)}
    covered = _covered(contexts, found)
    for first, end in names:
        name = claim.words[first:end]
        sentence = _says_it_without(frozenset(unit_of[word.key] for word in name), found, covered)
        if sentence is None:
            continue
        start, stop = contexts[sentence.context].sentences[sentence.number]
        other = _in_slot(claim.words, first, end, contexts[sentence.context].words[start:stop])
        if other and not _are_one(name, other, contexts):
            return True
    return False


def _covered(contexts: Sequence[Passage], found: Match) -> _Covered:
    """Return the units that each sentence has."""
    covered: defaultdict[Sentence, set[int]] = defaultdict(set)
    for context, places in enumerate(found.places):
        sentence_of = contexts[context].sentence_of
        for unit, positions in places.items():
            for position in positions:
                covered[Sentence(context, sentence_of[position])].add(unit)
    return covered


def _says_it_without(name: AbstractSet[int], found: Match, covered: _Covered) -> Sentence | None:
    """Return the sentence that covers most of the rest; None if one of those has the name."""
    weights = [unit.word.weight for unit in found.units]
    rest = sum(weights) - sum(weights[unit] for unit in name)
    shares = {
        sentence: sum(weights[unit] for unit in units - name) for sentence, units in covered.items()
    }
    fullest = max(shares.values(), default=0.0)
    if not rest or fullest < _REST * rest:
        return None
    least = _HELD * sum(weights[unit] for unit in name)
    saying = [sentence for sentence, share in shares.items() if share >= _LIKE * fullest]
    for sentence in saying:
        if sum(weights[unit] for unit in covered[sentence] & name) >= least:
            return None
    return min(saying, key=lambda sentence: (-shares[sentence], sentence))


def _in_slot(
    claim: Sequence[Word], first: int, end: int, sentence: Sequence[Word]
) -> Sequence[Word]:
    """Return the sentence's name beside the words that the claim has beside its own; or nothing."""
    from rapidfuzz.distance import LCSseq

    claimed = {word.key for word in claim}
    at = {
        block.src_start + step: block.dest_start + step
        for block in LCSseq.opcodes([w.key for w in claim], [w.key for w in sentence])
        if block.tag == "equal"
        for step in range(block.src_end - block.src_start)
    }
    after = max((there for mine, there in at.items() if mine < first), default=-1)
    before = min((there for mine, there in at.items() if mine >= end), default=len(sentence))
    for start, stop in capitalised_runs(sentence):
        if start <= after or stop > before:
            continue
        other = sentence[start:stop]
        least = _FIRST_LEAST if start == 0 and stop == 1 else _NAME_LEAST
        if any(word.key in claimed for word in other) or (
            max(weight(word.written) for word in other) < least
        ):
            continue
        follows = first - 1 in at and start - at[first - 1] - 1 <= _APART
        precedes = end in at and at[end] - stop <= _APART
        if follows or precedes:
            return other
    return ()


def _are_one(name: Sequence[Word], other: Sequence[Word], contexts: Sequence[Passage]) -> bool:
    """Whether two names may be of the same: an acronym, or said so in some context.

    "David Bowie (born David Jones)", "Holland or the Netherlands": nothing else is between them.
    """
    if _initials(name) == other[0].written or _initials(other) == name[0].written:
        return True
    mine, theirs = name[-1].key, other[-1].key
    return any(
        all(
            word.is_capitalised or word.is_number or word.key in _SAME
            for word in passage.words[min(at, there) + 1 : max(at, there)]
        )
        for passage in contexts
        for at in passage.places.get(mine, ())[:_PLACES]
        for there in passage.places.get(theirs, ())[:_PLACES]
        if abs(at - there) <= _NEAR and passage.sentence_of[at] == passage.sentence_of[there]
    )


def _initials(name: Sequence[Word]) -> str:
    return "".join(word.written[0] for word in name) if len(name) > 1 else ""
