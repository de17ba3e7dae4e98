"""Checks of arguments: single values, and calls that do not fit a public signature."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial, wraps
from math import inf
from sys import float_info
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from fullrecall._util.values import shown
from fullrecall.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

_LONGEST = 2**53
"""The most seconds allowed: beyond this, floats skip whole numbers."""

_LONGEST_NAME = 255
"""The most characters of a file's name on any system, and bytes on most."""

_LONGEST_PATH = 4_096 if os.name == "posix" else 32_767
"""The most bytes of a path."""

_SHOWN_OF_PATH = 500
"""The most characters of a wrong path in a message: enough for the last part, which names the file.
"""

_MOST_DIGITS = 10**100
"""The smallest number that is refused: Python prints no numbers of thousands of digits, so no
message could show it.
"""

MOST_ITEMS = 5_000_000
"""The most items of one list; an endless one would take all memory."""

_INSTEAD = {
    "k": "k belongs to a measure: pass Recall @ {value!r}",
    "top_k": "k belongs to a measure: pass Recall @ {value!r}",
    "ks": "each k belongs to a measure: pass Recall @ 1, Recall @ 5",
}
"""The advice for parameters that users pass to functions that do not have them."""

_MEANT = {
    "data": "samples",
    "dataset": "samples",
    "llm": "judge",
    "metric": "scorers",
    "metrics": "scorers",
    "model": "judge",
    "questions": "samples",
    "scorer": "scorers",
}
"""Names that other tools have for a parameter."""

_CONSTRUCTORS = {"__init__", "__new__"}
_MARK = "_explains_wrong_calls"


def public(value: T, module: str | None = None) -> T:
    """Make wrong calls of a function or class raise `ParameterError`; return other values as is.

    A call that fails is compared with the signature: if it has a wrong name, or a value of a wrong
    type, the error says so.

    A function is wrapped; its `__module__` becomes `module`, from which users import it, and its
    signature stays the same. A class is changed in place: its constructor, its public methods, and
    those of its bases in this project. A correct call costs one more function call.
    """
    if isinstance(value, type):
        if not issubclass(value, Enum) and not getattr(value, "_is_protocol", False):
            for each in value.__mro__:
                if "fullrecall" in each.__module__:
                    _explain_methods(each)
    elif callable(value) and isinstance(inspect.unwrap(value), FunctionType):
        explained: T = _explained(value, is_method=False)
        if module is not None:
            explained.__module__ = module  # pickle looks it up there
        return explained
    return value


def _explain_methods(kind: type) -> None:
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name not in {*_CONSTRUCTORS, "__str__"}:
            continue
        if isinstance(member, (classmethod, staticmethod)):
            is_method = isinstance(member, classmethod) or name in _CONSTRUCTORS
            setattr(kind, name, type(member)(_explained(member.__func__, is_method=is_method)))
        elif isinstance(member, FunctionType):
            setattr(kind, name, _explained(member, is_method=True))


def _explained(function: Any, *, is_method: bool) -> Any:
    """Wrap a function: a call that fails because of a wrong argument then raises a clear error."""
    plain = inspect.unwrap(function)
    takes_any = plain.__code__.co_flags & inspect.CO_VARKEYWORDS
    # A constructor that takes any name, such as `Sample`'s, checks all arguments itself, and is
    # called for every sample, so it is not wrapped.
    if (takes_any and plain.__name__ in _CONSTRUCTORS) or hasattr(function, _MARK):
        return function
    explain = partial(_explain, function, is_method=is_method)
    if inspect.iscoroutinefunction(function):
        call = _explained_later(function, explain)
    elif inspect.isgeneratorfunction(function):
        call = _explained_items(_explained_now(function, explain), explain)
    else:
        call = _explained_now(function, explain)
    setattr(call, _MARK, True)
    return call


def _explained_now(function: Any, explain: Callable[..., None]) -> Any:
    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except Exception as error:
            explain(error, arguments, options)
            raise

    return call


def _explained_later(function: Any, explain: Callable[..., None]) -> Any:
    @wraps(function)
    async def acall(*arguments: Any, **options: Any) -> Any:
        try:
            return await function(*arguments, **options)
        except Exception as error:
            explain(error, arguments, options)
            raise

    return acall


def _explained_items(function: Any, explain: Callable[..., None]) -> Any:
    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        generator = function(*arguments, **options)  # a call with a wrong name fails here

        def items() -> Any:
            try:
                return (yield from generator)
            except Exception as error:
                explain(error, arguments, options)
                raise

        return items()

    return call


def _explain(
    function: Any,
    error: Exception,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    *,
    is_method: bool,
) -> None:
    """If a failed call has a wrong argument, raise an error that names the argument.

    Errors of this package and of pydantic name the argument already. Errors of the system, such as
    a full disk, are not caused by an argument.
    """
    module = type(error).__module__
    if not (module.startswith(("fullrecall", "pydantic")) or isinstance(error, OSError)):
        _check_fit(function, arguments, options, error, is_method=is_method)


def _check_fit(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    failure: Exception,
    *,
    is_method: bool,
) -> None:
    """Raise `ParameterError` if the arguments of a failed call do not fit the signature."""
    owner = arguments[0] if is_method and arguments else None
    signature = inspect.signature(function)
    try:
        given = signature.bind(*arguments, **options).arguments
    except TypeError as error:
        parameters = [*signature.parameters.values()][is_method:]
        raise ParameterError(
            _name(function, owner) + _mistake(parameters, options, error)
        ) from None
    from fullrecall._util.misfits import misfit  # imported only for a mistake

    own = next(iter(signature.parameters), "") if is_method else ""
    found = misfit(function, {n: each for n, each in given.items() if n != own}, owner)
    if found is not None:
        raise ParameterError(found.problem, found.name) from failure


