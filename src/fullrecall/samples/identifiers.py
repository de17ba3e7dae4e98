"""Convert the values that may be a context's ID to the form in which IDs are compared.

Frameworks return `int`, `str` and `UUID` for the same document, so IDs are compared as `str`.
Floats are refused: `1.0` nearly always comes from a column of ints that a data frame converted to
floats because of missing values, and `"1.0" != "1"` would silently score 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from operator import index
from typing import Any, TypeGuard
from unicodedata import category

from fullrecall._util.parameters import MOST_ITEMS as _MOST_ITEMS
from fullrecall._util.values import shown
from fullrecall.errors import InputError


def as_id(value: object) -> str:
    """Return `value` as an ID, which is a `str`; an empty text stays "".

    Raises `InputError` for a value that cannot be an ID.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, bool):  # A bool is an int: True would be the ID "1".
        try:
            return str(index(value))  # type: ignore[arg-type]
        except TypeError:
            pass
    if is_uuid(value):
        return str(value)
    hint = ""
    if isinstance(value, float):
        hint = "; an int column with gaps becomes float in pandas: convert it with astype('Int64')"
    raise InputError(f"{value!r} is not an ID: expected a str or an int{hint}")


_LONGEST_ID = 200
_MOST_UNCASED = 20


def looks_like_id(value: object) -> bool:
    """Return whether a value looks like an ID: a whole number, a UUID, or a short word.

    A word has no whitespace and at most 200 characters. A word that is not ASCII meets two more
    conditions: it has no mark that ends a sentence, and at most 20 letters of scripts without case,
    since these scripts may write a sentence without a space.
    """
    if isinstance(value, str):
        if not 0 < len(value) <= _LONGEST_ID or len(value.split()) != 1:
            return False
        if value.isascii():
            return True
        uncased = sum(category(letter) == "Lo" for letter in value)
        return uncased <= _MOST_UNCASED and not set(value) & _SENTENCE_MARKS
    if isinstance(value, (bool, float)):
        return False
    return hasattr(type(value), "__index__") or is_uuid(value)


def is_uuid(value: object) -> bool:
    """Return whether a value is a UUID."""
    module = sys.modules.get("uuid")  # its import takes long, and without it no value is a UUID
    return isinstance(value, getattr(module, "UUID", ()))


_SENTENCE_MARKS = frozenset("。，、！？；।؟۔။།")


def as_list(value: object, *, ordered: bool) -> list[object]:
    """Convert a list-like value to a list.

    Raises `InputError` for a bare `str` (its characters would pass for items), for bytes, for
    mappings, and, if `ordered`, for sets.
    """
    # Nearly always true; the checks below take longer than the copy.
    if type(value) is list:
        return value.copy()
    if type(value) is tuple:
        return list(value)
    if isinstance(value, (str, bytes, bytearray)):
        several = isinstance(value, str) and any(mark in value for mark in "[,;|\n")
        way_out = "pass its items as a list" if several else f"wrap it, [{shown(value)}]"
        raise InputError(
            f"expected a list, got the {type(value).__name__} {shown(value)}: {way_out}"
        )
    for name in ("tolist", "to_list", "to_pylist", "as_py"):  # NumPy, polars, Arrow
        items = read() if callable(read := getattr(value, name, None)) else None
        if type(items) is list:
            return items
    is_number = getattr(value, "shape", None) == ()  # an array without dimensions
    if is_number or isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise InputError(f"expected a list, got {type(value).__name__} {shown(value)}")
    if ordered and isinstance(value, AbstractSet):
        raise InputError("expected a list, got a set, which has no order: the order is the rank")
    return bounded(value)


def bounded(items: Iterable[Any]) -> list[Any]:
    """Return items as a list; raise `InputError` for more items than any retriever returns."""
    listed = list(islice(items, _MOST_ITEMS + 1))
    if len(listed) > _MOST_ITEMS:
        raise InputError(f"expected a list, got more than {_MOST_ITEMS:,} items: does it end?")
    return listed


def as_listed_ids(value: object) -> tuple[str | None, ...]:
    """Return retrieved IDs in rank order; None for a context without an ID, or with a blank one."""
    is_plain = type(value) is list or type(value) is tuple  # a plain list need not be copied
    ids: Any = value if is_plain else as_list(value, ordered=True)
    texts = as_texts(ids)
    if texts is not None and all(texts):
        return tuple(texts)
    return tuple([None if item is None else as_id(item) or None for item in ids])


def as_texts(items: Sequence[object]) -> Sequence[str] | None:
    """Return items that are all `str`, or all `int`, as `str`; None for any other items."""
    try:
        "".join(items)  # type: ignore[arg-type]
    except TypeError:
        try:
            return list(map(str, items)) if set(map(type, items)) == {int} else None
        except ValueError:  # such as a number of thousands of digits
            return None
    return items  # type: ignore[return-value]


def is_texts(items: Sequence[object]) -> TypeGuard[Sequence[str]]:
    """Return whether all items are `str`; this is faster than a check of each type."""
    try:
        "".join(items)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def each_of(items: Iterable[object], convert: Callable[[object], Any]) -> list[Any]:
    """Convert each item; an `InputError` names the position of one that cannot be converted."""
    converted = []
    for position, item in enumerate(items):
        try:
            converted.append(convert(item))
        except ValueError as error:
            raise InputError(f"item {position}: {error}") from None
    return converted
