"""BM25 by SQLite's full-text search, which comes with Python."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from fullrecall.demo.chunks import Chunk
from fullrecall.testset.vocabulary import STOP_WORDS, words

_WORD = re.compile(r"\w+")


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


def is_available() -> bool:
    """Return whether this Python's SQLite has full-text search."""
    try:
        FullTextSearch([])
    except sqlite3.OperationalError:
        return False
    return True
