"""Texts of a table that stand for lists."""

from __future__ import annotations

import ast

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.strict_json import parsed
from fullrecall.samples.sample import Sample

_SINGLE = {
    "id",
    "user_input",
    "reference",
    "answerable",
    "judged",
    "response",
    "group",
    "retrieval",
}
LISTS = frozenset(Sample.names()) - _SINGLE
"""The fields that hold lists or objects."""

_IDS = frozenset({"retrieved_context_ids", "reference_context_ids", "forbidden_ids"})
_TEXTS = frozenset({"reference_contexts", "forbidden_contexts"})
_SEPARATORS = (";", "|", "\n", ",")
_LONGEST_ID = 200
_FEWEST_WORDS = 4
_NOTHING = frozenset({"null", "none", "nan", "na", "n/a", "nat", "<na>"})
"""What tables write where nothing is given: not an ID."""

_LONGEST_PYTHON = 1 << 20
"""Characters of a list in Python's notation that is read."""


def list_cell(column: str, field: str, cell: str) -> object:
    """Return the list that a text stands for: JSON, Python's notation, or separated IDs.

    Raises `InputError` for a text that may mean several lists.
    """
    text, why = cell.strip(), "write the list as JSON"
    if text[:1] in ("[", "{"):
        try:
            return _bracketed(text)
        except InputError as error:
            why = error.problem
    elif field in _IDS and (ids := _separated_ids(text)):
        return ids
    elif field in _TEXTS and len(text.split()) >= _FEWEST_WORDS:
        return [cell]
    raise InputError(
        f'{column}: expected a JSON array such as ["a", "b"], got {shown(cell)}: {why}',
        field=column,
    )


def _bracketed(text: str) -> object:
    """Return the JSON, or the list of Python, that a text is; raise `InputError` for neither."""
    try:
        return parsed(text)
    except InputError:
        items = _python_list(text)
        if items is None:
            raise
        return items


def _python_list(text: str) -> list[object] | None:
    """Return a list as Python prints it, such as pandas writes it to CSV; None for any other.

    NumPy prints lists without commas, whose texts Python would join, and cuts long ones with dots:
    what does not print as it was written is not read.
    """
    if len(text) > _LONGEST_PYTHON:
        return None
    try:
        items = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return items if isinstance(items, list) and repr(items) == text else None


def _separated_ids(text: str) -> list[str]:
    """Return the IDs of a text with one kind of separator; none where it may mean something else.

    An ID has no white space within; one without a separator is a list of one.
    """
    separators = [separator for separator in _SEPARATORS if separator in text]
    if len(separators) > 1:
        return []
    parts = text.split(separators[0]) if separators else [text]
    ids = [part.strip() for part in parts if part.strip()]
    are_ids = all(len(name) <= _LONGEST_ID and len(name.split()) == 1 for name in ids)
    return ids if are_ids and not any(name.lower() in _NOTHING for name in ids) else []
