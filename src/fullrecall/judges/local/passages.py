"""A text read once: its words, its sentences, and an index from word to positions."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

from fullrecall.caches import remembered
from fullrecall.judges.words.tokens import Word, read_words

# A sentence ends at . ! ? before a space and what can begin one; at the stops of scripts that
# leave no space; at a blank line or a line break.
_BOUNDARY = re.compile(
    r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[^\W_a-z])"  # noqa: RUF001
    r"|(?<=[。！？।؟])|\n+"  # noqa: RUF001
)
_LONGEST_SENTENCE = 60  # words; a longer stretch without a stop (a table, a list) is cut
PREFIX = 5  # letters by which words that begin alike are looked up


class Passage(NamedTuple):
    """A text, read."""

    text: str
    words: tuple[Word, ...]
    sentence_of: tuple[int, ...]  # for each word
    sentences: tuple[tuple[int, int], ...]  # of each sentence: first word, past its last word
    places: dict[str, tuple[int, ...]]  # key to word positions
    beginnings: dict[str, tuple[str, ...]]  # first letters to the longer keys that have them

    def sentence(self, number: int) -> str:
        """Return a sentence's text, without what follows its last word."""
        first, last = self.sentences[number]
        return self.text[self.words[first].start : self.words[last - 1].end]


@remembered(1_000_000)  # a context is judged for many claims
def read_passage(text: str) -> Passage:
    """Return a text, read."""
    words = tuple(read_words(text))
    cuts = [match.end() for match in _BOUNDARY.finditer(text)]
    cuts.append(len(text) + 1)
    sentences: list[tuple[int, int]] = []
    sentence_of: list[int] = []
    cut = first = 0
    for position, word in enumerate(words):
        passed = False
        while word.start >= cuts[cut]:
            cut += 1
            passed = True
        if position > first and (passed or position - first >= _LONGEST_SENTENCE):
            sentences.append((first, position))
            first = position
        sentence_of.append(len(sentences))
    if words:
        sentences.append((first, len(words)))
    positions_of: defaultdict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(words):
        positions_of[word.key].append(position)
    beginnings: defaultdict[str, list[str]] = defaultdict(list)
    for key in positions_of:
        if len(key) >= PREFIX:
            beginnings[key[:PREFIX]].append(key)
    return Passage(
        text,
        words,
        tuple(sentence_of),
        tuple(sentences),
        {key: tuple(positions) for key, positions in positions_of.items()},
        {start: tuple(keys) for start, keys in beginnings.items()},
    )
