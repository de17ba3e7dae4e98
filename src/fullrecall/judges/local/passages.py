"""A text read once: its words, its sentences, and an index from word to places."""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from threading import Lock
from typing import NamedTuple

from fullrecall.judges.words.tokens import Word, read_words

# A sentence ends at . ! ? before a space and what can begin one; at the stops of scripts that
# leave no space; at a blank line or a line break.
_BOUNDARY = re.compile(
    r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[^\W_a-z])"  # noqa: RUF001
    r"|(?<=[。！？।؟])|\n+"  # noqa: RUF001
)
_LONGEST_SENTENCE = 60  # words; a longer stretch without a stop (a table, a list) is cut
_SHORTEST_ACRONYM, _LONGEST_ACRONYM = 2, 5
PREFIX = 5  # letters by which words that begin alike are looked up


class Passage(NamedTuple):
    """A text, read."""

    text: str
    words: tuple[Word, ...]
    sentence_of: tuple[int, ...]  # for each word
    sentences: tuple[tuple[int, int], ...]  # of each sentence: first word, past its last word
    places: dict[str, tuple[int, ...]]  # key to word positions
    beginnings: dict[str, tuple[str, ...]]  # first letters to the longer keys that have them
    acronyms: dict[str, int]  # initials of runs of capitalised words, to the run's position

    def sentence(self, number: int) -> str:
        """Return a sentence's text, without what follows its last word."""
        first, last = self.sentences[number]
        return self.text[self.words[first].start : self.words[last - 1].end]


def read_passage(text: str) -> Passage:
    """Read a text."""
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
    places: defaultdict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(words):
        places[word.key].append(position)
    beginnings: defaultdict[str, list[str]] = defaultdict(list)
    for key in places:
        if len(key) >= PREFIX:
            beginnings[key[:PREFIX]].append(key)
    return Passage(
        text,
        words,
        tuple(sentence_of),
        tuple(sentences),
        {key: tuple(positions) for key, positions in places.items()},
        {start: tuple(found) for start, found in beginnings.items()},
        _acronyms(words),
    )


def _acronyms(words: tuple[Word, ...]) -> dict[str, int]:
    """Return the initials of each run of two to five capitalised words: United States is us."""
    found: dict[str, int] = {}
    run: list[int] = []
    for position, word in enumerate(words):
        if word.is_capitalised and (not run or word.start - words[run[-1]].end == 1):
            run.append(position)
            continue
        _add_acronym(words, run, found)
        run = [position] if word.is_capitalised else []
    _add_acronym(words, run, found)
    return found


def _add_acronym(words: tuple[Word, ...], run: list[int], found: dict[str, int]) -> None:
    if _SHORTEST_ACRONYM <= len(run) <= _LONGEST_ACRONYM:
        found.setdefault("".join(words[position].written[0] for position in run), run[0])


class Reader:
    """Reads texts and keeps the last ones read, since a context is judged for many claims.

    At most `limit` characters of text are kept, so that memory stays bounded however long the
    contexts are. Threads may share a reader.
    """

    def __init__(self, limit: int = 2_000_000) -> None:
        self.limit = limit
        self._kept: OrderedDict[str, Passage] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def read(self, text: str) -> Passage:
        """Return the text, read; from memory when it was read lately."""
        with self._lock:
            passage = self._kept.get(text)
            if passage is not None:
                self._kept.move_to_end(text)
                return passage
        passage = read_passage(text)
        with self._lock:
            if text not in self._kept:
                self._kept[text] = passage
                self._characters += len(text)
            while self._characters > self.limit and len(self._kept) > 1:
                dropped, _ = self._kept.popitem(last=False)
                self._characters -= len(dropped)
        return passage
