"""A corpus as a file: one context per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from fullrecall.context import Context
from fullrecall.errors import InputError
from fullrecall.read.containers import json_lines
from fullrecall.read.text_files import FilePath, existing_file

_NAMES = {
    "_id": "id",
    "doc_id": "id",
    "docid": "id",
    "chunk_id": "id",
    "page_content": "text",
    "content": "text",
    "contents": "text",
    "start_index": "start",
}
"""Names that BEIR, LangChain, Pyserini and others use for a context's fields."""

_FIELDS = frozenset({"text", "id", "score", "metadata", "source", "start", "end"})


def read_contexts(path: FilePath) -> Iterator[Context]:
    """Return the contexts of a JSON Lines file: one object per line, blank lines skipped.

    An object has a `text`, an `id` or both, under these names or those of BEIR, LangChain and
    Pyserini; what else it has goes into the context's metadata. Raises `InputError` with the
    line's number for what is no context.
    """
    return _contexts(existing_file(path))


def _contexts(name: str) -> Iterator[Context]:
    with closing(json_lines(name)) as rows:
        try:
            for line, row in rows:
                try:
                    context = _context(row)
                except ValueError as error:
                    raise InputError(str(error), line=line) from None
                yield context
        except InputError as error:
            raise error.at(path=name) from None


def _context(row: Mapping[str, object]) -> Context:
    fields: dict[str, Any] = {}
    more: dict[str, object] = {}
    for key, value in row.items():
        own = key if key in _FIELDS else _NAMES.get(key)
        if own is None or own in fields:
            more[key] = value
        elif value is not None:
            fields[own] = value
    metadata = fields.get("metadata") or {}
    if more and isinstance(metadata, dict):
        fields["metadata"] = {**more, **metadata}
    return Context(**fields)
