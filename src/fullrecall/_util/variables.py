"""Set a context variable for a block of code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def set_within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable in this block; restore its old value after it."""
    token = variable.set(value)
    try:
        yield
    finally:
        # An abandoned async generator is closed in another context, where the token is invalid and
        # there is no value to restore.
        with suppress(ValueError):
            variable.reset(token)
