"""Read the results of other libraries' retrievers as contexts, by the names of their fields.

The names are in one table. No library is imported, except narwhals for a data frame. An object,
or a mapping, is read if its fields name its ID, its text and its score without doubt. Rows without
names are read by the values of their columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice
from operator import index
from typing import Any, TypeAlias, TypeGuard
from uuid import UUID

from fullrecall._util.dataframes import frame_rows, is_frame
from fullrecall._util.naming import parameter
from fullrecall._util.values import shown
from fullrecall.errors import InputError, ParameterError
from fullrecall.samples.context import CONTEXT_KEYS, CONTEXT_NAMES, Context, as_context, as_contexts
from fullrecall.samples.identifiers import as_id, bounded, each_of, looks_like_id

IdKey: TypeAlias = str | Sequence[str] | Callable[[Any], Any]
"""The place of a retrieved context's ID: a dotted path, such as "metadata.source"; several paths,
joined by ":" (`("source", "page")` gives "a.md:12"); a template, such as "{source}#{page}"; or a
function that returns the ID. In a template, `{source:name}` is the last part of a path or URL, and
`{page:+1}` a number plus one."""

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
"""The fields in which a result keeps its rows: one name inside of another."""

INNER = ("document", "node", "payload", "_source", "properties", "fields", "entity")
"""The fields of a row that hold the user's own: Qdrant, Elasticsearch, Weaviate, Vespa, Milvus."""

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
"""Distances are not scores: a smaller one is better."""
METADATA = ("metadata", "meta", "payload", "_source", "properties", "fields")
_READ = frozenset({*TEXTS, *SCORES})
_HOLDERS = frozenset({*METADATA, *INNER})


def contexts_of(
    result: object, *, id_key: IdKey | None = None, strings_are_ids: bool = False
) -> tuple[Context, ...]:
    """Return a retriever's result as contexts, in its order.

    Takes lists and other iterables of texts, whole numbers and UUIDs (which are IDs), mappings,
    `Context`s and objects with an ID, a text and a score; rows of a database, with names or
    without: (id, text), (id, score), (id, text, score); pairs of one of these and its score;
    mappings of IDs to scores, in trec_eval's order; data frames; results and answers for one query
    that contain such a list.

    - `id_key`: the place of each item's ID. Default: the usual names.
    - `strings_are_ids`: read strings as IDs, not as texts, where all of them look like IDs.

    Raises `InputError`, naming the item, for a result that cannot be read, and for None.
    """
    rows = _ranked(result) if _are_scores(result) else _rows(result)
    if rows is None:
        way = ""
        if result is None:
            way = ": return [] where nothing is found"
        elif isinstance(result, str):
            way = ": wrap it in a list"
        elif isinstance(result, Mapping):
            lists = [name for name, value in result.items() if is_list(value)]
            named = f"one of {', '.join(map(repr, lists[:_SHOWN]))}" if lists else "it has none"
            way = f": return the list alone; {named}"
        raise InputError(
            "expected a list of texts, mappings, Contexts or results with an id, a text and a "
            f"score, got {type(result).__name__} {shown(result)}{way}",
            field="retrieved_contexts",
        )
    try:
        items: list[Any] = [_named(row) for row in bounded(rows)]
    except ValueError as error:
        raise InputError(str(error), field="retrieved_contexts") from None
    if id_key is None and _are_unnamed(items):
        return _of_columns(items)
    if strings_are_ids and items and all(map(looks_like_id, items)):
        return tuple(Context(id=item) for item in items)
    try:
        return tuple(each_of(items, lambda item: context_of(item, id_key)))
    except ValueError as error:
        raise InputError(str(error), field="retrieved_contexts") from None


def recorded_contexts(value: object) -> tuple[Context, ...]:
    """Return a sample's retrieved contexts: contexts, texts, or hits as a search returned them.

    Raises `ValueError`, naming the item, for anything else.
    """
    if isinstance(value, Mapping):
        return contexts_of(value)
    return as_contexts(value, _recorded)


