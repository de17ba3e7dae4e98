"""Values as messages show them."""

from __future__ import annotations

import re

_TWO_HALVES = re.compile("[\\ud800-\\udbff][\\udc00-\\udfff]")


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


def changed_by_json(line: str) -> str | None:
    """Return a problem if the texts in a line change when JSON reads it; else None.

    A text may contain a character as two surrogates, its halves, which JSON reads as one character.
    A lone surrogate is read unchanged.
    """
    try:
        line.encode()  # nearly always possible, and faster than a search
    except UnicodeEncodeError:
        halves = _TWO_HALVES.search(line)
        if halves is not None:
            around = line[max(halves.start() - 20, 0) : halves.end()]
            return (
                f"JSON cannot hold {around!r}, which ends in the two halves of a character: join "
                "them by text.encode('utf-16', 'surrogatepass').decode('utf-16')"
            )
    return None
