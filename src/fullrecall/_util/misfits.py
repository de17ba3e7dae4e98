"""Find the argument of a failed public call that does not fit the types in its signature."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from math import isfinite
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

from fullrecall._util.values import shown

_MOST_CHECKED = 100
"""The most items of a container whose types are checked."""

_MOST_WITHIN = 100_000
"""The most items of an argument, at any level, that are checked for odd values."""

_DEEPEST = 20
"""The most levels of containers that are checked; few values have as many."""

_MOST_DIGITS = 10**100

_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
"""A NUL, or a surrogate, which UTF-8 cannot encode."""

_OF_PROTOCOLS = ("__call__", "__getitem__", "__iter__", "__len__")


class Misfit(NamedTuple):
    """The name of an argument, or of a field of its value, and the reason why it does not fit."""

    name: str
    problem: str


def misfit(
    function: Callable[..., Any], given: Mapping[str, Any], owner: object = None
) -> Misfit | None:
    """Return the first argument that a call of `function` cannot work with; None if all fit.

    `given` are its arguments by name, and `owner` is the object of a method, or its class. An
    argument does not fit in three cases: it has another type than the signature says; it has an
    item of another type; or its value is odd, such as a number of too many digits, or a text that
    no file can hold. Fields of this package's own values are checked as well, since users can make
    these values too.
    """
    kinds = (owner if isinstance(owner, type) else type(owner)).__mro__
    hints = _Hints([getattr(function, "__globals__", {}).get("__name__"), *_modules(kinds)])
    parameters = inspect.signature(function).parameters
    for name, value in given.items():
        parameter = parameters.get(name)
        several = parameter is not None and parameter.kind is parameter.VAR_POSITIONAL
        for each in value if several else (value,):
            if parameter is None or each is parameter.default:
                continue
            if not hints.fits(each, parameter.annotation):
                return Misfit(name, f"must be {_text(parameter.annotation)}, got {shown(each)}")
    own = {} if owner is None or isinstance(owner, type) else {type(owner).__name__: owner}
    for name, value in {**given, **own}.items():
        found = _odd(value, name) or _field_misfit(value, name)
        if found is not None:
            return found
    return None


def _modules(kinds: Iterable[type]) -> list[str]:
    return [kind.__module__ for kind in kinds if "fullrecall" in kind.__module__]


def _text(annotation: object) -> str:
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _field_misfit(value: object, name: str, depth: int = 0) -> Misfit | None:
    """Return the misfit of the first field that does not fit; None if all fields fit.

    Only fields of objects of this package are checked: of `value`, of objects in its fields, and of
    objects in lists and tuples.
    """
    if depth > _DEEPEST:
        return None
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        within = (_field_misfit(each, name, depth + 1) for each in value[:_MOST_CHECKED])
        return next((each for each in within if each is not None), None)
    kind = type(value)
    if "fullrecall" not in kind.__module__:
        return None
    hints = _Hints(_modules(kind.__mro__))
    for field, annotation in _annotations(value):
        held = getattr(value, field, None)
        place = f"{name}.{field}"
        if not hints.fits(held, annotation):
            return Misfit(place, f"must be {_text(annotation)}, got {shown(held)}")
        found = _odd(held, place) or _field_misfit(held, place, depth + 1)
        if found is not None:
            return found
    return None


def _annotations(value: object) -> Iterator[tuple[str, object]]:
    if is_dataclass(value):
        yield from ((field.name, field.type) for field in fields(value))
    elif isinstance(value, tuple):
        yield from getattr(type(value), "__annotations__", {}).items()


def _odd(value: object, name: str) -> Misfit | None:
    """Return a `Misfit` if a value, or an item at any depth in it, is odd; else None.

    Odd values are numbers that are not finite or have too many digits, texts that no file can hold,
    and containers with too many levels.
    """
    for depth, each in islice(_with_items(value), _MOST_WITHIN):
        problem = ""
        if depth > _DEEPEST:
            problem = f"must not have more than {_DEEPEST} levels of lists"
        elif isinstance(each, int):
            problem = "must be a number of at most 100 digits" if abs(each) >= _MOST_DIGITS else ""
        elif isinstance(each, float):
            problem = "" if isfinite(each) else "must be a finite number"
        elif isinstance(each, str) and _UNWRITABLE.search(each):
            problem = "must be a text without NUL and without half characters"
        if problem:
            within = "has an item that " if depth else ""
            return Misfit(name, f"{within}{problem}, got {shown(each)}")
    return None


def _with_items(value: object, depth: int = 0) -> Iterator[tuple[int, object]]:
    """Yield a value and all items within, each with the number of lists or mappings around it."""
    yield depth, value
    items: Iterable[object] = ()
    if isinstance(value, Mapping):
        items = (each for pair in value.items() for each in pair)
    elif isinstance(value, (list, tuple, set, frozenset)):
        items = value
    for each in items if depth <= _DEEPEST else ():
        yield from _with_items(each, depth + 1)


class _Hints(dict[str, Any]):
    """A namespace in which the annotations of some modules are evaluated.

    It includes the names that the modules import only for type checkers.
    """

    def __init__(self, modules: Sequence[str | None]) -> None:
        super().__init__()
        self._modules = [sys.modules[name] for name in modules if name in sys.modules]

    def __missing__(self, name: str) -> object:
        for module in self._modules:
            if hasattr(module, name):
                return getattr(module, name)
            where = _checked_imports(module.__name__).get(name)
            if where is not None:
                return getattr(import_module(where), name)
        raise KeyError(name)

    def fits(self, value: object, hint: Any, depth: int = 0) -> bool:  # noqa: PLR0911 - by form
        """Return whether a value fits an annotation; True if the annotation cannot be evaluated."""
        if isinstance(hint, (str, ForwardRef)):
            text = hint if isinstance(hint, str) else hint.__forward_arg__
            try:
                hint = eval(text, {}, self)  # noqa: S307 - an annotation of this package
            except Exception:  # noqa: BLE001 - a name of a package that is not installed
                return True
        if depth > _DEEPEST or hint is Any or hint is inspect.Parameter.empty:
            return True
        origin, of = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            return any(self.fits(value, each, depth + 1) for each in of)
        if origin is Literal:
            return any(value is each or value == each for each in of)
        if origin is Annotated:
            return self.fits(value, of[0], depth + 1)
        if origin is not None and isinstance(origin, type) and origin not in (type, Callable):
            return self._holds(value, origin, of, depth + 1)
        return _is_of(value, hint if origin is None else origin)

    def _holds(self, value: object, kind: type, of: Sequence[Any], depth: int) -> bool:
        """Return whether a value is a container of this kind, with items of these types."""
        if not _is_of(value, kind) or isinstance(value, (str, bytes)):
            return False
        try:
            if isinstance(value, Mapping):
                pairs = islice(value.items(), _MOST_CHECKED)
                return len(of) != 2 or all(  # noqa: PLR2004 - a key and a value
                    self.fits(key, of[0], depth) and self.fits(each, of[1], depth)
                    for key, each in pairs
                )
            if not isinstance(value, Collection):  # reading it would use it up
                return True
            if isinstance(value, tuple) and kind is tuple and Ellipsis not in of:
                return len(value) == len(of) and all(map(self.fits, value, of))
            return all(self.fits(each, of[0], depth) for each in islice(value, _MOST_CHECKED))
        except Exception:  # noqa: BLE001 - of a stranger's class
            return False


def _is_of(value: object, kind: Any) -> bool:  # noqa: PLR0911 - one for each kind
    """Return whether a value is of a type.

    For a type of numbers, or a protocol of this package, it is enough that the value has the
    methods of that type.
    """
    if isinstance(kind, TypeVar) or kind is object:
        return True
    if kind is None or kind is NoneType:
        return value is None
    if kind is Callable:
        return callable(value)
    if kind is int:
        return hasattr(type(value), "__index__") and not isinstance(value, bool)
    if kind is float:
        number = hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
        return number and not isinstance(value, bool)
    if is_typeddict(kind):
        return isinstance(value, Mapping)
    if getattr(kind, "_is_protocol", False) and "fullrecall" in kind.__module__:
        return all(hasattr(value, name) for name in _members(kind))
    try:
        return isinstance(value, getattr(kind, "__supertype__", kind))
    except TypeError:
        return True


def _members(protocol: type) -> set[str]:
    """Return the names of the attributes and methods that a protocol requires."""
    own = [each for each in protocol.__mro__ if getattr(each, "_is_protocol", False)]
    names = {name for each in own for name in (*vars(each), *vars(each).get("__annotations__", {}))}
    return {name for name in names if not name.startswith("_") or name in _OF_PROTOCOLS}


@cache  # One misfit asks for thousands of names, and reading a source takes milliseconds.
def _checked_imports(module: str) -> Mapping[str, str]:
    """Return the names that a module imports, also those for type checkers only, by their module.

    A program without its sources has none.
    """
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for each in node.names:
                names.setdefault(each.asname or each.name, node.module)
    return names