def _recorded(item: object) -> Context:
    is_own = _is_context(item, CONTEXT_NAMES) or not isinstance(item, Mapping)
    return as_context(item) if is_own else context_of(item)


def _is_context(row: object, names: AbstractSet[str] = CONTEXT_KEYS) -> bool:
    """Return whether a mapping has only fields of a `Context`, called by `names`."""
    # A column of a database may hold the metadata as a text.
    return (
        isinstance(row, Mapping)
        and row.keys() <= names
        and not isinstance(row.get("metadata"), str)
    )


def context_of(row: object, id_key: IdKey | None = None) -> Context:
    """Return one row of a result as a context; `ValueError` for a row that cannot be read.

    `id_key` is the place of its ID.
    """
    if id_key is not None:
        return _identified(row, id_key)
    if isinstance(row, (Context, str)) or _is_context(row):
        return as_context(row)
    # Only plain tuples are rows: a named tuple names its own score field.
    if type(row) is tuple and len(row) == 2 and _is_number(row[1]):  # noqa: PLR2004 - a pair
        return replace(context_of(row[0]), score=float(row[1]))
    if isinstance(row, UUID):
        return Context(id=row)
    number = _whole(row)
    if number == -1:
        raise ValueError("-1 means no result in FAISS: leave it out")
    if number is not None:
        return Context(id=number)
    inner = next((value for name in INNER if _has_fields(value := _get(row, name))), None)
    own_id = _first(row, IDS)
    if own_id is None and inner is not None:
        own_id = _first(inner, IDS)
    holders = (row, inner, _get(row, "metadata"), _get(row, "meta"))
    text = next((text for holder in holders if (text := _text(holder)) is not None), None)
    if own_id is None and text is None:
        raise ValueError(_unreadable(row))
    score = _first(row, SCORES)
    if score is None:
        score = _get(_get(row, "metadata"), "score")  # Weaviate
    return Context(
        text,
        id=own_id,
        score=float(score) if _is_number(score) else None,
        metadata=_metadata(row, inner),
    )


def _unreadable(row: object) -> str:
    # The message has only the type and the names: a thousand samples then share one reason.
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


def check_id_key(id_key: object) -> None:
    """Raise `ParameterError` for a value that is not an `IdKey`; None is the default."""
    if id_key is None or callable(id_key):
        return
    paths = (id_key,) if isinstance(id_key, str) else id_key
    if not (isinstance(paths, (tuple, list)) and paths and all(map(_is_path, paths))):
        raise ParameterError(
            "must be a field, a dotted path, several of them, or a function that returns the ID, "
            f"got {id_key!r}",
            "id_key",
        )
    if isinstance(id_key, str) and not re.fullmatch(r"[^{}]*|([^{}]*\{[^{}]+\})+[^{}]*", id_key):
        raise ParameterError(
            f"has a brace without its pair: write '{{source}}#{{page}}', got {id_key!r}", "id_key"
        )


def _is_path(path: object) -> bool:
    return isinstance(path, str) and bool(path)


def id_by(id_key: IdKey, item: Any, at: Callable[[str], Any]) -> Any:
    """Return the ID of an item; `at(path)` reads a field. The ID is None if a field is missing.

    Raises `ValueError` if a function raises, and for a part that is not an ID.
    """
    if callable(id_key):
        try:
            return id_key(item)
        except Exception as error:
            raise ValueError(f"id_key raised {type(error).__name__}: {error}") from error
    if isinstance(id_key, str):
        return at(id_key) if "{" not in id_key else _filled(id_key, at)
    parts = ["" if (value := at(path)) is None else as_id(value) for path in id_key]
    return ":".join(parts) if all(parts) else None


