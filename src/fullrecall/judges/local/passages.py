"""A text read once: its words, its sentences, and an index from word to positions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
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


class Passage(NamedTuple):
    """A text, read."""

    text: str
    words: tuple[Word, ...]
    sentence_of: tuple[int, ...]  # for each word
    sentences: tuple[tuple[int, int], ...]  # of each sentence: first word, past its last word
    places: Mapping[str, Sequence[int]]  # key to word positions

    def sentence(self, number: int) -> str:
        """Return a sentence's text, without what follows its last word."""
        first, last = self.sentences[number]
        return self.text[self.words[first].start : self.words[last - 1].end]


@remembered(1_000_000)  # a context is judged for many claims
def read_passage(text: str) -> Passage:
    """Return a text, read."""
    words = tuple(read_words(text))
    cuts = [match.end() for match in _BOUNDARY.finditer(text)]
    firsts: list[int] = []  # of each sentence: its first word
    sentence_of: list[int] = []
    positions_of: defaultdict[str, list[int]] = defaultdict(list)
    passed = 0
    for position, word in enumerate(words):
        # Words and cuts both ascend: the search goes on where it stood.
        passed, before = bisect_right(cuts, word.start, lo=passed), passed
        if not firsts or passed > before or position - firsts[-1] >= _LONGEST_SENTENCE:
            firsts.append(position)
        sentence_of.append(len(firsts) - 1)
        positions_of[word.key].append(position)
    sentences = tuple(pairwise([*firsts, len(words)]))
    return Passage(text, words, tuple(sentence_of), sentences, dict(positions_of))
