"""Retrieval without events: the application itself reports the documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from fullrecall._util.values import shown
from fullrecall.errors import ParameterError

Documents = TypeVar("Documents")

TakeReport: TypeAlias = Callable[[object, "str | None"], None]
"""Adds documents, and the question for which they were retrieved, to open records."""

_takers: list[TakeReport] = []


def record(documents: Documents, *, query: str | None = None) -> Documents:
    """Add documents to each record that is open around this call, and return them.

        hits = record(vectorstore.similarity_search(question), query=question)

    Use it for retrieval that no framework reports: by a vector store, an HTTP client, a database.
    The documents are one ranked list, in any form that a retriever function may return; strings
    that look like IDs are IDs. It does nothing if no call is recorded.
    """
    for take in _takers:
        take(documents, query)
    return documents


def on_record(take: TakeReport) -> TakeReport:
    """Register a function that adds documents to open records; `record` passes its arguments on.

    Raises `ParameterError` if `take` cannot be called.
    """
    if not callable(take):
        raise ParameterError(
            f"must be a function of documents and a query, got {shown(take)}", "take"
        )
    _takers.append(take)
    return take