def _name(function: Callable[..., Any], owner: object) -> str:
    """Return the name by which users call a function; a method's name includes its class."""
    if owner is None:
        return function.__name__
    kind = owner if isinstance(owner, type) else type(owner)
    is_constructor = function.__name__ in _CONSTRUCTORS
    return kind.__name__ if is_constructor else f"{kind.__name__}.{function.__name__}"


def _mistake(
    parameters: Sequence[inspect.Parameter], options: Mapping[str, object], error: TypeError
) -> str:
    by_name = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    either = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    known = [each.name for each in parameters]
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        return no_parameter(unknown, options[unknown], either + by_name)
    takes = ", ".join(known) + (", by name" if known == by_name else "")
    return f": {error}; it takes {takes if known else 'nothing'}"


def no_parameter(unknown: str, value: object, names: Sequence[str]) -> str:
    """Return the end of a message about a parameter that is not one of `names`."""
    from difflib import get_close_matches  # imported only for a mistake

    if unknown in _INSTEAD:
        way = "; " + _INSTEAD[unknown].format(value=value)
    elif (meant := _MEANT.get(unknown)) in names:
        way = f": did you mean {meant}?"
    elif near := get_close_matches(unknown, names, 1):
        way = f": did you mean {near[0]}?"
    else:
        way = f": choose one of {', '.join(names)}" if names else ": it has none"
    return f" has no parameter {unknown!r}{way}"


def listed(
    values: Iterable[object], name: str, kind: type[T] | tuple[type[T], ...], such: str
) -> list[T]:
    """Return values as a list; each must be of the type `kind`.

    Raises `ParameterError`, naming the parameter, at the first value of another type, or after
    5,000,000 values, since a list without an end would take all memory.
    """
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        raise ParameterError(f"must be a list of {such}, got {shown(values)}", name)
    read: list[T] = []
    for value in values:
        if not isinstance(value, kind):
            raise ParameterError(f"must be a list of {such}, got {shown(value)} in it", name)
        if len(read) == MOST_ITEMS:
            raise ParameterError(f"has more than {MOST_ITEMS:,} items: does it end?", name)
        read.append(value)
    return read


def check_k(k: object, name: str = "k", *, least: int = 1) -> int:
    """Return `k` if it is an int >= `least` of at most 100 digits.

    Raises `ParameterError`, naming the parameter, for any other value.
    """
    if not isinstance(k, int) or isinstance(k, bool) or k < least:
        raise ParameterError(f"must be a whole number of at least {least}, got {shown(k)}", name)
    if k >= _MOST_DIGITS:
        raise ParameterError(f"must be a number of at most 100 digits, got {shown(k)}", name)
    return k


def check_seconds(seconds: object, name: str) -> None:
    """Raise `ParameterError`, naming the parameter, unless `seconds` is None or above 0.

    Infinity is allowed; any other number may be at most 2**53.
    """
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    # Refuse larger numbers: an int may be too large for a float, or for adding it to a time.
    if seconds is not None and not (is_number and (0 < seconds <= _LONGEST or seconds == inf)):  # type: ignore[operator]
        raise ParameterError(f"must be a number of seconds > 0 or None, got {shown(seconds)}", name)


def as_path(path: object, name: str = "path") -> Path:
    """Return a path; raise `ParameterError`, naming the parameter, for an impossible path."""
    from pathlib import Path  # `import fullrecall` must not load this module

    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ParameterError(f"must be a path, got {shown(path)}", name)
    text = os.fsdecode(path)
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:  # half of a surrogate pair
        encoded = b"\0"
    # A text that is too long is often the content of a file, so refuse it.
    names: Sequence[bytes | str] = (
        encoded.split(b"/") if os.name == "posix" else text.replace("\\", "/").split("/")
    )
    is_short = len(encoded) < _LONGEST_PATH and max(map(len, names)) <= _LONGEST_NAME
    if not text or b"\0" in encoded or not is_short:
        got = shown(text, _SHOWN_OF_PATH)
        raise ParameterError(f"must be a path, got {got}, which no file can have", name)
    return Path(text)


def check_choice(value: object, name: str, choices: Sequence[str]) -> None:
    """Raise `ParameterError`, naming the parameter, unless `value` is one of `choices`."""
    if value not in choices:
        raise ParameterError(f"must be {' or '.join(map(repr, choices))}, got {shown(value)}", name)


def check_positive(value: object, name: str) -> float:
    """Return a number above 0; raise `ParameterError`, naming the parameter, for another value."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value <= float_info.max:  # type: ignore[operator]
        raise ParameterError(f"must be a number above 0, got {shown(value)}", name)
    return value  # type: ignore[return-value]


def check_share(value: object, name: str, *, whole: bool = True) -> float:
    """Return a number between 0 and 1; raise `ParameterError`, naming the parameter, otherwise.

    With `whole`, 0 and 1 themselves are allowed.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not (0 <= value <= 1 if whole else 0 < value < 1):  # type: ignore[operator]
        between = "from 0 to 1" if whole else "between 0 and 1, such as 0.95"
        raise ParameterError(f"must be a number {between}, got {shown(value)}", name)
    return value  # type: ignore[return-value]
