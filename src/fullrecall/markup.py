"""Texts from anywhere, as they may stand in HTML: escaped, and with nothing hidden in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

# Control characters but tab and line feed; marks that reorder text; halves of a character; and
# the tags, an invisible alphabet in which a document can address a model.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def visible(text: object) -> Markup:
    """Return `text` escaped and isolated, so that its direction stays its own.

    Characters that show nothing, or reorder what stands beside them, are shown by their number.
    """
    from markupsafe import Markup, escape

    parts = []
    last = 0
    plain = str(text)
    for found in _INVISIBLE.finditer(plain):
        parts += [escape(plain[last : found.start()]), _numbered(found[0])]
        last = found.end()
    parts.append(escape(plain[last:]))
    return Markup("<bdi>{}</bdi>").format(Markup("").join(parts))


def plain_title(text: str) -> str:
    """Return `text` for the title of a window, which takes no markup."""
    return " ".join(_INVISIBLE.sub("\ufffd", text).split())


def _numbered(character: str) -> Markup:
    from markupsafe import Markup

    return Markup('<span class="code">U+{}</span>').format(f"{ord(character):04X}")
