"""Hints that a text addresses its judge, which do not prove an attack.

Two measures protect against attacks: quotes must prove their claims, and canaries must keep their
verdicts (`guard`). A hint only decides for which contexts canaries are used by default, and which
contexts are judged alone first if canaries fail. Pages about evaluation also have hints, and most
new wordings of attacks have none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from fullrecall._util.caches import remembered
from fullrecall._util.data import table
from fullrecall.judge.language import language

_SEGMENTS = re.compile(r"[\n.!?。！？]")  # noqa: RUF001
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064]")

_MARKS: Sequence[str] = table("hints.json", __package__)["marks"]
_TOGETHER: Sequence[tuple[Sequence[str], Sequence[str]]] = table("hints.json", __package__)[
    "together"
]
"""Pairs of word lists. A sentence that has a word of both lists of a pair may address a judge."""

_TELLING = [mark.split()[0] for mark in _MARKS] + [word for kind, _ in _TOGETHER for word in kind]
"""Parts of words; a text without any of them gives no hint."""

_harmless: set[str] = set()
"""Words of earlier texts without any part in `_TELLING`; texts of such words need no search."""
_MOST_HARMLESS = 50_000
_LONGEST_WORD = 64


@remembered(400_000)
def seems_to_instruct(text: str) -> bool:
    """Return whether any sentence of a text may address its judge, in linear time."""
    if text.isascii() and _is_harmless(text.split()):
        return False
    folded = text.lower()
    if not text.isascii():
        # Fullwidth letters and zero-width marks would hide words from this search, but not from a
        # model.
        folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    # Search the whole text for each pair of words first: most texts contain no pair, and their
    # sentences need no check.
    return _has(folded, _MARKS) or any(
        _has(segment, kind) and _has(segment, other)
        for kind, other in _TOGETHER
        if _has(folded, kind) and _has(folded, other)
        for segment in _SEGMENTS.split(folded)
    )


def without_hints(text: str) -> str:
    """Return a text without the sentences that seem to instruct its judge."""
    return " ".join(part for part in language().sentences(text) if not seems_to_instruct(part))


def _is_harmless(words: Sequence[str]) -> bool:
    if _harmless.issuperset(words):
        return True
    new = set(words) - _harmless
    if _has(" ".join(new).lower(), _TELLING):
        return False
    if len(_harmless) > _MOST_HARMLESS:
        _harmless.clear()
    _harmless.update(word for word in new if len(word) <= _LONGEST_WORD)
    return True


def _has(text: str, words: Sequence[str]) -> bool:
    return any(map(text.__contains__, words))  # a generator would take three times as long
