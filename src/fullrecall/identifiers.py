"""What may stand for the ID of a context, and the one form in which IDs are compared.

Frameworks hand out `int`, `str` and `UUID` for the same document, so IDs are compared as `str`.
Floats are refused rather than guessed at: `1.0` is nearly always an int column that a data frame
with gaps has turned into floats, and `"1.0" != "1"` would silently score 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from operator import index
from typing import Any, TypeGuard
from uuid import UUID


def as_id(value: object) -> str:
    """Return `value` as an ID, `""` for a blank one.

    Raises `ValueError` for anything but `str`, `int` (NumPy's included) and `UUID`.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, UUID):
        return str(value)
    if not isinstance(value, bool):
        try:
            return str(index(value))  # type: ignore[arg-type]
        except TypeError:
            pass
    hint = ""
    if isinstance(value, float):
        hint = "; an int column with gaps becomes float in pandas: convert it with astype('Int64')"
    raise ValueError(f"{value!r} is not an ID: expected a str or an int{hint}")


def as_list(value: object, *, ordered: bool) -> list[object]:
    """Return a list-like `value` as a list.

    Raises `ValueError` for a bare `str` (its characters would pass for items), for bytes, for
    mappings, and for sets where the order is the rank.
    """
    if type(value) is list:  # nearly always, and the checks below take longer than the copy
        return value.copy()
    if isinstance(value, (str, bytes, bytearray)):
        raise ValueError(
            f"expected a list, got the {type(value).__name__} {shown(value)}: wrap it, "
            f"[{shown(value)}]"
        )
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"expected a list, got {type(value).__name__} {shown(value)}")
    if ordered and isinstance(value, AbstractSet):
        raise ValueError("expected a list, got a set, which has no order: the order is the rank")
    return list(value)


def as_listed_ids(value: object) -> tuple[str | None, ...]:
    """Return retrieved IDs in rank order; None or a blank text where a context has no ID."""
    ids: Any = value if type(value) is list else as_list(value, ordered=True)
    try:
        "".join(ids)  # what `is_texts` does, without a call of its own
    except TypeError:
        return tuple(None if item is None else as_id(item) or None for item in ids)
    return tuple(ids)


def is_texts(items: list[object]) -> TypeGuard[list[str]]:
    """Return whether all items are `str`, in less time than looking at the type of each takes."""
    try:
        "".join(items)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def shown(value: object, limit: int = 60) -> str:
    """Return the `repr` of `value`, cut so that a message stays one readable line."""
    if isinstance(value, (str, bytes, bytearray)):
        value = value[: limit + 1]
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
