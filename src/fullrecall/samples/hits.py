"""Read the results of other libraries' retrievers as contexts, by the names of their fields.

No library is imported, except narwhals for a data frame. An object or a mapping is read if it is
clear which fields are its ID, its text and its score. Rows without names are read by the values of
their columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, TypeGuard
from uuid import UUID

from fullrecall._util.dataframes import frame_rows, is_frame
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.samples.context import CONTEXT_KEYS, CONTEXT_NAMES, Context, as_context, as_contexts
from fullrecall.samples.hit_fields import (
    IDS,
    INNER,
    LISTS,
    METADATA,
    MOST_SHOWN,
    SCORES,
    TEXTS,
    field_of,
    first_field,
    has_fields,
    is_list,
    is_numeric,
    nested,
    unreadable,
    whole_number,
)
from fullrecall.samples.id_keys import IdKey, id_at
from fullrecall.samples.identifiers import bounded, each_of, looks_like_id

_READ = frozenset({*TEXTS, *SCORES})

_HOLDERS = frozenset({*METADATA, *INNER})


def contexts_of(
    result: object, *, id_key: IdKey | None = None, strings_are_ids: bool = False
) -> tuple[Context, ...]:
    """Return a retriever's result as contexts, in its order.

    It accepts a list, or another iterable, of:

    - texts, or whole numbers and UUIDs, which are IDs;
    - `Context`s, mappings, and objects with an ID, a text and a score;
    - pairs of one of these and its score;
    - rows of a database, with names or without: (id, text), (id, score), (id, text, score).

    It also accepts a mapping of IDs to scores (equal scores are in trec_eval's order), a data
    frame, and a search result of one query, if it contains such a list.

    - `id_key`: the place of each item's ID. Default: the usual names.
    - `strings_are_ids`: read strings as IDs, not as texts, if all of them look like IDs.

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
            named = f"one of {', '.join(map(repr, lists[:MOST_SHOWN]))}" if lists else "it has none"
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
    """Convert a sample's retrieved contexts, given as contexts, texts, or hits of a search.

    Raises `InputError`, naming the item, for any other value.
    """
    if isinstance(value, Mapping):
        return contexts_of(value)
    return as_contexts(value, _recorded)


def _recorded(item: object) -> Context:
    is_own = _is_context(item, CONTEXT_NAMES) or not isinstance(item, Mapping)
    return as_context(item) if is_own else context_of(item)


def _is_context(row: object, names: AbstractSet[str] = CONTEXT_KEYS) -> bool:
    """Return whether a mapping has only fields of a `Context`, under these `names`."""
    # A row of a database may have its metadata as a text; it is not a `Context`, and is parsed
    # later.
    return (
        isinstance(row, Mapping)
        and row.keys() <= names
        and not isinstance(row.get("metadata"), str)
    )


def context_of(row: object, id_key: IdKey | None = None) -> Context:
    """Convert one row of a result to a context.

    `id_key` is the place of the row's ID. Raises `InputError` for a row that cannot be read.
    """
    if id_key is not None:
        return _identified(row, id_key)
    if isinstance(row, (Context, str)) or _is_context(row):
        return as_context(row)
    # Only plain tuples are rows; a named tuple names its own score field.
    if type(row) is tuple and len(row) == 2 and is_numeric(row[1]):  # noqa: PLR2004 - a pair
        return replace(context_of(row[0]), score=float(row[1]))
    if isinstance(row, UUID):
        return Context(id=row)
    number = whole_number(row)
    if number == -1:
        raise InputError("-1 means no result in FAISS: leave it out")
    if number is not None:
        return Context(id=number)
    inner = next((value for name in INNER if has_fields(value := field_of(row, name))), None)
    own_id = first_field(row, IDS)
    if own_id is None and inner is not None:
        own_id = first_field(inner, IDS)
    holders = (row, inner, field_of(row, "metadata"), field_of(row, "meta"))
    text = next((text for holder in holders if (text := _text(holder)) is not None), None)
    if own_id is None and text is None:
        raise InputError(unreadable(row))
    score = first_field(row, SCORES)
    if score is None:
        score = field_of(field_of(row, "metadata"), "score")  # Weaviate
    return Context(
        text,
        id=own_id,
        score=float(score) if is_numeric(score) else None,
        metadata=_metadata(row, inner),
    )


def _identified(row: Any, id_key: IdKey) -> Context:
    """Convert a row to a context with the ID at `id_key`."""
    own_id = id_at(row, id_key)
    try:
        return replace(context_of(row), id=own_id)
    except ValueError:  # the row has no text, and no ID but this one
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
        and all(map(is_numeric, result.values()))
    )


