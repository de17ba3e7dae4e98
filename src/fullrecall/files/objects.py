"""Columns of objects: which of their keys hold IDs, texts, places, grades and flags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fullrecall.files.columns import ColumnValues, is_number
from fullrecall.files.paths import path_of, quoted
from fullrecall.files.usual_names import roles_of, singular, snake, usual

IDS, TEXTS = "reference_context_ids", "reference_contexts"

_FLAG = re.compile(r"(is_)?(support\w*|selected|relevant|gold|positive|evidence)$", re.IGNORECASE)


def are_judged(column: ColumnValues) -> bool:
    """Return whether a column has documents, each with a flag or a whole number as its grade."""
    if not column.is_all(Mapping) or not any(isinstance(each, list) for each in column.values):
        return False
    grades = [
        value
        for item in column.items
        for key, value in item.items()
        if snake(str(key)) in usual.GRADE_KEYS or _FLAG.match(str(key))
    ]
    return len(grades) >= len(column.items) and all(isinstance(grade, int) for grade in grades)


def of_objects(column: ColumnValues) -> dict[str, str]:
    """Return the paths of IDs and of texts in a column of objects, by reference field.

    If the objects have a flag such as `is_supporting`, the paths select only objects whose flag is
    true. If the objects have an ID, a text, a start and an end, there is only a path of spans.
    """
    first: dict[str, Any] = {}
    for item in column.items:
        first |= {key: value for key, value in item.items() if value is not None}
    flag = next(
        (key for key in first if _FLAG.match(str(key)) and str(first[key]).lower() in _FLAGS), None
    )
    each = f"{column.path}[{flag}]" if flag else f"{column.path}[]"
    names = {snake(str(key)): str(key) for key in first}

    def named(choices: Iterable[str], kind: type | tuple[type, ...] = object) -> str | None:
        keys = (names[name] for name in choices if name in names)
        return next((key for key in keys if isinstance(first[key], kind)), None)

    key = named(_id_keys(names), (str, int))
    text = named(usual.TEXT_KEYS, str)
    text = text or named((n for n in names if n.rpartition("_")[2] in usual.TEXT_KEYS[:-1]), str)
    ends = [named(usual.STARTS), named(usual.ENDS)]
    if isinstance(first.get("span"), list):
        ends = ["span[0]", "span[1]"]
    if key and text and None not in ends:
        document = key if key != text else names.get("source", key)
        return {
            TEXTS: f"{each}.{{text: {text}, source: {document}, start: {ends[0]}, end: {ends[1]}}}"
        }
    found = {}
    grade = named(usual.GRADE_KEYS)
    if key is not None and grade is not None and is_number(first[grade]) and not flag:
        found[IDS] = f"{each}.{{id: {quoted(key)}, grade: {quoted(grade)}}}"
    elif key is not None:
        found[IDS] = f"{each}.{_with_place(key, column)}"
    if text is not None and text != key and not (flag and key == "title"):
        found[TEXTS] = f"{each}.{quoted(text)}"
    return found


def _id_keys(names: Iterable[str]) -> Iterator[str]:
    """Yield the keys that may hold an ID, the most likely first."""
    *sure, title, source, source_id, name, ref = usual.ID_KEYS
    yield from sure
    for each in names:  # URLs and files, such as `page_url`
        if each.rpartition("_")[2] in ("url", "uri", "link", "file", "filename", "path"):
            yield each
    for each in names:  # other IDs, such as `kb_id`
        words = roles_of(each)
        if each.endswith("_id") and not words & (usual.PLACES | usual.OTHERS | usual.PEOPLE):
            yield each
    yield from (title, source, source_id, name, ref)


def _with_place(key: str, column: ColumnValues) -> str:
    """Return the path of an ID, joined with the place in the document if the objects have one.

    A place is a number or a short name, not a heading of several words.
    """
    places = [
        part
        for part in column.parts()
        if _is_place(part) and not part.name.endswith(("text", "title", "_full_page"))
        and not any(" " in str(item).strip() or "::" in str(item) for item in part.items)
    ]  # fmt: skip
    if not places or key in ("chunk_id", "passage_id", "node_id", "url", "link"):
        return quoted(key)
    *_, name = path_of(places[0].path).steps
    return f"{{{key}}}#{{{name}{'[]' if places[0].has_lists else ''}}}"


_FLAGS = frozenset({"true", "false", "0", "1"})


def _is_place(column: ColumnValues) -> bool:
    """Return whether a column is named like a place: `page`, `page_num`, but not `page_title`."""
    *_, last = column.name.split("_")
    is_number = last in ("num", "number", "id", "no", "index", "idx")
    is_place = bool(column.words & usual.PLACES) and not column.words & usual.OFFSETS
    return is_place and (is_number or singular(last) in usual.PLACES)
