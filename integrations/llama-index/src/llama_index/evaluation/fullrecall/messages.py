"""What an error says that it was given."""

from __future__ import annotations


def got(thing: object) -> str:
    """Return what `thing` is, for the end of an error's message; a class is told as such."""
    if isinstance(thing, type):
        return f"got the class {thing.__name__}: pass an instance of it"
    return f"got {type(thing).__name__}"
