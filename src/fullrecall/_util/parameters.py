"""Checks of arguments that several modules take."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from fullrecall.errors import ParameterError


class Constructed:
    """Base of values that refuse what their constructor does not take, with the way out."""

    instead: ClassVar[Mapping[str, str]] = {}
    """What to write in place of a parameter that is none; `{value!r}` is what was passed."""

    def __new__(cls, *arguments: object, **parameters: object) -> Self:
        """Refuse parameters that the constructor does not take."""
        # Before `__init__`, whose own TypeError would name neither the choices nor a way out.
        signature = inspect.signature(cls.__init__)
        try:
            signature.bind(None, *arguments, **parameters)
        except TypeError as error:
            raise ParameterError(cls._wrong_call(signature, parameters, error)) from None
        return super().__new__(cls)

    @classmethod
    def _wrong_call(
        cls, signature: inspect.Signature, parameters: Mapping[str, object], error: TypeError
    ) -> str:
        """Return what to write in place of a call."""
        from difflib import get_close_matches  # only a mistake is worth its import

        kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameter_kinds = {name: p.kind for name, p in signature.parameters.items()}
        _, *names = [name for name, kind in parameter_kinds.items() if kind in kinds]
        unknown = next((name for name in parameters if name not in names), None)
        if unknown is None:
            return f"{cls.__name__}: {error}; it takes {', '.join(names)}, by name"
        if unknown in cls.instead:
            way = cls.instead[unknown].format(value=parameters[unknown])
            return f"{cls.__name__} has no {unknown}{way}"
        near = get_close_matches(unknown, names, 1)
        way = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"
        return f"{cls.__name__} has no parameter {unknown!r}: {way}"


def check_k(k: object, name: str = "k", *, least: int = 1) -> int:
    """Return `k` if it is an int >= `least`; raise `ParameterError` naming the parameter if not."""
    if not isinstance(k, int) or isinstance(k, bool) or k < least:
        raise ParameterError(f"must be a whole number of at least {least}, got {k!r}", name)
    return k


def check_choice(value: object, name: str, choices: Sequence[str]) -> None:
    """Raise `ParameterError`, naming the parameter, unless `value` is one of `choices`."""
    if value not in choices:
        raise ParameterError(f"must be {' or '.join(map(repr, choices))}, got {value!r}", name)


def check_share(value: object, name: str, *, whole: bool = True) -> float:
    """Return a number from 0 to 1; raise `ParameterError` naming the parameter otherwise.

    `whole` takes 0 and 1 themselves too.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not (0 <= value <= 1 if whole else 0 < value < 1):  # type: ignore[operator]
        between = "from 0 to 1" if whole else "between 0 and 1, such as 0.95"
        raise ParameterError(f"must be a number {between}, got {value!r}", name)
    return value  # type: ignore[return-value]
