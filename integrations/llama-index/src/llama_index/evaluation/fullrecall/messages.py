"""What an error says that it was given."""

from __future__ import annotations


def got(value: object) -> str:
    """Return what `thing` is, for the end of an error's message; a class is told as such."""
    if isinstance(value, type):
        return f"got the class {value.__name__}: pass an instance of it"
    return f"got {type(value).__name__}"
