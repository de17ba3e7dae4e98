"""Checks of arguments that several modules take."""

from __future__ import annotations

from fullrecall.errors import ParameterError


def check_k(k: object, name: str = "k") -> int:
    """Return `k` if it is an int >= 1; raise `ParameterError` naming the parameter otherwise."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, got {k!r}")
    return k


def check_share(value: object, name: str, *, whole: bool = True) -> float:
    """Return a number from 0 to 1; raise `ParameterError` naming the parameter otherwise.

    `whole` takes 0 and 1 themselves too.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not (0 <= value <= 1 if whole else 0 < value < 1):  # type: ignore[operator]
        between = "from 0 to 1" if whole else "between 0 and 1, such as 0.95"
        raise ParameterError(f"{name} must be a number {between}, got {value!r}")
    return value  # type: ignore[return-value]
