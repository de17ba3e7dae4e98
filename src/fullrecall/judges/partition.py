"""Are claims all of a text and nothing else? What a machine can refuse without a model.

Whoever lists the claims of a reference beside the contexts that they are judged by could choose
the denominator: leave out what the contexts lack, or say twice what they have. So each claim is
matched with the sentence of the text that it says most of, and each content word of a sentence
belongs to a claim of its own. A list that is refused wrongly costs a request; none is repaired.
"""

from __future__ import annotations

from collections.abc import Sequence

from fullrecall.judges.bearing import content_keys, content_words, objection
from fullrecall.judges.evidence import Location
from fullrecall.judges.sentences import located_parts, omitted
from fullrecall.judges.words.data import word_set
from fullrecall.judges.words.negations import denies
from fullrecall.judges.words.tokens import Word, alike

_CONNECTIVES = word_set("connectives")
"""Words that tie sentences together: claims stand alone."""

_MAY_ADD = 4
"""Words of the text in a claim that it takes for one other, such as "located"."""

_PAIR = 2  # characters, of a script without spaces


def fault(claims: Sequence[str], text: str, question: str | None = None) -> str:
    """Return why the claims are not all of the text and nothing else; empty where they are.

    `question` is what the text answers: a claim may have its words.
    """
    text_keys = _Keys([*content_words(text), *content_words(question or "")])
    parts = _sentences(text)
    for number, claim in enumerate(claims, start=1):
        words = content_words(claim)
        if not words:
            return f"claim {number} says nothing"
        sentence = max(parts, key=lambda part: part.shares(words), default=None)
        problem = (
            "has no sentence" if sentence is None else _invented(claim, sentence, text, text_keys)
        )
        if problem or sentence is None:
            return f"claim {number} {problem}"
        if not sentence.shares(words)[1] or any(
            _is_repeated(claim, sentence, other, part) for part in parts for other in part.claims
        ):
            return f"claim {number} repeats another"
        sentence.claims.append(claim)
    return next(filter(None, (part.omitted(text) for part in parts)), "")


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


class _Sentence:
    """A sentence of the text, and the claims that are taken from it."""

    def __init__(self, words: Sequence[Word], stands: Location) -> None:
        self.words = words
        self.stands = stands
        self.claims: list[str] = []
        self._keys = _Keys(words)

    def shares(self, words: Sequence[Word]) -> tuple[int, int]:
        """Return how many words of a claim are here, and of these how many no claim has yet.

        Of sentences that are alike, the claim is of the one that still lacks it.
        """
        there = [word for word in words if self._keys.has(word)]
        claim_keys = [_Keys(content_words(claim)) for claim in self.claims]
        return len(there), sum(not any(keys.has(word) for keys in claim_keys) for word in there)

    def says(self, claim: str) -> bool:
        """Whether it has all the words of a claim."""
        return all(self._keys.has(word) for word in content_words(claim))

    def omitted(self, text: str) -> str:
        """Return which of its words is in no claim of its own; empty where none is."""
        claim_keys = [_Keys(content_words(claim)) for claim in self.claims]
        for word in self.words:
            if word.written not in _CONNECTIVES and not any(keys.has(word) for keys in claim_keys):
                beginning = text[self.stands.start : self.stands.end].strip()[:60]
                return f"no claim has {text[word.start : word.end]!r} of {beginning!r}"
        return ""


def _is_repeated(claim: str, sentence: _Sentence, other: str, part: _Sentence) -> bool:
    """Whether one of two claims says no more than the other, and no sentence says it by itself."""
    mine, its = content_keys(claim), content_keys(other)
    if denies(claim) != denies(other) or not (mine <= its or its <= mine):
        return False
    less, stands = (claim, sentence) if mine <= its else (other, part)
    return sentence is part or not stands.says(less)


def _sentences(text: str) -> list[_Sentence]:
    """Return the sentences of a text that state something: no heading, no question."""
    words = content_words(text)
    silent = set(omitted(text))
    stating = []
    for part, start, end in located_parts(text):
        own = [word for word in words if start <= word.start < end]
        if own and part not in silent:
            stating.append(_Sentence(own, Location(start, end, 1.0)))
    return stating


def _invented(claim: str, sentence: _Sentence, text: str, text_keys: _Keys) -> str:
    """Return what a claim has that the text has not; empty where it has nothing."""
    words = content_words(claim)
    new = [word for word in words if not text_keys.has(word)]
    for word in new:
        if word.is_number or (word.is_capitalised and word.start):
            return f"has {claim[word.start : word.end]!r}, which the text does not have"
    if len(new) * _MAY_ADD > len(words) - len(new):
        added = ", ".join(repr(word.written) for word in new)
        return f"adds {added}"
    if objection(claim, text, [sentence.stands]):
        return "is not what its sentence says"
    if denies(claim) and not denies(text[sentence.stands.start : sentence.stands.end]):
        return "denies what the text does not deny"
    return ""
