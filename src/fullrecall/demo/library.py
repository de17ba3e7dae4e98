"""The help pages of an invented town's library, with judged questions, and a full-text search.

166 pages answer sixty questions; three more questions have no answer. All texts were written for
this project.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall._util.data import lines
from fullrecall._util.vocabulary import STOP_WORDS, words
from fullrecall.errors import ParameterError
from fullrecall.samples.corpus import Document

if TYPE_CHECKING:
    from fullrecall.samples.sample import Sample


def library_pages() -> tuple[Document, ...]:
    """Return the pages, with IDs such as "returns/late-fees"; each text begins with a title."""
    return tuple(
        Document(page["id"], f"{page['title']}\n\n{page['text']}") for page in _rows("documents")
    )


def library_questions() -> tuple[Sample, ...]:
    """Return the questions, each with the IDs of the pages that answer it.

    The metadata of each question has its "kind".
    """
    from fullrecall.files.frames import from_rows

    return tuple(from_rows(_rows("questions")))


def _rows(name: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, lines(f"showcase/{name}.jsonl", "fullrecall.demo"))


CHUNK_SIZE = 400
_BREAKS = re.compile(r"\n\s*\n|\n|\s")
_WORD = re.compile(r"\w+")


class Chunk(NamedTuple):
    """A piece of a document, and the document's ID."""

    source: str
    text: str


def chunked(documents: Iterable[Document]) -> list[Chunk]:
    """Return the documents in chunks of at most 400 characters, in order."""
    return [Chunk(each.id, piece) for each in documents for piece in _pieces(each.text)]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces of at most `CHUNK_SIZE` characters.

    Each piece ends at the strongest break in its second half: a blank line, the end of a line, or
    else a space.
    """
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
    """Returns the chunks with the highest BM25 score by SQLite, as (id, text, score).

    Raises `ParameterError` if Python's SQLite has no full-text search.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        # One query at a time: `evaluate` calls a retriever in several threads, and since Python
        # 3.12 threads that share a connection mix up their rows.
        self._lock = Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            self._database.execute(
                "create virtual table chunks using fts5(source unindexed, body, tokenize='porter')"
            )
        except sqlite3.OperationalError:
            self._database.close()
            problem = "this Python's SQLite has no full-text search (FTS5): use another"
            raise ParameterError(problem) from None
        self._database.executemany("insert into chunks values (?, ?)", chunks)

    def __call__(self, question: str, k: int) -> list[tuple[str, str, float]]:
        """Return up to `k` chunks, those with the highest scores for the words of the question.

        Stop words are left out. A question without other words gets no chunks.
        """
        terms = [
            part
            for word in words(question)
            if word not in STOP_WORDS
            for part in _WORD.findall(word)
        ]
        if not terms:
            return []
        # Put words in quotes, since FTS5 reads AND, OR, NOT and NEAR as operators. SQLite's rank is
        # lower for better chunks, so the score is -rank; equal scores keep the order of the chunks.
        with self._lock:
            return self._database.execute(
                "select source, body, -rank from chunks where chunks match ? "
                "order by rank, rowid limit ?",
                (" OR ".join(f'"{word}"' for word in dict.fromkeys(terms)), k),
            ).fetchall()
