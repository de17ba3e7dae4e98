"""What the demo searches, and by what: chunks of documents, by SQLite's BM25 and by trigrams."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fullrecall.caches import remembered_words
from fullrecall.testset.vocabulary import STOP_WORDS, words

if TYPE_CHECKING:
    from fullrecall.corpus import Document

CHUNK_SIZE = 400
_BREAKS = re.compile(r"\n\s*\n|\n|\s")
_WORD = re.compile(r"\w+")


class Chunk(NamedTuple):
    """A piece of a document: the document's ID, the piece, and its number within the document."""

    source: str
    text: str
    number: int


def chunked(documents: Iterable[Document]) -> list[Chunk]:
    """Return the documents in chunks of at most 400 characters, in order."""
    return [
        Chunk(document.id, text, number)
        for document in documents
        for number, text in enumerate(_pieces(document.text))
    ]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces; each ends at the strongest break in its second half."""
    rest = text.strip()
    while len(rest) > CHUNK_SIZE:
        breaks = [
            (len(gap[0].strip(" ")), gap.start())
            for gap in _BREAKS.finditer(rest, CHUNK_SIZE // 2, CHUNK_SIZE + 1)
        ]
        _, end = max(breaks, default=(0, CHUNK_SIZE))
        yield rest[:end].strip()
        rest = rest[end:].strip()
    if rest:
        yield rest


class FullTextSearch:
    """Returns the chunks with the highest BM25 score as (id, text, score), as SQLite has them."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            "create virtual table chunks using fts5(source unindexed, body, tokenize='porter')"
        )
        rows = [(chunk.source, chunk.text) for chunk in chunks]
        self._database.executemany("insert into chunks values (?, ?)", rows)

    def __call__(self, question: str, k: int) -> list[tuple[str, str, float]]:
        """Return the `k` chunks that share most weight of words with the question."""
        terms = [
            part
            for word in words(question)
            if word not in STOP_WORDS
            for part in _WORD.findall(word)
        ]
        if not terms:
            return []
        # SQLite's scores are the lower the better; equal ones keep the order of the chunks.
        return self._database.execute(
            "select source, body, -rank from chunks where chunks match ? "
            "order by rank, rowid limit ?",
            (" OR ".join(f'"{word}"' for word in dict.fromkeys(terms)), k),
        ).fetchall()


def has_full_text() -> bool:
    """Return whether this Python's SQLite has full-text search."""
    try:
        FullTextSearch([])
    except sqlite3.OperationalError:
        return False
    return True


class TrigramSearch:
    """Returns the chunks whose trigrams are most like those of the question, by their cosine."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        counts = [trigrams(chunk.text) for chunk in chunks]
        document_counts = Counter(gram for count in counts for gram in count)
        self._numbers = {gram: number for number, gram in enumerate(document_counts)}
        weights = (
            np.log((1 + len(chunks)) / (1 + np.array([*document_counts.values()], dtype=float))) + 1
        )
        sizes = np.array([*map(len, counts)])
        grams = np.fromiter((self._numbers[g] for c in counts for g in c), int, sizes.sum())
        times = np.fromiter((n for c in counts for n in c.values()), float, sizes.sum())
        holders = np.repeat(np.arange(len(chunks)), sizes)
        values = (1 + np.log(times)) * weights[grams]
        lengths = np.sqrt(np.bincount(holders, values**2, len(chunks)))
        order = np.argsort(grams, kind="stable")
        self._weights = weights
        self._holders, self._values = holders[order], (values / lengths[holders])[order]
        self._starts = np.searchsorted(grams[order], np.arange(len(document_counts) + 1))

    def __call__(self, question: str, k: int) -> list[dict[str, object]]:
        """Return the `k` chunks that are most alike, the most alike first."""
        alike = self.similarities(question)
        best = np.argsort(-alike, kind="stable")[:k]
        return [
            {
                "id": self._chunks[position].source,
                "text": self._chunks[position].text,
                "score": float(alike[position]),
            }
            for position in best
            if alike[position] > 0
        ]

    def similarities(self, question: str) -> NDArray[np.float64]:
        """Return the cosine of a question with each chunk, in [0, 1]."""
        sums = np.zeros(len(self._chunks))
        counts = {g: n for g, n in trigrams(question).items() if g in self._numbers}
        square = 0.0
        for gram, times in counts.items():
            number = self._numbers[gram]
            weight = (1 + np.log(times)) * self._weights[number]
            square += weight**2
            part = slice(self._starts[number], self._starts[number + 1])
            sums[self._holders[part]] += weight * self._values[part]
        return sums / np.sqrt(square) if square else sums


def trigrams(text: str) -> Counter[str]:
    """Return how often each trigram stands in the words of a text that are not stop words."""
    counts: Counter[str] = Counter()
    for word in words(text):
        if word not in STOP_WORDS:
            counts.update(_of_word(word))
    return counts


@remembered_words(100_000)
def _of_word(word: str) -> tuple[str, ...]:
    padded = f" {word} "
    return tuple(padded[position : position + 3] for position in range(len(padded) - 2))
