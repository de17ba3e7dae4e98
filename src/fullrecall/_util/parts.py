"""Replace parts of an object at any depth; the original stays unchanged."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from operator import is_
from typing import Any, TypeVar

T = TypeVar("T")


def rebuilt(
    value: T,
    exchange: Callable[[Any], Any],
    has_parts: Callable[[Any], bool],
    around: frozenset[int] = frozenset(),
) -> T:
    """Return `value` with each part replaced by the value that `exchange` returns for it.

    Parts are the fields of objects for which `has_parts` is true, and the items of lists, tuples
    and mappings, at any depth. Only objects with changes are copied; without any change, `value`
    itself is returned. `around` has the identities of the objects that contain `value`.
    """
    if id(value) in around:  # an object that contains itself would be copied forever
        return value
    inside = around | {id(value)}
    old: Any = value

    def exchanged(part: Any) -> Any:
        return rebuilt(part, exchange, has_parts, inside)

    if type(old) in (list, tuple):
        items = [exchanged(part) for part in old]
        changed: Any = type(old)(items)
        return old if all(map(is_, items, old)) else changed  # type: ignore[no-any-return]
    if isinstance(old, dict):
        new_items = {key: exchanged(part) for key, part in old.items()}
        return old if all(map(is_, new_items.values(), old.values())) else new_items  # type: ignore[return-value]
    new = exchange(old)
    fields = vars(new) if has_parts(new) else {}
    changes = {
        name: other for name, part in fields.items() if (other := exchanged(part)) is not part
    }
    if changes:
        new = copy(new)
        vars(new).update(changes)
    return new  # type: ignore[no-any-return]
