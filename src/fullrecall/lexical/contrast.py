"""Whether an English text states the opposite of a claim, or of some what the claim says of all."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from fullrecall._util.caches import remembered, remembered_words
from fullrecall.lexical.words.data import word_set
from fullrecall.lexical.words.frequencies import zipf_frequencies
from fullrecall.lexical.words.negations import denied_keys
from fullrecall.lexical.words.opposites import opposites
from fullrecall.lexical.words.tokens import Word, read_words, stem

_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis")
_LEAST = 4  # letters of a word that a prefix negates
_WITHIN = 3  # words on either side of an opposite of which one must be shared
_MOST = 60  # words of a claim that may have an opposite
_NOT = re.compile(r"\b(?:(?:does|do|did|is|are|was|were) )?not (?=\w)|n[o']t ", re.IGNORECASE)
_NOT_ALL = re.compile(r"\bnot (?:all|every|each)\b", re.IGNORECASE)


@remembered(200_000)
def words_of_text(text: str) -> tuple[Word, ...]:
    """Return the words of a text."""
    return tuple(read_words(text))


@remembered_words(65_536)
def opposite_keys(written: str) -> frozenset[str]:
    """Return the keys of a lower-case word's opposites: listed ones, and by a negating prefix."""
    keys = set(opposites().get(stem(written), ()))
    if written in word_set("not negated") or len(written) < _LEAST:
        return frozenset(keys)
    for prefix in _PREFIXES:
        rest = written.removeprefix(prefix)
        if rest == written:
            keys.add(stem(prefix + written))
        elif len(rest) >= _LEAST and (
            rest in zipf_frequencies() or stem(rest) in zipf_frequencies()
        ):
            keys.add(stem(rest))
    return frozenset(keys)


def states_opposite(claim: str, text: str) -> bool:
    """Whether an opposite of a word of the claim stands beside a word of the claim, undenied."""
    claimed, stated = words_of_text(claim), words_of_text(text)
    claim_keys, text_keys = {word.key for word in claimed}, {word.key for word in stated}
    denied = denied_keys(claim), denied_keys(text)
    lone = [word for word in claimed if word.key not in text_keys][:_MOST]
    return any(
        other.key in opposite_keys(word.written)
        and (word.key in denied[0]) == (other.key in denied[1])
        and bool(_neighbors(claimed, word) & _neighbors(stated, other))
        for word in lone
        for other in stated
        if other.key not in claim_keys
    )


def _neighbors(words: Sequence[Word], word: Word) -> set[str]:
    at = words.index(word)
    near = words[max(0, at - _WITHIN) : at + _WITHIN + 1]
    return {other.key for other in near if other is not word and other.tells}


def states_of_some(claim: str, text: str) -> bool:
    """Whether the claim speaks of all, or of none, and the text of some: half of, not all."""
    of_all = word_set("of all")
    if of_all.isdisjoint(word.written for word in words_of_text(claim)):
        return False
    rest, denied = _NOT_ALL.subn(" ", text)
    stated = {word.written for word in words_of_text(rest)}
    return of_all.isdisjoint(stated) and (denied > 0 or not stated.isdisjoint(word_set("of some")))


def in_words_of(claim: str, contexts: Collection[str]) -> str:
    """Return a claim with a negated opposite for a word that no context has: "not lazy", "eager".

    So "unavailable" and "not available" are one claim, and "does not include" and "excludes".
    """
    stated = {word.key: word for context in contexts for word in words_of_text(context)}
    denied, denied_there = denied_keys(claim), {k for text in contexts for k in denied_keys(text)}
    for word in words_of_text(claim)[:_MOST]:
        if word.key in stated or not word.tells:
            continue
        others = [stated[key] for key in opposite_keys(word.written) if key in stated]
        for other in others:
            before, after = claim[: word.start], claim[word.end :]
            if word.key in denied and other.key not in denied_there:
                return f"{_NOT.sub('', before)}{other.written}{after}"
            if word.key not in denied and other.key in denied_there:
                return f"{before}not {other.written}{after}"
    return claim
