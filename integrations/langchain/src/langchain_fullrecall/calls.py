"""One call of a retriever, as a trace shows it or a callback saw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fullrecall import Context, InputError
from langchain_fullrecall.documents import DocumentReader

_AS_THEY_ARE = DocumentReader()


@dataclass(frozen=True, slots=True)
class RetrieverCall:
    """A retriever that was called, and the retrievers that were called below it.

    - `name`, `query`, `tags`, `metadata`: those of its run.
    - `contexts`: what it brought, best first, with `Document.id` as the ID; empty where it
      brought nothing, None where it failed or has not ended.
    - `error`: what it raised. `problem`: why what it brought could not be read as documents.
    - `children`: the calls that were made within it, in the order in which they started.
    """

    name: str
    query: str | None = None
    contexts: tuple[Context, ...] | None = None
    error: str | None = None
    problem: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    children: tuple[RetrieverCall, ...] = ()


def snapshot(documents: Any) -> tuple[tuple[Context, ...] | None, str | None]:
    """Return copies of documents, or what is wrong with them.

    Whoever shares a list of documents may reorder it, and change the documents, at any moment.
    """
    if documents is None:
        return None, None
    if not isinstance(documents, Sequence):  # to read a generator would be to use it up
        return None, f"a list of documents is meant, got {type(documents).__name__}"
    try:
        return tuple(_AS_THEY_ARE.contexts(documents)), None
    except InputError as error:
        return None, str(error)
