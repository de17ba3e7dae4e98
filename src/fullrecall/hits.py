"""What retrievers of other libraries return, read as contexts by the names of its fields.

One table of names in one place: no library is imported, but narwhals for a data frame. An object,
or a mapping, is read where its fields say without doubt what its ID, its text and its score are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import index
from typing import Any

from fullrecall.context import Context, as_context
from fullrecall.dataframes import frame_rows, is_frame
from fullrecall.errors import InputError
from fullrecall.identifiers import shown

LISTS = (
    ("points",),  # Qdrant
    ("matches",),  # Pinecone
    ("result", "hits"),  # Pinecone's search
    ("hits", "hits"),  # Elasticsearch, OpenSearch
    ("body", "hits", "hits"),  # Elasticsearch's response object
    ("objects",),  # Weaviate
    ("hits",),  # Vespa, Meilisearch
    ("documents",),  # Haystack
    ("source_nodes",),  # LlamaIndex
    ("passages",),  # DSPy
    ("contexts",),
    ("results",),
)
"""Where a result keeps its rows: one name inside of another."""

INNER = ("document", "node", "payload", "_source", "properties", "fields", "entity")
"""What a row keeps the user's own fields in: Qdrant, Elasticsearch, Weaviate, Vespa, Milvus."""

IDS = ("id", "_id", "id_", "node_id", "uuid", "doc_id", "chunk_id", "docid")
TEXTS = ("text", "page_content", "content", "document", "chunk_text", "chunk", "passage",
         "contents", "body")  # fmt: skip
SCORES = ("score", "_score", "relevance", "relevance_score", "_relevance_score")
"""Distances are no scores: the smaller is the better."""
METADATA = ("metadata", "meta", "payload", "_source", "properties", "fields")


_OWN = frozenset({"text", "id", "score", "metadata", "source", "start", "end"})


def contexts_of(result: object) -> tuple[Context, ...]:
    """Return what a retriever returned as contexts, in its order.

    Takes lists and other iterables of texts, whole numbers (which are IDs), mappings, `Context`s
    and objects with an ID, a text and a score; pairs of one of these and its score; data frames;
    and results that hold such a list, of one query. Raises `InputError`, naming the item, for
    what cannot be read; None is nothing that can be read.
    """
    rows = _rows(result)
    if rows is None:
        raise InputError(
            "expected a list of texts, mappings, Contexts or results with an id, a text and a "
            f"score, got {type(result).__name__} {shown(result)}",
            field="retrieved_contexts",
        )
    found = []
    for position, row in enumerate(rows):
        try:
            found.append(context_of(row))
        except ValueError as error:
            raise InputError(f"item {position}: {error}", field="retrieved_contexts") from None
    return tuple(found)


def context_of(row: object) -> Context:
    """Return one row of a result as a context; `ValueError` says what is missing."""
    if isinstance(row, (Context, str)) or (isinstance(row, Mapping) and row.keys() <= _OWN):
        return as_context(row)
    if type(row) is tuple and len(row) == 2 and _is_number(row[1]):  # noqa: PLR2004 - a pair
        return _scored(row[0], float(row[1]))
    number = _whole(row)
    if number is not None:
        return Context(id=_position(number))
    if not isinstance(row, Mapping) and hasattr(row, "keys") and hasattr(row, "__getitem__"):
        row = {name: row[name] for name in row.keys()}  # noqa: SIM118 - a database's row
    inner = next((value for name in INNER if _has_fields(value := _get(row, name))), None)
    own_id = _first(row, IDS)
    if own_id is None and inner is not None:
        own_id = _first(inner, IDS)
    holders = (row, inner, _get(row, "metadata"), _get(row, "meta"))
    text = next((text for holder in holders if (text := _text(holder)) is not None), None)
    if own_id is None and text is None:
        unnamed = isinstance(row, (tuple, list))
        hint = ": name its columns, as by row_factory=sqlite3.Row or dict_row" if unnamed else ""
        raise ValueError(
            "expected a text, a Context, or a result with an id or a text, got "
            f"{_kind(row)}{hint or _WAY_OUT}"
        )
    score = _first(row, SCORES)
    if score is None:
        score = _get(_get(row, "metadata"), "score")  # Weaviate
    return Context(
        text,
        id=own_id,
        score=float(score) if _is_number(score) else None,
        metadata=_metadata(row, inner),
    )


def _rows(result: object) -> Iterable[object] | None:
    if isinstance(result, Mapping) and _is_list(result.get("ids")):
        return _columns(result)
    if is_frame(result):
        return frame_rows(result)
    arrays = _array_rows(result)
    if arrays is not None:
        return arrays
    for path in LISTS:
        value = result
        for name in path:
            value = _get(value, name)
        if _is_list(value):
            return value  # type: ignore[return-value]
    return result if _is_list(result) else None  # type: ignore[return-value]


