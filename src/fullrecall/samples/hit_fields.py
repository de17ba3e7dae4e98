"""The names of the fields in other libraries' results, and how their values are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import index
from typing import Any

LISTS = (
    ("points",),  # Qdrant
    ("matches",),  # Pinecone
    ("result", "hits"),  # Pinecone's search
    ("hits", "hits"),  # Elasticsearch, OpenSearch
    ("body", "hits", "hits"),  # Elasticsearch's response object
    ("objects",),  # Weaviate
    ("hits",),  # Vespa, Meilisearch
    ("source_documents",),  # LangChain's chains
    ("documents",),  # Haystack
    ("source_nodes",),  # LlamaIndex
    ("passages",),  # DSPy
    ("retrieved_contexts",),  # ragas
    ("retrieval_context",),  # deepeval
    ("contexts",),
    ("context",),
    ("results",),
    ("chunks",),
    ("nodes",),
    ("docs",),
    ("sources",),
    ("value",),  # Azure AI Search
    ("data",),
)
"""The fields in which a result has its rows, as paths of names."""

INNER = ("document", "node", "payload", "_source", "properties", "fields", "entity")
"""The fields of a row in which Qdrant, Elasticsearch, Weaviate, Vespa and Milvus have the user's
own fields.
"""

IDS = (
    "id",
    "_id",
    "id_",
    "node_id",
    "uuid",
    "doc_id",
    "chunk_id",
    "docid",
    "document_id",
    "passage_id",
    "rowid",
    "pk",
)

TEXTS = (
    "text",
    "page_content",
    "content",
    "document",
    "chunk_text",
    "chunk",
    "passage",
    "contents",
    "body",
)

SCORES = ("score", "_score", "relevance", "relevance_score", "_relevance_score")
"""The names of scores. Distances are left out, since a smaller distance is better."""

METADATA = ("metadata", "meta", "payload", "_source", "properties", "fields")

MOST_SHOWN = 12
"""The most fields of a context that an error names."""


def values_by_path(metadata: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of metadata with their names; nested values have a dotted path."""
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            yield from values_by_path(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def at_path(holder: Any, path: str) -> Any:
    """Return the field whose name is the whole path, or else the field at the dotted path."""
    value = field_of(holder, path)
    return nested(holder, path.split(".")) if value is None else value


def nested(holder: Any, path: Sequence[str]) -> Any:
    """Return the field at a path of nested names; None if it is missing."""
    for name in path:
        holder = field_of(holder, name)
    return holder


def is_list(value: object) -> bool:
    """Return whether a value may be a list of documents.

    Such a list has an order, and is neither a text nor a Pydantic model.
    """
    # The iterator of a Pydantic model yields its fields, a set has no order, a text is one item.
    return (
        isinstance(value, Iterable)
        and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping, AbstractSet))
        and not hasattr(type(value), "model_fields")
    )


def whole_number(value: object) -> int | None:
    """Return a whole number of Python or NumPy as an `int`; None for any other value."""
    if isinstance(value, (bool, str)):
        return None
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def first_field(row: object, names: Sequence[str]) -> Any:
    """Return a row's value for the first of these names that has one; None and "" do not count."""
    values = (field_of(row, name) for name in names)
    return next((value for value in values if value is not None and value != ""), None)


def field_of(row: object, name: str) -> Any:
    """Return the field of a mapping or an object; None if it is missing."""
    if row is None or isinstance(row, (str, bytes, int, float)):
        return None
    if isinstance(row, Mapping):
        value = row.get(name)
        return _opened(value) if name in METADATA and isinstance(value, str) else value
    if isinstance(row, (list, tuple)) and not hasattr(row, "_fields"):
        return None
    value = getattr(row, name, None)
    return None if callable(value) else value  # a method with this name is not a field


def _opened(text: str) -> Any:
    """Parse the JSON object that some drivers return as a text; return any other text unchanged."""
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def has_fields(value: object) -> bool:
    """Return whether a value may be an object or a mapping: neither a plain value nor a list."""
    return value is not None and not isinstance(value, (str, bytes, int, float, list, tuple, bool))


def is_numeric(value: object) -> bool:
    """Return whether a value is a number of any library; texts and booleans are not."""
    if isinstance(value, (bool, str)):
        return False
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def unreadable(row: object) -> str:
    """Return the message for a row that cannot be read as a context."""
    # The message has the type, the length and the names, but no values, so that a thousand samples
    # share one reason.
    size, way = "", 'return {"id": …, "text": …}, or pass id_key='
    if isinstance(row, (tuple, list)) and not any(isinstance(cell, Mapping) for cell in row):
        size = f" of {len(row)}"
        way += "; of one list for each search, Retrieval.of_calls((query, list), …)"
    elif isinstance(row, (tuple, list)):
        size = f" of {len(row)}"
        way += " a function of it, or name its columns, as dict_row does"
    if isinstance(row, Mapping):
        size = f" with {', '.join(map(repr, list(row)[:5])) or 'no key'}"
    kind = f"a {type(row).__name__}{size}"
    return f"expected a text, a Context, or a result with an id or a text, got {kind}: {way}"