def _filled(template: str, at: Callable[[str], Any]) -> str | None:
    """Return a template with its values, missing ones left out; None if the first is missing."""
    pieces = re.split("[{}]", template)  # text, path, text, path, …
    paths = zip(pieces[::2], pieces[1::2], strict=False)
    parts = [(before, _formed(path, at)) for before, path in paths]
    if not parts or parts[0][1] is None:
        return None
    return "".join(f"{before}{as_id(value)}" for before, value in parts if value is not None)


def _formed(path: str, at: Callable[[str], Any]) -> Any:
    """Return the value at a path, in the form that a template asks for: `source:name`, `page:+1`.

    Raises `ValueError` for a number that is asked for and is not one.
    """
    value = at(path)
    plain_path, _, form = path.rpartition(":")
    if value is not None or form not in _FORMS:
        return value
    plain = at(plain_path)
    if plain is None:
        return None
    if form == "name":
        return re.split(r"[/\\]", str(plain).rstrip("/\\"))[-1]
    try:
        return int(plain) + 1
    except (TypeError, ValueError):
        raise ValueError(f"id_key adds 1 to {plain_path!r}, got {shown(plain)}") from None


_FORMS = ("name", "+1")
"""The forms of a value in a template."""


def id_at(item: Any, id_key: IdKey) -> Any:
    """Return an item's value at `id_key`; raise `ValueError` if it has none.

    A path begins with a field of the item, else with a key of its metadata.
    """
    holders = [item, *(_get(item, own) for own in (*METADATA, *INNER))]
    if isinstance(item, Context):
        holders = [item.metadata, item]

    def at(path: str) -> Any:
        values = (at_path(holder, path) for holder in holders)
        return next((value for value in values if value is not None), None)

    value = id_by(id_key, item, at)
    if value is not None:
        return value
    if callable(id_key):
        raise ValueError(f"id_key returned None for a context: {shown(item)}")
    # The names alone, so that a thousand samples have one reason.
    paths = [*islice(field_paths(item), _SHOWN)]
    has = f"it has {', '.join(map(repr, paths))}" if paths else _unreadable(item)
    raise ValueError(f"a context has nothing at {id_key!r}: {has}")


_SHOWN = 12
"""Fields of a context that an error names."""


def field_paths(holder: Any) -> Iterator[str]:
    """Yield the paths of a context's texts and numbers, as `id_key` takes them."""
    if isinstance(holder, Context):
        source = {} if holder.source is None else {"source": holder.source}
        holder = {**source, **holder.metadata}
    fields = holder if isinstance(holder, Mapping) else getattr(holder, "__dict__", {})
    for path, value in values_by_path(fields):
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            yield path


def ids_alone() -> InputError:
    """Return the error for an `id_key` if only the IDs of retrieved contexts are known."""
    return InputError(
        f"{parameter('id_key')} reads a field of the retrieved contexts, and here are only their "
        "IDs: leave it out, or give retrieved_contexts with their fields",
        field="retrieved_context_ids",
    )


def named_by(id_key: IdKey, context: Context) -> Context:
    """Return a context with the ID at `id_key`; without an ID if it has no such field."""
    try:
        return replace(context, id=as_id(id_at(context, id_key)))
    except ValueError:  # The context has no such field, as a tool's text or a note.
        return replace(context, id=None)


