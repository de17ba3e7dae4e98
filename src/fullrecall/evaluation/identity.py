"""Whether a retriever is the one that was asked before: its name, its code, its plain settings."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any

_PLAIN = (str, bytes, int, float, bool, type(None))

_DEEPEST = 4
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
    if depth > _DEEPEST:
        return
    if isinstance(value, _PLAIN):
        yield repr(value)
    elif isinstance(value, functools.partial):
        yield from _parts((value.func, *value.args), depth)
        yield from _parts(tuple(sorted(value.keywords.items())), depth)
    elif isinstance(value, MethodType):
        yield from _parts((value.__func__, value.__self__), depth)
    elif isinstance(value, FunctionType):
        yield from _of_function(value, depth)
    elif isinstance(value, tuple):
        for item in value:
            yield from _parts(item, depth + 1)
    else:
        yield from _of_object(value, depth)


def _of_function(function: FunctionType, depth: int) -> Iterator[str]:
    yield f"{function.__module__}.{function.__qualname__}"
    yield from _of_code(function.__code__)
    yield from _parts(function.__defaults__, depth + 1)
    yield from _parts(tuple((function.__kwdefaults__ or {}).items()), depth + 1)
    for cell in function.__closure__ or ():
        try:
            yield from _parts(cell.cell_contents, depth + 1)
        except ValueError:  # a cell that is not filled yet
            continue


def _of_code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
        elif isinstance(constant, frozenset):  # in another order in each process
            yield repr(sorted(map(repr, constant)))
        else:
            yield repr(constant)


def _of_object(value: Any, depth: int) -> Iterator[str]:
    kind = value if isinstance(value, type) else type(value)
    yield f"{kind.__module__}.{kind.__qualname__}"
    for name in ("retrieve", "aretrieve", "__call__"):
        method = getattr(kind, name, None)
        if isinstance(method, FunctionType):
            yield from _of_code(method.__code__)
    settings: dict[str, Any] = {} if kind is value else getattr(value, "__dict__", {})
    for name in sorted(settings):
        if isinstance(settings[name], (*_PLAIN, tuple, FunctionType)):
            yield f"{name}="
            yield from _parts(settings[name], depth + 1)
