"""A runnable with parts of it exchanged, however deep they stand; the original stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from langchain_core.runnables import Runnable
from pydantic import BaseModel

T = TypeVar("T")

Exchange = Callable[[Any, str | None, Any], Any]
"""Takes a value, the name of the field that holds it and the object that has this field; returns
another value in its place, or the same to have its own parts looked at."""


def rebuilt(runnable: T, exchange: Exchange) -> T:
    """Return `runnable` with the parts exchanged that `exchange` returns another value for.

    Parts are what stands in fields, lists and mappings of runnables; functions and private
    attributes are not looked into. Only what has to change is copied, `runnable` itself if nothing.
    """
    new: T = _rebuilt(runnable, exchange, None, None, frozenset())
    return new


def _rebuilt(
    value: Any, exchange: Exchange, name: str | None, owner: Any, around: frozenset[int]
) -> Any:
    if id(value) in around:
        return value
    around |= {id(value)}

    def part(old: Any) -> Any:
        return _rebuilt(old, exchange, name, owner, around)

    if type(value) in (list, tuple):
        items = [part(item) for item in value]
        return value if _same(items, value) else type(value)(items)
    if isinstance(value, dict):
        items = [part(item) for item in value.values()]
        return value if _same(items, value.values()) else dict(zip(value, items, strict=True))
    other = exchange(value, name, owner)
    if other is not value:
        return other
    if not (isinstance(value, Runnable) and isinstance(value, BaseModel)):
        return value
    fields = {field: getattr(value, field) for field in type(value).model_fields}
    new = {field: _rebuilt(old, exchange, field, value, around) for field, old in fields.items()}
    changes = {field: new[field] for field, old in fields.items() if new[field] is not old}
    return value.model_copy(update=changes) if changes else value


def _same(items: list[Any], others: Any) -> bool:
    return all(each is other for each, other in zip(items, others, strict=True))
