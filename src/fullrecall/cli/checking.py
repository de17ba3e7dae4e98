"""Checks of single option values."""

from __future__ import annotations

from collections.abc import Callable

import typer


def at_least(least: int) -> Callable[[int], int]:
    """Return a callback that refuses whole numbers below `least`."""

    def checked(value: int) -> int:
        if value < least:
            raise typer.BadParameter(f"a whole number from {least} up is meant, got {value}")
        return value

    return checked


def above_zero(value: float | None) -> float | None:
    """Refuse numbers that are not above zero; None is no number."""
    if value is not None and not value > 0:
        raise typer.BadParameter(f"a number above 0 is meant, got {value:g}")
    return value
