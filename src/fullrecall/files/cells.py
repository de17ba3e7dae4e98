"""Convert the cells of rows to the form that their field has: one value, or a list."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.strict_json import parsed
from fullrecall.samples.identifiers import is_texts
from fullrecall.samples.sample import Sample

_TEXT = frozenset({"reference", "response"})
TRUTHS = frozenset({"answerable", "judged"})
_SINGLE = _TEXT | TRUTHS | {"id", "user_input", "group", "retrieval"}
_LISTS = frozenset(Sample.names()) - _SINGLE
"""The fields that hold lists or objects."""

ID_FIELDS = frozenset({"retrieved_context_ids", "reference_context_ids", "forbidden_ids"})
_TEXTS = frozenset({"reference_contexts", "forbidden_contexts", "reference_claims"})
_SEPARATORS = (";", "|", "\n", ",")
_LONGEST_ID = 200
_FEWEST_WORDS = 4
_NOTHING = frozenset({"null", "none", "nan", "na", "n/a", "nat", "<na>"})
"""The words that tables have in place of a missing value; they are never IDs."""

_LONGEST_PYTHON = 1 << 20
"""The most characters of a list in Python's notation; longer texts are not parsed."""

_FILE = re.compile(
    r"\w://|::|§\s?\d|\.(pdf|md|mdx|txt|rst|html?|docx?|xlsx?|pptx?|csv|json|xml|py|ya?ml)\b"
)
_SEVERAL = re.compile(r"; | \| ")
_PLACE = re.compile(r"\S:[^\W\d_]")


def has_mark(text: str) -> bool:
    """Return whether a text has a mark of IDs: a file's ending, a URL, `::`, or `§` and a number.

    A colon inside a word (`Act 12:annex III`) is also a mark, unless the text ends like a sentence.
    A text of more than 200 characters has none.
    """
    if len(text) > _LONGEST_ID:
        return False
    is_place = bool(_PLACE.search(text)) and text[-1] not in ".!?"
    return is_place or bool(_FILE.search(text.lower()))


