"""The chunks that every retriever of the demo searches, cut at paragraphs, lines, and words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fullrecall.collections.stdlib import Document

CHUNK_SIZE = 400
_BREAKS = re.compile(r"\n\s*\n|\n|\s")


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
