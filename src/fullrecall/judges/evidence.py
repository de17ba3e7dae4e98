"""Is the quote really there? Evidence checked by machine, with character offsets."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_ALIKE = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-",
    "\u00a0": " ", "\u00ad": None, "\u200b": None,
})  # fmt: skip

FEWEST_CHARACTERS = 12
"""A quote of fewer characters is verified only verbatim: short strings align with anything."""


class Location(NamedTuple):
    """Where a quote stands: half-open offsets in the context, and how well it fits, in [0, 1]."""

    start: int
    end: int
    similarity: float


def locate(quote: str, context: str, *, least: float = 0.9) -> Location | None:
    """Return where `quote` stands in `context`, or None if it does not.

    Letter case, white space, typographic quotes and dashes are no difference. Failing that, the
    best alignment counts if RapidFuzz's `partial_ratio` of it is at least `least` of 1.
    """
    wanted, _ = _normalised(quote.strip().strip("\u2026").strip("."))
    if not wanted:
        return None
    text, offsets = _normalised(context)
    at = text.find(wanted)
    if at >= 0:
        return Location(offsets[at], offsets[at + len(wanted) - 1] + 1, 1.0)
    if len(wanted) < FEWEST_CHARACTERS or len(wanted) > len(text):
        return None
    from rapidfuzz.fuzz import partial_ratio_alignment

    found = partial_ratio_alignment(wanted, text, score_cutoff=100 * least)
    if found is None or found.dest_end <= found.dest_start:
        return None
    start, end = _whole_words(text, found.dest_start, found.dest_end)
    return Location(offsets[start], offsets[end - 1] + 1, found.score / 100)


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range widened to whole words: an alignment may begin or end inside one."""
    while start and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end


def _normalised(text: str) -> tuple[str, list[int]]:
    """Return `text` folded for comparison, and for each character its offset in the original."""
    folded: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text):
        plain = unicodedata.normalize("NFKC", character).translate(_ALIKE).casefold()
        if plain.isspace():
            if not folded or folded[-1] == " ":
                continue
            plain = " "
        for part in plain:
            folded.append(part)
            offsets.append(offset)
    return re.sub(r" $", "", "".join(folded)), offsets
