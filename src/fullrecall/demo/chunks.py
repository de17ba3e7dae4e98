"""The chunks that both retrievers search, made by LangChain's splitter as its users make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_text_splitters import RecursiveCharacterTextSplitter

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from fullrecall.collections.stdlib import Document as Page

CHUNK_SIZE = 400
CHUNK_OVERLAP = 60


def splitter() -> RecursiveCharacterTextSplitter:
    """Return the splitter: at most 400 characters a chunk, of which 60 are the last one's."""
    return RecursiveCharacterTextSplitter(
        chunk_size=CHUNK_SIZE, chunk_overlap=CHUNK_OVERLAP, add_start_index=True
    )


def chunked(pages: Sequence[Page]) -> list[Document]:
    """Return the pages in chunks; each knows its page (`source`) and where in it it starts."""
    texts = [page.text for page in pages]
    return splitter().create_documents(texts, [{"source": page.id} for page in pages])