def _array_rows(result: object) -> Iterable[object] | None:
    """Return the rows of one query where a library answers several at once: as arrays or lists."""
    columns = (_get(result, "documents"), _get(result, "scores"))
    if all(map(_is_matrix, columns)):
        return _scored_rows(*columns)
    if type(result) is tuple and len(result) == 2 and all(map(_is_matrix, result)):  # noqa: PLR2004
        return _numbers_found(*result)
    if type(result) is list and result and all(type(one) is list for one in result):
        found: list[object] = _of_one_query(result)  # Milvus
        return found
    return None


def _scored_rows(documents: Any, scores: Any) -> list[object]:
    """Return BM25S's documents, which are what its corpus has, or positions, with their scores."""
    found = zip(_of_one_query(documents.tolist()), _of_one_query(scores.tolist()), strict=True)
    return [
        {**one, "score": score}
        if isinstance(one, Mapping)
        else {"text" if isinstance(one, str) else "id": one, "score": score}
        for one, score in found
    ]


def _numbers_found(distances: Any, numbers: Any) -> list[object]:
    """Return FAISS's positions of one query; what stands before them may be distances."""
    if (distances.dtype.kind, numbers.dtype.kind) != ("f", "i"):
        raise InputError("expected a pair of distances and ids, as FAISS returns it")
    found: list[object] = _of_one_query(numbers.tolist())
    return found


def _of_one_query(results: Sequence[Any]) -> Any:
    if len(results) != 1:
        raise InputError(
            f"expected the results of one query, got {len(results)}", field="retrieved_contexts"
        )
    return results[0]


def _is_matrix(value: object) -> bool:
    return getattr(value, "ndim", None) == 2 and hasattr(value, "tolist")  # noqa: PLR2004


def _columns(result: Mapping[str, Any]) -> list[object]:
    """Return Chroma's columns as rows: a list of IDs for each query, and texts beside them."""
    columns = {"id": result["ids"], "text": result.get("documents")}
    columns["metadata"] = result.get("metadatas")
    if all(map(_is_list, columns["id"])):
        _of_one_query(columns["id"])
        columns = {name: column[0] for name, column in columns.items() if column is not None}
    given = {name: column for name, column in columns.items() if column is not None}
    return [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]


def _is_list(value: object) -> bool:
    # A model's iterator yields its fields, a set has no order, and a text is one item.
    return (
        isinstance(value, Iterable)
        and not isinstance(value, (str, bytes, bytearray, Mapping, AbstractSet))
        and not hasattr(type(value), "model_fields")
    )


def _scored(row: object, score: float) -> Context:
    if isinstance(row, str):
        raise ValueError(
            f"got the pair ({row!r}, {score}), whose first may be an id or a text: "
            'pass {"id": …, "score": …} or {"text": …, "score": …}'
        )
    found = context_of(row)
    return Context(**{**found.to_dict(), "score": score})


def _whole(value: object) -> int | None:
    """Return a whole number, NumPy's too; None for anything else."""
    if isinstance(value, (bool, str)):
        return None
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _position(number: int) -> int:
    if number == -1:
        raise ValueError("-1 means no result in FAISS: leave it out")
    return number


def _text(row: object) -> str | None:
    """Return the only text that a row has; two names with different texts would be a guess."""
    texts = [value for name in TEXTS if isinstance(value := _get(row, name), str)]
    if not texts:
        get_content = getattr(row, "get_content", None)  # LlamaIndex
        value = get_content() if callable(get_content) else None
        return value if isinstance(value, str) else None
    decisive = isinstance(row, Mapping) is False and isinstance(_get(row, "text"), str)
    if any(text != texts[0] for text in texts) and not decisive:
        raise ValueError(f"several fields may be the text of {shown(row)}: pass Context(…)")
    return texts[0]


def _metadata(row: object, inner: object) -> dict[str, Any]:
    for name in METADATA:
        value = _get(row, name)
        if value is None:
            value = _get(inner, name)
        if isinstance(value, Mapping):
            return {str(key): one for key, one in value.items()}
    return {}


def _first(row: object, names: Sequence[str]) -> Any:
    found = (_get(row, name) for name in names)
    return next((value for value in found if value is not None and value != ""), None)


def _get(row: object, name: str) -> Any:
    if row is None or isinstance(row, (str, bytes, int, float)):
        return None
    if isinstance(row, Mapping):
        return row.get(name)
    if isinstance(row, (list, tuple)) and not hasattr(row, "_fields"):
        return None
    value = getattr(row, name, None)
    return None if callable(value) else value


def _has_fields(value: object) -> bool:
    return value is not None and not isinstance(value, (str, bytes, int, float, list, tuple, bool))


_WAY_OUT = ': return {"id": …, "text": …}'


def _kind(row: object) -> str:
    """Name what a row is and not what is in it, so that a thousand samples have one reason."""
    name = type(row).__name__
    return f"a {name} of {len(row)}" if isinstance(row, (tuple, list)) else f"a {name}"


def _is_number(value: object) -> bool:
    if isinstance(value, (bool, str)):
        return False
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True
