"""How a broken promise is told."""

from __future__ import annotations


def expect(condition: bool, promise: str) -> None:  # noqa: FBT001 - reads as assert does
    """Raise `AssertionError` with the promise unless the condition holds."""
    if not condition:
        raise AssertionError(promise)