def values_by_path(metadata: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of metadata by their names, those of nested metadata by a dotted path."""
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            yield from values_by_path(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def at_path(holder: Any, path: str) -> Any:
    """Return the field at a dotted path; a field whose name has dots comes first."""
    value = _get(holder, path)
    return _at(holder, path.split(".")) if value is None else value


def _at(holder: Any, path: Sequence[str]) -> Any:
    for name in path:
        holder = _get(holder, name)
    return holder


def _identified(row: Any, id_key: IdKey) -> Context:
    """Return a row as a context with the ID that `id_key` names."""
    own_id = id_at(row, id_key)
    try:
        return replace(context_of(row), id=own_id)
    except ValueError:  # The row has no text, and no ID except the named one.
        return Context(id=own_id)


def _rows(result: Any) -> Iterable[object] | None:
    if isinstance(result, Mapping) and is_list(result.get("ids")):
        return _columns(result)
    if is_frame(result):
        return map(dict, frame_rows(result))
    if hasattr(result, "fetchall") and result.description is None:
        raise InputError("expected the rows of a query, got a cursor that has selected nothing")
    return _listed(result)


def _are_scores(result: object) -> TypeGuard[Mapping[Any, float]]:
    """Return whether a value is a mapping of IDs to scores."""
    return (
        isinstance(result, Mapping)
        and bool(result)
        and all(map(looks_like_id, result))
        and all(map(_is_number, result.values()))
    )


def _ranked(scores: Mapping[Any, float]) -> list[tuple[Any, float]]:
    """Return IDs with their scores, best first, equal scores in trec_eval's order."""
    return sorted(scores.items(), key=lambda each: (each[1], str(each[0])), reverse=True)


def _listed(result: Any) -> Iterable[object] | None:
    """Return the list that an answer has under one of the usual names, or the answer itself."""
    for path in LISTS:
        value = _at(result, path)
        if is_list(value):
            return value  # type: ignore[no-any-return]
    if isinstance(result, Mapping):  # The answer contains another answer.
        inner = [_rows(part) for part in result.values() if isinstance(part, Mapping)]
        rows = [listed for listed in inner if listed is not None]
        return rows[0] if len(rows) == 1 else None
    if type(result) is tuple and len(result) == 2:  # noqa: PLR2004 - an answer and its contexts
        lists = [part for part in result if is_list(part)]
        if len(lists) == 1 and any(isinstance(part, str) for part in result):
            return lists[0]  # type: ignore[no-any-return]
    return result if is_list(result) else None


def _named(row: object) -> object:
    """Return a row by lower-case names; a database row without usual names becomes a tuple."""
    is_mapping = isinstance(row, Mapping)
    if not is_mapping and not (hasattr(row, "keys") and hasattr(row, "__getitem__")):
        return row
    fields: Any = row
    names = list(fields.keys())
    if is_mapping and not _KNOWN.isdisjoint(names):
        return row
    usual = {str(name).lower(): fields[name] for name in names}
    if not _KNOWN.isdisjoint(usual):
        return usual
    return row if is_mapping else tuple(usual.values())


_KNOWN = frozenset({*IDS, *TEXTS, *INNER})


def _are_unnamed(items: Sequence[Any]) -> bool:
    """Return whether all items are rows of texts and numbers, without names."""
    kinds = set(map(type, items))
    if kinds == {list}:  # JSON has written a tuple as a list.
        return all(any(type(cell) is float for cell in item) for item in items)
    return kinds == {tuple} and all(_is_cell(cell) for item in items for cell in item)


def _is_cell(value: object) -> bool:
    return value is None or isinstance(value, (str, UUID)) or _is_number(value)


def _of_columns(rows: Sequence[Any]) -> tuple[Context, ...]:
    """Return rows without names as contexts, by the values of their columns.

    The first column of whole numbers or of texts that look like IDs has the IDs; another column of
    numbers has the scores, and the only other column of texts the texts. Raises `InputError` if
    that leaves a choice.
    """
    if len(set(map(len, rows))) > 1:
        raise InputError("expected rows of one width", field="retrieved_contexts")
    if not all(_is_cell(cell) for row in rows for cell in row):
        raise _ambiguous(rows)
    columns = [list(column) for column in zip(*rows, strict=True)]
    ids = next((column for column in columns if all(map(looks_like_id, column))), None)
    rest = [column for column in columns if column is not ids]
    scores = [column for column in rest if all(map(_is_number, column))]
    texts = [column for column in rest if any(isinstance(cell, str) for cell in column)]
    if len(texts) > 1:
        texts = [column for column in texts if not all(map(looks_like_id, column))]
    two_ids = any(isinstance(cell, UUID) for column in rest for cell in column)
    if len(texts) > 1 or two_ids or (ids is None and not texts):
        raise _ambiguous(rows)
    blank = [None] * len(rows)
    scored = scores[0] if len(scores) == 1 else blank
    cells = zip(ids or blank, texts[0] if texts else blank, scored, strict=True)
    return tuple(
        Context(text, id=name if isinstance(name, (str, UUID)) else _whole(name), score=score)
        for name, text, score in cells
    )


def _ambiguous(rows: Sequence[Any]) -> InputError:
    return InputError(
        f"item 0: cannot tell which column of {shown(rows[0])} is the id and which the text: name "
        "the columns, as by row_factory=sqlite3.Row or dict_row, or return "
        '{"id": …, "text": …}',
        field="retrieved_contexts",
    )


def _columns(result: Mapping[str, Any]) -> list[object]:
    """Return Chroma's columns as rows: a list of IDs for each query, and texts beside them."""
    columns = {"id": result["ids"], "text": result.get("documents")}
    columns["metadata"] = result.get("metadatas")
    if all(map(is_list, columns["id"])):
        if len(columns["id"]) != 1:
            problem = f"expected the results of one query, got {len(columns['id'])}"
            raise InputError(problem, field="retrieved_contexts")
        columns = {name: column[0] for name, column in columns.items() if column is not None}
    present = {name: column for name, column in columns.items() if column is not None}
    return [dict(zip(present, row, strict=True)) for row in zip(*present.values(), strict=True)]


def is_list(value: object) -> bool:
    """Return whether a value may be a list of documents: ordered, not a text, not a model."""
    # A model's iterator yields its fields, a set has no order, and a text is one item.
    return (
        isinstance(value, Iterable)
        and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping, AbstractSet))
        and not hasattr(type(value), "model_fields")
    )


