"""How many of a question's words are its source's own: copied words favor lexical retrieval."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fullrecall.testset.vocabulary import content_words, words

REJECTED_RUN = 7
"""So many words in a row that stand in the source: 0 to 0.5 % of people's questions have them."""

_FLAGGED_RUN, _FLAGGED_SHARE = 5, 0.6

LONG_RUN, PEOPLES_SHARE = 6, 0.04
"""Of people's questions, at most this share has a run of so many words."""

# Measured with bench/testset_leak.py: the first three point at a text in so many
# words; people write such questions in at most 0.7 % of cases. The others are hints.
_POINTS = re.compile(
    r"\b(?:in|according to|from|by) (?:the|this|that) (?:given |above |provided )?"
    r"(?:text|passage|document|article|context|excerpt|paragraph|abstract|section)\b"
    r"|\bthis (?:study|paper|passage|text|document|article|excerpt|paper|section)\b"
    r"|\b(?:mentioned|described|discussed|stated|provided|presented|given) "
    r"(?:in|by) (?:the|this) (?:text|passage|document|article|context|excerpt|paragraph|section)\b"
    r"|\bthe (?:text|passage|excerpt|document) (?:say|state|mention|describe|discuss|provide)",
    re.IGNORECASE,
)
_HINTS = (
    (
        re.compile(r"\bthe (?:company|authors?|report|speaker|narrator)\b", re.IGNORECASE),
        "names no company, author or report",
    ),
    (re.compile(r"\bmentioned\b", re.IGNORECASE), "says mentioned"),
    (
        re.compile(r"^\W*(?:he|she|it|they|this|these|those|that)\b", re.IGNORECASE),
        "opens with a pronoun",
    ),
)


def longest_run(question: str, sources: Iterable[str]) -> tuple[str, ...]:
    """Return the longest run of words that the question shares with one of its sources."""
    question_words = words(question)
    best: tuple[str, ...] = ()
    for source in sources:
        text = f" {' '.join(words(source))} "
        start = 0
        for end in range(1, len(question_words) + 1):
            while start < end and f" {' '.join(question_words[start:end])} " not in text:
                start += 1
            if end - start > len(best):
                best = tuple(question_words[start:end])
    return best


def coverage(question: str, sources: Sequence[str]) -> float | None:
    """Return the share of the question's content words that its sources have, in [0, 1].

    None where the question has no content words.
    """
    question_stems = set(content_words(question))
    if not question_stems:
        return None
    there = {word for source in sources for word in content_words(source)}
    return len(question_stems & there) / len(question_stems)


def is_flagged(question: str, run: int) -> bool:
    """Whether a copied run is long for this question, though not long enough to reject it."""
    return run >= _FLAGGED_RUN and run >= _FLAGGED_SHARE * len(words(question))


def pointing(question: str) -> str:
    """Return the words by which a question points at its source; empty where there are none."""
    match = _POINTS.search(question)
    return match[0] if match else ""


def hints(question: str) -> list[str]:
    """Return what may be unclear about a question that is read alone."""
    return [hint for pattern, hint in _HINTS if pattern.search(question)]


class Script(NamedTuple):
    """The script that most letters of a text are of; empty for a text without letters."""

    name: str
    share: float


def script(text: str) -> Script:
    """Return the script of a text and its share of the letters, in [0, 1]."""
    counts: Counter[str] = Counter()
    for character in text[:2_000]:
        if character.isalpha():
            counts[_script_of(character)] += 1
    if not counts:
        return Script("", 0.0)
    name, count = counts.most_common(1)[0]
    return Script(name, count / counts.total())


_ONE_SCRIPT = 0.7
"""A text is in a script if this share of its letters is."""


def other_script(question: str, text: str) -> str:
    """Return the scripts of a question and a text where they differ; empty where they do not."""
    theirs, own = script(text), script(question)
    if own.name and theirs.share >= _ONE_SCRIPT <= own.share and own.name != theirs.name:
        return f"{own.name.lower()}, not {theirs.name.lower()}"
    return ""


_JAPANESE = frozenset({"HIRAGANA", "KATAKANA", "CJK"})


def _script_of(character: str) -> str:
    if character.isascii():
        return "LATIN"
    name = unicodedata.name(character, "?").split()[0]
    return "CJK" if name in _JAPANESE else name
