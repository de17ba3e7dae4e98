"""Decide whether two texts say the same, and how similar texts differ.

Comparing letters is not enough: "valid for 36 months" and "valid for 24 months" share nearly all of
them. So texts with similar letters must also agree in their facts: numbers, names, negations, and
words that exclude each other (monthly, annual).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fullrecall._util.caches import remembered
from fullrecall.lexical.words.languages import language_of
from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.negations import denials
from fullrecall.lexical.words.opposites import opposites, rivals
from fullrecall.lexical.words.tokens import read_words
from fullrecall.samples.context import Context

_LOWER = re.compile(r"[a-z]")
NEAR_DUPLICATE = 0.9
"""The lowest similarity at which two texts with the same facts are duplicates."""

_ENDS = 24
"""The number of characters at the start, or at the end, that copies of a text share."""


class Facts(NamedTuple):
    """The facts of a text: two texts that say the same have the same facts.

    `denials` is the number of denials; the other fields are keys of words.
    """

    numbers: frozenset[str]
    names: frozenset[str]
    denials: int
    words: frozenset[str]


def similarity(text: str, other: str) -> float:
    """Return the similarity of two texts, in [0, 1]; 0.0 if it is below `NEAR_DUPLICATE`.

    This is RapidFuzz's `ratio` of the texts in lower case, without punctuation.
    """
    from rapidfuzz import fuzz, utils

    least = 100 * NEAR_DUPLICATE
    return fuzz.ratio(text, other, processor=utils.default_process, score_cutoff=least) / 100


def difference(text: str, other: str) -> str:
    """Return how two similar texts differ: "other numbers: 24 for 36"; "" if no fact differs."""
    ours, theirs = facts(text), facts(other)
    for kind, own, compared in (
        ("numbers", ours.numbers, theirs.numbers),
        ("names", ours.names - theirs.words, theirs.names - ours.words),
    ):
        missing, added = sorted(own - compared), sorted(compared - own)
        if missing or added:
            return f"other {kind}: {_listed(added) or 'none'} for {_listed(missing) or 'none'}"
    if ours.denials != theirs.denials:
        return "one of them denies it"
    from rapidfuzz import fuzz

    missing, added = sorted(ours.words - theirs.words), sorted(theirs.words - ours.words)
    # Words that exclude each other are listed for English only. In other languages, each word that
    # only one text has excludes the other text's words, unless one of them is spelled similarly.
    is_english = language_of(text) in (None, "en")
    for word in missing:
        excluded = rivals().get(word, frozenset()) | opposites().get(word, frozenset())
        is_replaced = not is_english and all(fuzz.ratio(word, new) < _TYPO for new in added)
        for new in added:
            if new in excluded or is_replaced:
                return f"{new!r} for {word!r}"
    return ""


_TYPO = 70.0
"""The lowest similarity, in percent, at which two words count as one word, misspelled or inflected.
"""


# Cache the facts: a text is compared with many texts of its list, and a document is in many lists.
@remembered(1_000_000)
def facts(text: str) -> Facts:
    """Return the facts of a text."""
    words = read_words(text)
    # In a text of capitals alone, names cannot be recognized.
    named = names(text) if _LOWER.search(text) else ()
    return Facts(
        frozenset(word.key for word in words if word.is_number),
        frozenset(key for name in named if name.is_sure for key in name.keys),
        len(denials(text)),
        frozenset(word.key for word in words),
    )


def duplicates(contexts: Sequence[Context]) -> frozenset[int]:
    """Return the 0-based indices of contexts that say the same as an earlier one.

    A context without a text counts if it has the ID of an earlier one without a text. Chunks of one
    document are not duplicates, even if they share its ID. Only texts with the same first or last
    24 characters are compared, since copies share these.
    """
    repeated = set()
    ids: set[str | None] = set()
    by_end: dict[str, list[str]] = {}
    for index, context in enumerate(contexts):
        text = context.text
        if text is None or not text.strip():
            if context.id in ids:
                repeated.add(index)
            ids.add(context.id)
            continue
        # Compare only texts that share their beginning or end, as copies do: comparing all 4,950
        # pairs of 100 contexts would be slow.
        for end in (f"^{text[:_ENDS].lower()}", f"{text[-_ENDS:].lower()}$"):
            earlier = by_end.setdefault(end, [])
            if any(_says_the_same(other, text) for other in earlier):
                repeated.add(index)
            earlier.append(text)
    return frozenset(repeated)


def _says_the_same(text: str, other: str) -> bool:
    """Return whether two texts agree in their facts, and in most of their letters."""
    return text == other or (similarity(text, other) > 0 and not difference(text, other))


def _listed(keys: list[str]) -> str:
    return ", ".join(key.lstrip("#") for key in keys[:3])