def _ranked(scores: Mapping[Any, float]) -> list[tuple[Any, float]]:
    """Return IDs with their scores, best first; equal scores are in trec_eval's order."""
    return sorted(scores.items(), key=lambda each: (each[1], str(each[0])), reverse=True)


def _listed(result: Any) -> Iterable[object] | None:
    """Return the list of contexts in a retriever's result; None if it is not found.

    The list is the result itself, or is in the result under one of the usual names, or is in a
    nested result.
    """
    for path in LISTS:
        value = nested(result, path)
        if is_list(value):
            return value  # type: ignore[no-any-return]
    if isinstance(result, Mapping):  # the result contains another result
        inner = [_rows(part) for part in result.values() if isinstance(part, Mapping)]
        rows = [listed for listed in inner if listed is not None]
        return rows[0] if len(rows) == 1 else None
    if type(result) is tuple and len(result) == 2:  # noqa: PLR2004 - an answer and its contexts
        lists = [part for part in result if is_list(part)]
        if len(lists) == 1 and any(isinstance(part, str) for part in result):
            return lists[0]  # type: ignore[no-any-return]
    return result if is_list(result) else None


def _named(row: object) -> object:
    """Return a row with the names of fields that this module knows, if the row has any.

    If a row's names are known only in lower case, the names become lower-case. A database row
    without known names becomes a tuple of its values. Other rows are returned unchanged.
    """
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
    if kinds == {list}:  # JSON has no tuples: a list with a float (a score) is a row
        return all(any(type(cell) is float for cell in item) for item in items)
    return kinds == {tuple} and all(_is_cell(cell) for item in items for cell in item)


def _is_cell(value: object) -> bool:
    return value is None or isinstance(value, (str, UUID)) or is_numeric(value)


def _of_columns(rows: Sequence[Any]) -> tuple[Context, ...]:
    """Convert rows without names to contexts, by the values of their columns.

    The first column of whole numbers, or of texts that look like IDs, has the IDs. The only other
    column of numbers has the scores, and the only other column of texts has the texts. Raises
    `InputError` if this is ambiguous.
    """
    if len(set(map(len, rows))) > 1:
        raise InputError("expected rows of one width", field="retrieved_contexts")
    if not all(_is_cell(cell) for row in rows for cell in row):
        raise _ambiguous(rows)
    columns = [list(column) for column in zip(*rows, strict=True)]
    ids = next((column for column in columns if all(map(looks_like_id, column))), None)
    rest = [column for column in columns if column is not ids]
    scores = [column for column in rest if all(map(is_numeric, column))]
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
        Context(text, id=name if isinstance(name, (str, UUID)) else whole_number(name), score=score)
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
    """Convert Chroma's columns to rows.

    Chroma returns a list of IDs and a list of texts for each query.
    """
    columns = {"id": result["ids"], "text": result.get("documents")}
    columns["metadata"] = result.get("metadatas")
    if all(map(is_list, columns["id"])):
        if len(columns["id"]) != 1:
            problem = f"expected the results of one query, got {len(columns['id'])}"
            raise InputError(problem, field="retrieved_contexts")
        columns = {name: column[0] for name, column in columns.items() if column is not None}
    present = {name: column for name, column in columns.items() if column is not None}
    return [dict(zip(present, row, strict=True)) for row in zip(*present.values(), strict=True)]


def _text(row: object) -> str | None:
    """Return the text of a row; None if it has no text.

    An object's `text` takes precedence over its other fields. Raises `InputError` for any other row
    in which two fields have different texts.
    """
    texts = [value for name in TEXTS if isinstance(value := field_of(row, name), str)]
    if not texts:
        get_content = getattr(row, "get_content", None)  # LlamaIndex
        value = get_content() if callable(get_content) else None
        return value if isinstance(value, str) else None
    decisive = isinstance(row, Mapping) is False and isinstance(field_of(row, "text"), str)
    if any(text != texts[0] for text in texts) and not decisive:
        raise InputError(f"several fields may be the text of {shown(row)}: pass Context(…)")
    return texts[0]


def _metadata(row: object, inner: object) -> dict[str, Any]:
    """Return a row's metadata; for a mapping, also its fields other than ID, text and score."""
    fields = row if isinstance(row, Mapping) else {}
    own = next((name for name in IDS if fields.get(name) not in (None, "")), None)
    metadata = {
        str(name): value
        for name, value in ((name, field_of(fields, name)) for name in fields)
        if (isinstance(value, (str, int, float)) and name != own and name not in _READ)
        or (isinstance(value, Mapping) and name not in _HOLDERS)
    }
    for name in METADATA:
        value = field_of(row, name)
        if value is None:
            value = field_of(inner, name)
        if isinstance(value, Mapping):
            return metadata | {str(key): content for key, content in value.items()}
    return metadata
