"""Equality, hash, and `repr` of dataclasses, compiled once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any


class ValueObject:
    """Base that gives dataclasses with `eq=False, repr=False` the methods that they lack.

    `dataclass` compiles source code for each method of each class. At the start of a small program,
    this takes longer than anything else.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = _values_of(type(self))
        return bool(values(self) == values(other))

    def __hash__(self) -> int:
        return hash(_values_of(type(self))(self))

    @recursive_repr()
    def __repr__(self) -> str:
        own = ((each.name, getattr(self, each.name)) for each in fields(self) if each.repr)  # type: ignore[arg-type]
        inside = ", ".join(f"{name}={value!r}" for name, value in own)
        return f"{type(self).__qualname__}({inside})"


def _reader(kind: Any) -> attrgetter[Any]:
    """Return the function that reads the compared fields of an object."""
    return attrgetter(*(each.name for each in fields(kind) if each.compare))


_values_of: Callable[[type], attrgetter[Any]] = cache(_reader)