def _whole(value: object) -> int | None:
    """Return a whole number, NumPy's too; None for anything else."""
    if isinstance(value, (bool, str)):
        return None
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _text(row: object) -> str | None:
    """Return a row's only text; raise `ValueError` if two names have different texts."""
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
    """Return the metadata of a row, and the other fields of a mapping that may name a document."""
    fields = row if isinstance(row, Mapping) else {}
    own = next((name for name in IDS if fields.get(name) not in (None, "")), None)
    metadata = {
        str(name): value
        for name, value in ((name, _get(fields, name)) for name in fields)
        if (isinstance(value, (str, int, float)) and name != own and name not in _READ)
        or (isinstance(value, Mapping) and name not in _HOLDERS)
    }
    for name in METADATA:
        value = _get(row, name)
        if value is None:
            value = _get(inner, name)
        if isinstance(value, Mapping):
            return metadata | {str(key): content for key, content in value.items()}
    return metadata


def _first(row: object, names: Sequence[str]) -> Any:
    values = (_get(row, name) for name in names)
    return next((value for value in values if value is not None and value != ""), None)


def _get(row: object, name: str) -> Any:
    if row is None or isinstance(row, (str, bytes, int, float)):
        return None
    if isinstance(row, Mapping):
        value = row.get(name)
        return _opened(value) if name in METADATA and isinstance(value, str) else value
    if isinstance(row, (list, tuple)) and not hasattr(row, "_fields"):
        return None
    value = getattr(row, name, None)
    return None if callable(value) else value  # A method with the name is not a field.


def _opened(text: str) -> Any:
    """Return the object of a text of JSON, as some drivers return such a column; else the text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _has_fields(value: object) -> bool:
    return value is not None and not isinstance(value, (str, bytes, int, float, list, tuple, bool))


def _is_number(value: object) -> bool:
    if isinstance(value, (bool, str)):
        return False
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True
