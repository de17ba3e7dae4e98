"""Values as messages show them."""

from __future__ import annotations


def shown(value: object, limit: int = 60) -> str:
    """Return the `repr` of `value`, cut so that a message stays one readable line.

    If that raises, as a foreign class's may, the message has only the type.
    """
    if isinstance(value, (str, bytes, bytearray)):  # `repr` would escape a text of megabytes whole
        value = value[: limit + 1]
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - of a stranger's class, or an int of too many digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"
