"""A text as sentences, with list markers kept where they belong."""

from __future__ import annotations

import re

_MARKER = r"(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|[-*•–])"  # noqa: RUF001 - real bullets
_ONLY_MARKER = re.compile(rf"^\s*{_MARKER}\s*$")
# After a colon or a line break a number begins a list; after anything else it ends a sentence.
_ENDS_IN_MARKER = re.compile(rf"^(.*[:;]|.*\S(?=\s*\n))\s+({_MARKER})$", re.DOTALL)


def sentences(text: str, *, language: str = "en") -> list[str]:
    """Return the sentences of `text`, stripped, in order; no white space only.

    A list marker ("1.", "b)", "-") begins the sentence that follows it, and is kept: a number
    that belongs to the sentence ("2023 revenue rose.") is never taken for one. `language` is the
    ISO 639 code that the splitter knows abbreviations for.
    """
    from sentencex import segment

    parts: list[str] = []
    pending = ""
    for raw in segment(language, text):
        part = raw.strip()
        if not part:
            continue
        if _ONLY_MARKER.match(part):
            pending = f"{pending} {part}".strip()
            continue
        part = f"{pending} {part}".strip()
        pending = ""
        trailing = _ENDS_IN_MARKER.match(part)
        if trailing:
            part, pending = trailing[1], trailing[2]
        parts.append(part)
    if pending and parts:
        parts[-1] = f"{parts[-1]} {pending}"
    elif pending:
        parts.append(pending)
    return parts