def opened(value: Any) -> Any:
    """Return the list or object that a text holds in JSON, or the list in Python's notation.

    Any other value is returned as it is.
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return _bracketed(value.strip())
    except InputError:
        return value


def items_of(value: Any) -> list[Any]:
    """Return the items of a list, or of a list written as text; any other value is one item.

    An object of equally long lists, in which Hugging Face stores a list of objects, becomes that
    list of objects.
    """
    value = opened(value)
    if isinstance(value, str):
        return _separated_ids(value) or [value]
    if is_parallel(value):
        return [dict(zip(value, each, strict=True)) for each in zip(*value.values(), strict=True)]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def is_parallel(value: Any) -> bool:
    """Return whether a value is an object of two or more lists that are equally long."""
    if not isinstance(value, Mapping) or len(value) < 2:  # noqa: PLR2004 - one list is a list
        return False
    return all(isinstance(each, list) for each in value.values()) and (
        len({len(each) for each in value.values()}) == 1
    )


def cell_of(field: str, column: str, value: Any) -> Any:
    """Return a cell in the form of a field: a list, a truth value, a text, or the cell itself.

    In a field that holds a list, a blank text becomes None. In a field that holds one text, a list
    of one item becomes the item, and numbers, dates and booleans become texts.
    """
    if field in _LISTS:
        return _listed(field, column, value)
    if field in TRUTHS and isinstance(value, str):
        return {"yes": True, "no": False, "1": True, "0": False}.get(value.strip().lower(), value)
    if field in _TEXT and not (isinstance(value, str) and column == field):
        value = _sole(opened(value) if isinstance(value, str) and value[:1] == "[" else value)
        if isinstance(value, bool):
            return str(value).lower()
        return str(value) if isinstance(value, (int, float, date)) else value
    return value


def _sole(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value


def _listed(field: str, column: str, value: Any) -> Any:
    """Return the list or object that a cell of a list field holds; None for a blank text."""
    if isinstance(value, str):
        return _list_cell(column, field, value) if value.strip() else None
    if field in ID_FIELDS and isinstance(value, list) and column != field:
        is_plain = is_texts(value) and not _SEVERAL.search("\n".join(value))
        return value if is_plain else [part for item in value for part in parts_of(item)]
    is_one = isinstance(value, int) and not isinstance(value, bool) and field in ID_FIELDS
    return [value] if is_one or _is_context(field, value) else value


def _is_context(field: str, value: Any) -> bool:
    return field == "reference_contexts" and isinstance(value, Mapping)


def parts_of(item: Any) -> list[Any]:
    """Split an item such as `D1:5; D2:8` into its IDs; any other item is the only part."""
    if isinstance(item, str) and _SEVERAL.search(item) and "," not in item:
        return _separated_ids(item) or [item]
    return [item]


def _list_cell(column: str, field: str, cell: str) -> object:
    """Return the list that a text holds in JSON or Python's notation, or as IDs with a separator.

    A text that is one ID or one passage becomes a list of one item. Raises `InputError` for any
    other text, such as one that may mean several lists.
    """
    text, why = cell.strip(), "write the list as JSON"
    if text[:1] in ("[", "{"):
        try:
            return _bracketed(text)
        except InputError as error:
            why = error.problem
    elif field in ID_FIELDS and (ids := _separated_ids(text)):
        return ids
    elif field in ID_FIELDS and _is_one_id(text):
        return [text]
    elif field in _TEXTS and _is_one_text(text):
        return [cell]
    raise InputError(
        f'{column}: expected a JSON array such as ["a", "b"], got {shown(cell)}: {why}',
        field=column,
    )


def _is_one_id(text: str) -> bool:
    """Return whether a text with blanks is one ID, such as a title: it has no separator.

    A comma does not count as a separator in a text with a mark of IDs, such as a file's ending.
    """
    separators = ";|\n" if has_mark(text) else ";|\n,"
    return not set(separators) & set(text) and text.lower() not in _NOTHING


def _is_one_text(text: str) -> bool:
    """Return whether a text is one passage or claim: it has at least 4 words, or no separator."""
    if len(text.split()) >= _FEWEST_WORDS:
        return True
    return not any(each in text for each in _SEPARATORS) and text.lower() not in _NOTHING


def _bracketed(text: str) -> object:
    """Return the JSON value or Python list in a text; raise `InputError` for any other text."""
    try:
        return parsed(text)
    except InputError:
        items = _python_list(text)
        if items is None:
            raise
        return items


def _python_list(text: str) -> list[object] | None:
    """Return the list that a text holds in Python's notation; None for any other text.

    Pandas writes lists to CSV in this notation. NumPy prints arrays without commas, so that Python
    would join their texts, and shortens long arrays with dots. Therefore a list is accepted only if
    Python prints it as the same text.
    """
    if len(text) > _LONGEST_PYTHON:
        return None
    try:
        items = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return items if isinstance(items, list) and repr(items) == text else None


def _separated_ids(text: str) -> list[str]:
    """Split a text with one kind of separator into IDs; return [] if that is ambiguous.

    A text without a separator is one part. Parts with white space are IDs only if all parts have
    the mark of a file or URL.
    """
    separators = [separator for separator in _SEPARATORS if separator in text]
    if len(separators) > 1:
        return []
    parts = text.split(separators[0]) if separators else [text]
    ids = [part.strip() for part in parts if part.strip()]
    if any(len(name) > _LONGEST_ID or name.lower() in _NOTHING for name in ids):
        return []
    marked = [bool(_FILE.search(name.lower())) for name in ids]
    # A comma may be part of a file's name, as in "Gibbs, Josiah.pdf".
    may_be_one = separators == [","] and any(marked)
    are_ids = all(marked) or not (may_be_one or any(len(name.split()) > 1 for name in ids))
    return ids if are_ids else []
