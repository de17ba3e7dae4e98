"""Values as messages show them."""

from __future__ import annotations


def shown(value: object, limit: int = 60) -> str:
    """Return the `repr` of `value`, cut so that a message stays one readable line.

    If `repr` raises, as that of a foreign class may, the message has only the type.
    """
    # `repr` would escape megabytes of text before the cut.
    if isinstance(value, (str, bytes, bytearray)):
        value = value[: limit + 1]
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - of a stranger's class, or an int of too many digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"
