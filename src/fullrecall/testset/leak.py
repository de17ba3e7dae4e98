"""How many of a question's words are its source's own: copied words favor lexical retrieval."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from fullrecall.testset.vocabulary import content_words, words

REJECTED_RUN = 7
"""So many words in a row that stand in the source: 0 to 0.5 % of people's questions have them."""

LONG_RUN, PEOPLES_SHARE = 6, 0.04
"""Of people's questions, at most this share has a run of so many words."""

# Measured with bench/testset_leak.py: the first three point at a text in so many
# words; people write such questions in at most 0.7 % of cases.
_POINTS = re.compile(
    r"\b(?:in|according to|from|by) (?:the|this|that) (?:given |above |provided )?"
    r"(?:text|passage|document|article|context|excerpt|paragraph|abstract|section)\b"
    r"|\bthis (?:study|paper|passage|text|document|article|excerpt|paper|section)\b"
    r"|\b(?:mentioned|described|discussed|stated|provided|presented|given) "
    r"(?:in|by) (?:the|this) (?:text|passage|document|article|context|excerpt|paragraph|section)\b"
    r"|\bthe (?:text|passage|excerpt|document) (?:say|state|mention|describe|discuss|provide)",
    re.IGNORECASE,
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


def pointing(question: str) -> str:
    """Return the words by which a question points at its source; empty where there are none."""
    match = _POINTS.search(question)
    return match[0] if match else ""


_ONE_SCRIPT = 0.7
"""A text is in a script if this share of its letters is."""


def script(text: str) -> str:
    """Return the script of most letters of a text; empty where none has most of them."""
    letters = [character for character in text[:2_000] if character.isalpha()]
    counts = Counter(map(_script_of, letters)).most_common(1)
    return next((name for name, count in counts if count >= _ONE_SCRIPT * len(letters)), "")


def other_script(question: str, text: str) -> str:
    """Return the scripts of a question and a text where they differ; empty where they do not."""
    own, theirs = script(question), script(text)
    return f"{own.lower()}, not {theirs.lower()}" if own and theirs and own != theirs else ""


_JAPANESE = frozenset({"HIRAGANA", "KATAKANA", "CJK"})


def _script_of(character: str) -> str:
    if character.isascii():
        return "LATIN"
    name = unicodedata.name(character, "?").split()[0]
    return "CJK" if name in _JAPANESE else name
