"""Texts of a table that stand for lists, and columns whose name does not say what they hold."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from typing import Any

from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.read.strict_json import parsed

LISTS = frozenset(
    {
        "retrieved_contexts",
        "retrieved_context_ids",
        "reference_contexts",
        "reference_context_ids",
        "reference_claims",
        "reference_entities",
        "forbidden_ids",
        "forbidden_contexts",
        "superseded",
        "metadata",
    }
)
"""The fields that hold lists or objects."""

_IDS = frozenset({"retrieved_context_ids", "reference_context_ids", "forbidden_ids"})
_PASSAGES = frozenset({"reference_contexts", "forbidden_contexts"})
_SEPARATORS = (";", "|", "\n", ",")
_LONGEST_ID = 200
_MARKED = re.compile(r"[\d_/#:]|\w[-.]\w")
"""What IDs have within, and words mostly have not."""

_FEWEST_WORDS = 4
_NOTHING = frozenset({"null", "none", "nan", "na", "n/a", "nat", "<na>"})
"""What tables write where nothing is given: not an ID."""

_LONGEST_PYTHON = 1 << 20
"""Characters of a list in Python's notation that is read."""

AMBIGUOUS = frozenset({"expected", "gold", "relevant", "ground_truth", "ground_truths"})
"""Names of columns that hold an answer in one data set and IDs in another."""


def list_cell(column: str, field: str, cell: str) -> object:
    """Return the list that a text stands for: JSON, Python's notation, or separated IDs.

    Raises `InputError` for a text that may mean several lists.
    """
    text = cell.strip()
    if text[:1] in ("[", "{"):
        return _bracketed(column, text)
    if field in _IDS and (ids := separated_ids(text)) is not None:
        return ids
    if field in _PASSAGES and len(text.split()) >= _FEWEST_WORDS:
        return [cell]
    meant = f'{column}: expected a JSON array such as ["a", "b"], got {shown(cell)}'
    raise InputError(f"{meant}: write the list as JSON", field=column)


def _bracketed(column: str, text: str) -> object:
    try:
        return parsed(text)
    except InputError as error:
        items = _python_list(text)
        if items is not None:
            return items
        hint = ""
        if error.problem.startswith("not JSON"):
            hint = (
                "; to_csv of pandas and ragas writes Python's notation, which can lose items: "
                "write each list with json.dumps, or save JSON Lines or Parquet"
            )
        meant = f'{column}: expected a JSON array such as ["a", "b"], got {shown(text)}'
        raise InputError(f"{meant}: {error.problem}{hint}", field=column) from None


def _python_list(text: str) -> list[object] | None:
    """Return a list in Python's notation; None where an item may be lost.

    NumPy prints lists without commas, whose texts Python joins, and cuts long ones with dots:
    there are as many texts as items, or it is not read.
    """
    if len(text) > _LONGEST_PYTHON:
        return None
    try:
        items = ast.literal_eval(text)
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        strings = sum(token.type == tokenize.STRING for token in tokens)
    except (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
        return None
    if not isinstance(items, list) or strings != _count(items):
        return None
    return items


def _count(value: object) -> int:
    """Return how many texts a value of Python's notation holds."""
    if isinstance(value, str):
        return 1
    if isinstance(value, dict):
        return sum(_count(key) + _count(content) for key, content in value.items())
    return sum(map(_count, value)) if isinstance(value, (list, tuple)) else 0


def separated_ids(text: str) -> list[str] | None:
    """Return the IDs of a text with one kind of separator; None where it may mean something else.

    An ID has no white space within; one without a separator is a list of one.
    """
    there = [separator for separator in _SEPARATORS if separator in text]
    if len(there) > 1:
        return None
    parts = [part.strip() for part in text.split(there[0])] if there else [text]
    ids = [part for part in parts if part]
    if any(name.lower() in _NOTHING for name in ids):
        return None
    return ids if ids and all(map(_is_id, ids)) else None


def _is_id(text: object) -> bool:
    if isinstance(text, int) and not isinstance(text, bool):
        return True
    return isinstance(text, str) and 0 < len(text) <= _LONGEST_ID and len(text.split()) == 1


def ambiguous(column: str, name: str, value: Any) -> tuple[str, Any]:
    """Return what a column such as `expected` or `relevant` means by its value, and the value.

    A list of IDs is what must be retrieved, a list of texts too. One text is an answer, but in a
    column `relevant`. Raises `InputError` for what may be either: a word in `gold`, and one such
    as `doc_7` or `42` in `expected`.
    """
    if isinstance(value, str) and value.strip()[:1] == "[":
        value = _bracketed(column, value.strip())
    if isinstance(value, str):
        if name == "relevant":
            ids = separated_ids(value)
            return (
                ("reference_contexts", [value]) if ids is None else ("reference_context_ids", ids)
            )
        ids = separated_ids(value) if name in ("gold", "expected") else None
        if ids is not None and (name == "gold" or all(map(_MARKED.search, ids))):
            raise InputError(
                f"{column}: {shown(value)} may be an answer or an ID: say which, with rename="
                f"{{{column!r}: 'reference'}} or rename={{{column!r}: 'reference_ids'}}",
                field=column,
            )
        return "reference", value
    if isinstance(value, Sequence) and all(map(_is_id, value)):
        if len(value) == 1 and name.startswith("ground_truth"):
            return "reference", value[0]
        return "reference_context_ids", list(value)
    if isinstance(value, Sequence) and name not in ("ground_truth", "ground_truths"):
        return "reference_contexts", value
    return ("reference_context_ids" if isinstance(value, dict) else "reference"), value
