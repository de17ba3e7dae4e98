"""Are claims all of a text and nothing else? What a machine can refuse without a model.

Whoever lists the claims of a reference beside the contexts that they are judged by could choose
the denominator: leave out what the contexts lack, or say twice what they have. So each claim
names the words of the text that it is taken from, and each content word of the text belongs to a
claim that is taken from there. A list that is refused wrongly costs a request; none is repaired.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from fullrecall.judges.bearing import bears, content_words, is_denial
from fullrecall.judges.evidence import Folded, Location, locate
from fullrecall.judges.lexical.words import Word, alike
from fullrecall.judges.sentences import is_heading

_CONNECTIVES = frozenset(
    "however therefore thus hence moreover furthermore additionally also besides meanwhile "
    "otherwise respectively consequently accordingly finally firstly secondly namely".split()
)
"""Words that tie sentences together: claims stand alone."""

_MAY_ADD = 4
"""Words of the text in a claim that it takes for one other, such as "located"."""

_SEGMENT = re.compile(r"[^\n.!?。！？]*(?:[\n!?。！？]|\.(?=\s|$)|\.|$)+")  # noqa: RUF001
_PAIR = 2  # characters, of a script without spaces


class Claimed(NamedTuple):
    """A claim, and the words of the text that it is taken from, as whoever lists them says.

    An ellipsis in the source stands for all that is between its first words and its last.
    """

    claim: str
    source: str


def fault(listed: Sequence[Claimed], text: str, question: str | None = None) -> str:
    """Return why the claims are not all of the text and nothing else; empty where they are.

    `question` is what the text answers: a claim may have its words.
    """
    folded = Folded(text)
    told = _Keys([*content_words(text), *content_words(question or "")])
    taken: list[_Taken] = []
    for number, (claim, source) in enumerate(listed, start=1):
        stands = locate(source, folded)
        if stands is None:
            return f"claim {number} names words that the text does not have: {source[:60]!r}"
        one = _Taken(claim, stands)
        problem = _invented(one, text, told)
        if problem:
            return f"claim {number} {problem}"
        for other, before in enumerate(taken, start=1):
            if one.repeats(before):
                return f"claims {other} and {number} say the same"
        taken.append(one)
    return _omitted(taken, text)


class _Keys:
    """The content words of a text, to look others up in."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.exact = frozenset(word.key for word in words)
        self._long = [key for key in self.exact if key[0] != "#"]
        self._written = "".join(word.written for word in words)

    def has(self, word: Word) -> bool:
        """Whether a word is there, if in another form; a number must be the same."""
        if word.key in self.exact:
            return True
        if word.is_number:
            return False
        written = word.written
        if len(written) == _PAIR and not written.isascii():  # of a script without spaces
            return all(character in self._written for character in written)
        return any(alike(word.key, key) for key in self._long)


class _Taken:
    """A claim, and where in the text it is taken from."""

    def __init__(self, claim: str, stands: Location) -> None:
        self.claim = claim
        self.stands = stands
        self.words = content_words(claim)
        self.keys = _Keys(self.words)

    def covers(self, word: Word) -> bool:
        """Whether a word of the text stands where the claim is taken from, and in the claim."""
        there = self.stands.start <= word.start and word.end <= self.stands.end
        return there and self.keys.has(word)

    def repeats(self, other: _Taken) -> bool:
        """Whether both say the same, or one says less of the same part of the text."""
        mine, its = self.keys.exact, other.keys.exact
        if is_denial(self.claim) != is_denial(other.claim):
            return False
        if mine == its:
            return True
        overlap = self.stands.start < other.stands.end and other.stands.start < self.stands.end
        return overlap and (mine < its or its < mine)


def _invented(one: _Taken, text: str, told: _Keys) -> str:
    """Return what a claim has that the text has not; empty where it has nothing."""
    if not one.words:
        return "says nothing"
    new = [word for word in one.words if not told.has(word)]
    for word in new:
        if word.is_number or (word.is_capitalised and word.start):
            return f"has {one.claim[word.start : word.end]!r}, which the text does not have"
    if len(new) * _MAY_ADD > len(one.words) - len(new):
        added = ", ".join(repr(word.written) for word in new)
        return f"adds {added}"
    if not bears(one.claim, text, [one.stands]):
        return "is not what its words in the text say"
    if is_denial(one.claim) and not is_denial(_around(one.stands, text)):
        return "denies what the text does not deny"
    return ""


def _omitted(taken: Collection[_Taken], text: str) -> str:
    """Return what of the text is in no claim; empty where nothing is."""
    words = content_words(text)
    for match in _SEGMENT.finditer(text):
        if not match[0].strip() or is_heading(match[0].strip()):
            continue
        for word in words:
            if not match.start() <= word.start < match.end() or word.written in _CONNECTIVES:
                continue
            if not any(one.covers(word) for one in taken):
                return f"no claim has {text[word.start : word.end]!r} of {match[0].strip()[:60]!r}"
    return ""


def _around(part: Location, text: str) -> str:
    """Return the sentences of the text that a part stands in."""
    stands = (match for match in _SEGMENT.finditer(text) if match.end() > part.start)
    return "".join(match[0] for match in stands if match.start() < part.end)
