"""Data as it may stand in a page: it ends no script, and is never run."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any

# `<`, `>` and `&` can end or open something in HTML, the separators end lines in old scripts, the
# overrides would reorder the page's source, and half an emoji does not go into UTF-8.
_UNSAFE_IN_SCRIPT = re.compile(
    "[<>&\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


_UNSAFE_ASCII = {mark: f"\\u{ord(mark):04x}" for mark in "<>&\x7f"}

as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""Writes a value as JSON, which `escaped` makes fit for a script."""


as_text = encode_basestring
"""Writes a text alone in the same way, sooner."""


class ScriptJson(str):
    """JSON that can end neither its `<script>` nor a line of it."""

    __slots__ = ()


def script_json(value: Any) -> ScriptJson:
    """Return `value` as JSON that can end neither its `<script>` nor a line of it."""
    return value if isinstance(value, ScriptJson) else escaped(as_json(value))


def escaped(plain: str) -> ScriptJson:
    """Return JSON with all escaped that HTML or a script could take for something else."""
    if plain.isascii():  # in a tenth of the time that the pattern takes
        for mark, escape in _UNSAFE_ASCII.items():
            plain = plain.replace(mark, escape)
        return ScriptJson(plain)
    return ScriptJson(_UNSAFE_IN_SCRIPT.sub(lambda found: f"\\u{ord(found[0]):04x}", plain))


def source_hash(code: str) -> str:
    """Return the hash by which a content security policy allows an inline script or style."""
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"


def utf16_offset(text: str, offset: int) -> int:
    """Return an offset in characters as one in UTF-16 code units, as scripts count them."""
    if text.isascii():
        return offset
    return offset + sum(character > "\uffff" for character in text[:offset])
