"""Whether a retriever is the one that was asked before: its name, its code, its plain settings."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from hashlib import sha256
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

_PLAIN = (str, bytes, int, float, bool, type(None))

_DEEPEST = 8
"""How far settings within settings are looked into."""


def identity_of(retriever: object) -> str:
    """Return a name with a digest that changes with the code and the plain settings of a retriever.

    Settings are defaults, closed-over values, the arguments of a `functools.partial`, and the
    attributes of an object, as far as they are texts, numbers, functions, or tuples of these. What
    can change while it works, such as a list or an index, is not looked into.
    """
    digest = sha256("\n".join(_parts(retriever, 0)).encode("utf-8", "backslashreplace"))
    return f"{_name(retriever)} {digest.hexdigest()[:12]}"


def _name(retriever: object) -> str:
    if isinstance(retriever, functools.partial):
        return _name(retriever.func)
    owner = retriever if hasattr(retriever, "__qualname__") else type(retriever)
    return f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', '')}"


def _parts(value: object, depth: int) -> Iterator[str]:
    """Yield everything that makes a value what it is, as texts."""
    if isinstance(value, _PLAIN):
        yield repr(value)
    elif isinstance(value, frozenset):  # in another order in each process
        yield repr(sorted(map(repr, value)))
    elif depth <= _DEEPEST:
        yield "(" if isinstance(value, (tuple, CodeType)) else _name(value)
        for setting in _settings(value):
            yield from _parts(setting, depth + 1)


def _settings(value: Any) -> Iterable[object]:
    """Return the values that a compound one is made of."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, functools.partial):
        return value.func, value.args, tuple(sorted(value.keywords.items()))
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_consts
    if isinstance(value, FunctionType):
        cells = [cell for cell in value.__closure__ or () if cell != CellType()]  # some are empty
        closed = tuple(cell.cell_contents for cell in cells)
        named = tuple((value.__kwdefaults__ or {}).items())
        return value.__code__, value.__defaults__, named, closed
    kind = value if isinstance(value, type) else type(value)
    methods = [getattr(kind, name, None) for name in ("retrieve", "aretrieve", "__call__")]
    setting_types = (*_PLAIN, tuple, FunctionType)
    attributes = () if kind is value else getattr(value, "__dict__", {}).items()
    settings = sorted(
        (name, setting) for name, setting in attributes if isinstance(setting, setting_types)
    )
    return [m.__code__ for m in methods if isinstance(m, FunctionType)] + settings
