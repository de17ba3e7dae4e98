"""A text as sentences, with list markers kept where they belong."""

from __future__ import annotations

import re

from fullrecall.judges.words.languages import language_of

_MARKER = r"(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|[-*•–])"
_ONLY_MARKER = re.compile(rf"^\s*{_MARKER}\s*$")
# After a colon or a line break a number begins a list; after anything else it ends a sentence.
_ENDS_IN_MARKER = re.compile(rf"^(.*[:;]|.*\S(?=\s*\n))\s+({_MARKER})$", re.DOTALL)
_NEXT_ITEM = re.compile(rf"\n[ \t]*(?={_MARKER}\s)|\n[ \t]*(?=\|)|(?<=\|)[ \t]*\n")
_CUT = re.compile(  # what ends in one of these goes on, whatever follows
    r"(?:^|[\s(])(?:M|MM|Mme|p|pp|art|approx|ca|cf|vs|resp|incl|No|Nr|Art|Abs|Fig|Tab|Kap|Bd|vgl|bzw|"
    r"ggf|usw|ул|им|стр|рис|[тТ]\.\s?е|[тТ]\.\s?д|z\.\s?B|d\.\s?h|u\.\s?a|o\.\s?ä|"
    r"e\.\s?g|i\.\s?e|p\.\s?ej|p\.\s?ex)\.$"
)
_RULE = re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|?)+\s*$")
_CELLS = re.compile(r"^\s*\|.*\|\s*$")


def sentences(text: str, *, language: str | None = None) -> list[str]:
    """Return the sentences of `text`, stripped, in order; no white space only.

    A list marker ("1.", "b)", "-") begins the sentence that follows it, and is kept: a number
    that belongs to the sentence ("2023 revenue rose.") is never taken for one. List items and
    table rows stand alone. `language` is the ISO 639 code that the splitter knows abbreviations
    for; None detects it.
    """
    from sentencex import segment

    known = language or language_of(text) or "en"
    parts: list[str] = []
    pending = ""
    for raw in segment(known, text):
        for item in _NEXT_ITEM.split(raw):
            part = item.strip()
            if not part or _RULE.match(part):
                continue
            if _ONLY_MARKER.match(part):
                pending = f"{pending} {part}".strip()
                continue
            part = f"{pending} {part}".strip()
            pending = ""
            trailing = _ENDS_IN_MARKER.match(part)
            if trailing:
                part, pending = trailing[1], trailing[2]
            if parts and _CUT.search(parts[-1]) and not _CELLS.match(part):
                parts[-1] = f"{parts[-1]} {part}"
            else:
                parts.append(part)
    if pending and parts:
        parts[-1] = f"{parts[-1]} {pending}"
    elif pending:
        parts.append(pending)
    return parts


def is_heading(sentence: str) -> bool:
    """Return whether a sentence only announces what follows: it ends in a colon, or is markup."""
    return sentence.rstrip().endswith((":", "：")) or sentence.startswith("#")
