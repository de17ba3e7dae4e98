"""Does a text seem to speak to whoever judges it? A hint, and no proof of an attack.

Contexts are data. What holds an attack off is its structure: quotes that bear, and canaries
(`guard`). A hint only says where canaries are worth their tokens by default, and which context to
judge alone first where they fail. Pages about evaluation look the same; most new wordings do not.
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
"""Words of which one of each kind stands in a sentence that speaks to a judge."""


@remembered(400_000)
def seems_to_instruct(text: str) -> bool:
    """Whether a sentence of a text may be meant for whoever judges it. Time is linear."""
    # Fullwidth letters and zero-width marks show a reader the same words, and hide them here.
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    if _has(folded, _MARKS):
        return True
    # In most texts no pair of kinds occurs at all: then no sentence is looked at.
    pairs = [
        (kind, other) for kind, other in _TOGETHER if _has(folded, kind) and _has(folded, other)
    ]
    return any(
        _has(segment, kind) and _has(segment, other)
        for segment in _SEGMENTS.split(folded)
        for kind, other in pairs
    )


def without_hints(text: str) -> str:
    """Return a text without the sentences that seem to instruct whoever judges it."""
    return " ".join(part for part in language().sentences(text) if not seems_to_instruct(part))


def _has(text: str, words: Sequence[str]) -> bool:
    return any(map(text.__contains__, words))  # a generator takes three times as long
