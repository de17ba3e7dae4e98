"""Numbers and texts as they are shown, the same on terminals, in Markdown, and on pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, floor

NOTHING = "-"
"""The sign for a missing value."""

_EXACT = 1e-6
"""The rounding error, in units of the last decimal, that is ignored."""

_INVISIBLE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""Characters that are not visible: control characters except tab and line feed, marks that reorder
text, the byte order mark, lone surrogates, and tags, an invisible alphabet in which a document can
address a model.
"""


def shown(value: float | None) -> str:
    """Return a measure with three decimals, or a dash for None."""
    return NOTHING if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    """Return a difference, such as `+.012`, or a dash for None."""
    return NOTHING if value is None else f"{value:+.3f}".replace("0.", ".", 1)


def outward(interval: Sequence[float], digits: int = 3) -> tuple[float, float]:
    """Return an interval's ends, rounded outwards so that it never looks narrower than it is."""
    scale = 10.0**digits
    low, high = interval[0] * scale, interval[1] * scale
    return floor(low + _EXACT) / scale, ceil(high - _EXACT) / scale


def between(interval: Sequence[float] | None) -> str:
    """Return an interval of a mean, such as `.912–.931`, or a dash for None."""  # noqa: RUF002 - from to
    if interval is None:
        return NOTHING
    low, high = (f"{end:.3f}".replace("0.", ".", 1) for end in outward(interval))
    return f"{low}–{high}"  # noqa: RUF001 - from to


def from_to(interval: Sequence[float] | None) -> str:
    """Return an interval, such as `0.912 to 0.931`, or an empty text for None."""
    return "" if interval is None else "{:.3f} to {:.3f}".format(*outward(interval))


def signed_between(interval: Sequence[float] | None) -> str:
    """Return an interval of a difference, such as `-.010 to +.034`."""
    if interval is None:
        return NOTHING
    low, high = outward(interval)
    return f"{signed(low)} to {signed(high)}"


_LEAST_SHOWN = 0.0001


def chance(p: float | None) -> str:
    """Return a p-value with four decimals, never 0, or an empty text for None."""
    if p is None:
        return ""
    return f"{p:.4f}" if p >= _LEAST_SHOWN else f"<{_LEAST_SHOWN}"


def printable(text: str) -> str:
    """Return a text with a space for each character that cannot be printed; line breaks stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def one_line(text: str, limit: int) -> str:
    """Return `text` as one line of at most `limit` characters, all of them printable.

    Texts may come from anywhere, so no control sequence in them may reach the terminal.
    """
    # Read only the beginning of a long text: four times the limit, since spaces are joined.
    line = " ".join(printable(text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def first_of(texts: Sequence[str], most: int, limit: int, separator: str = "; ") -> str:
    """Return the first `most` texts, joined, each cut to `limit` characters; count the rest."""
    more = [f"… and {len(texts) - most:,} more"] if len(texts) > most else []
    return separator.join([*(one_line(text, limit) for text in texts[:most]), *more])


def spelled(text: str) -> list[tuple[str, str]]:
    """Return pairs of a piece of text and the number of the invisible character that follows it.

    The number has the form "U+200B"; after the last piece, it is "".
    """
    pieces, last = [], 0
    for match in re.finditer(_INVISIBLE, text):
        pieces.append((text[last : match.start()], f"U+{ord(match[0]):04X}"))
        last = match.end()
    return [*pieces, (text[last:], "")]


def replaced(text: str) -> str:
    """Return a text with a mark for each invisible character, for places without markup."""
    return " ".join(re.sub(_INVISIBLE, "\ufffd", text).split())
