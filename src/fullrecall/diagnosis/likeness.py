"""Whether two texts say the same, and in what texts that look alike differ.

Letters are a poor judge of it: "valid for 36 months" and "valid for 24 months" share 97 % of them.
What decides is compared first: numbers, names, negations, and words of which one excludes the
other (monthly, annual). Only texts that agree in all of these are compared letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from fullrecall.context import Context
from fullrecall.judges.lexical.opposites import OPPOSITES
from fullrecall.judges.lexical.rivals import rivals
from fullrecall.judges.lexical.words import read_words

_SENTENCE = re.compile(r"[.!?:;\n]\W*$")
_LOWER = re.compile(r"[a-z]")
_RARE = 1.9
"""The weight of a word from which a capital makes it a name: "See", opening a line, is none."""

_ENDS = 24
"""Characters at the start, or at the end, that copies of a text share."""

_BRIEF = 12
_PROBED = 160
_PROBES, _PROBE = 16, 8
_LOOSE = 0.8


class Facts(NamedTuple):
    """What of a text decides whether another says the same, by the keys of words."""

    numbers: frozenset[str]
    names: frozenset[str]
    negations: int
    words: frozenset[str]


def similarity(one: str, other: str, least: float) -> float:
    """Return how alike two texts are, in [0, 1]; 0.0 below `least`.

    RapidFuzz's `ratio` of the texts in lower case without punctuation.
    """
    from rapidfuzz import fuzz, utils

    alike = fuzz.ratio(one, other, processor=utils.default_process, score_cutoff=100 * least)
    return float(alike) / 100


def may_be_alike(one: str, other: str, least: float) -> bool:
    """Return False only where `similarity` is sure, or all but sure, to be below `least`.

    Much cheaper: by their lengths, and by whether one of sixteen places of the first text stands
    in the other. Where one letter in ten differs, that misses one pair in 10,000.
    """
    ours, theirs = len(one), len(other)
    shorter, longer = (ours, theirs) if ours < theirs else (theirs, ours)
    # 2 * shorter / (shorter + longer) is the most that `ratio` can be; punctuation may be left out.
    if shorter < longer * least / (2 - least) * _LOOSE:
        return False
    if shorter < _PROBED or least < _LOOSE:
        return True
    text, place = other.lower(), one.lower()
    step = len(place) // _PROBES
    return any(place[at : at + _PROBE] in text for at in range(0, step * _PROBES, step))


def difference(one: str, other: str) -> str:
    """Return in what two texts differ that look alike: "24 for 36"; empty where in no fact."""
    ours, theirs = facts(one), facts(other)
    for what, mine, its in (
        ("numbers", ours.numbers, theirs.numbers),
        ("names", ours.names - theirs.words, theirs.names - ours.words),
    ):
        lacking, added = sorted(mine - its), sorted(its - mine)
        if lacking or added:
            return f"other {what}: {_listed(added) or 'none'} for {_listed(lacking) or 'none'}"
    if ours.negations != theirs.negations:
        return "one of them denies it"
    added = sorted(theirs.words - ours.words)
    for word in sorted(ours.words - theirs.words):
        excluded = rivals().get(word, frozenset()) | OPPOSITES.get(word, frozenset())
        for other_word in added:
            if other_word in excluded:
                return f"{other_word!r} for {word!r}"
    return ""


@lru_cache(maxsize=4_096)
def facts(text: str) -> Facts:
    """Return the facts of a text.

    A name is a word with a capital that begins no sentence and is not among the common ones.
    """
    words = list(read_words(text))
    cased = _LOWER.search(text) is not None  # in capitals alone no word stands out as a name
    names = {
        word.key
        for nth, word in enumerate(words)
        if cased
        and word.is_capitalised
        and word.weight >= _RARE
        and nth
        and not _SENTENCE.search(text[words[nth - 1].end : word.start])
    }
    return Facts(
        frozenset(word.key for word in words if word.is_number),
        frozenset(names),
        sum(word.is_negation for word in words),
        frozenset(word.key for word in words),
    )


def firsts(texts: Sequence[str | None], least: float) -> list[int]:
    """Return for each text the place of the first one that says the same; its own where none does.

    Texts are compared that share their first or their last 24 letters and digits, as copies do.
    """
    seen: dict[str, list[int]] = {}
    found: list[int] = []
    for place, text in enumerate(texts):
        first = place
        if text and text.strip():
            for end in _ends(text):
                for earlier in seen.get(end, ()):
                    if earlier < first and says_the_same(texts[earlier] or "", text, least):
                        first = earlier
            for end in _ends(text):
                seen.setdefault(end, []).append(place)
        found.append(found[first] if first != place else place)
    return found


def duplicates(contexts: Sequence[Context], near: float) -> frozenset[int]:
    """Return the places of contexts that say the same as an earlier one; 0-based.

    Texts say the same where they agree in numbers, names and negations and share `near` of their
    letters. Of contexts without a text, those that repeat an earlier ID count. Chunks of one
    document are no duplicates, even where they share its ID.
    """
    seen: set[str | None] = set()
    same = firsts([context.text for context in contexts], near)
    found = {place for place, first in enumerate(same) if first != place}
    for place, context in enumerate(contexts):
        if context.text is None or not context.text.strip():
            if context.id in seen:
                found.add(place)
            seen.add(context.id)
    return frozenset(found)


class Repeated:
    """The places of duplicates in the lists of a report, each list looked through once."""

    def __init__(self, near: float) -> None:
        self._near = near
        self._brief = _Brief()
        # Most lists have none. Plain numbers as keys: what is kept for each of ten thousand rows
        # is walked through by every collection of garbage.
        self._looked_at: set[int] = set()
        self._found: dict[int, frozenset[int]] = {}

    def __call__(
        self, position: int, contexts: Sequence[Context], *, deeper: bool = False
    ) -> frozenset[int]:
        """Return the 0-based places in the list of the row at `position`, or in its deeper one."""
        key = ~position if deeper else position
        if key not in self._looked_at:
            self._looked_at.add(key)
            if _may_repeat(contexts, self._brief):
                self._found[key] = duplicates(contexts, self._near)
        return self._found.get(key, _NONE)


_NONE: frozenset[int] = frozenset()


class _Brief(dict[str, tuple[str, str]]):
    """How texts begin and end, in lower case; each text is looked at once."""

    def __missing__(self, text: str) -> tuple[str, str]:
        self[text] = found = text[:_BRIEF].lower(), text[-_BRIEF:].lower()
        return found


def _may_repeat(contexts: Sequence[Context], brief: _Brief) -> bool:
    """Return whether any two share how their texts begin or end, or an ID: most lists do not."""
    texts = list(filter(None, map(_text, contexts)))
    if len(texts) < len(contexts):
        ids = [context.id for context in contexts if not context.text]
        if len(set(ids)) < len(ids):
            return True
    starts, ends = zip(*map(brief.__getitem__, texts), strict=True) if texts else ((), ())
    return len(set(starts)) < len(texts) or len(set(ends)) < len(texts)


_text = attrgetter("text")


def says_the_same(one: str, other: str, least: float) -> bool:
    """Return whether two texts agree in their facts, and in `least` of their letters."""
    if one == other:
        return True
    return bool(similarity(one, other, least)) and not difference(one, other)


@lru_cache(maxsize=65_536)
def _ends(text: str) -> tuple[str, str]:
    start = "".join(filter(str.isalnum, text[: 2 * _ENDS])).lower()[:_ENDS]
    end = "".join(filter(str.isalnum, text[-2 * _ENDS :])).lower()[-_ENDS:]
    return f"^{start}", f"{end}$"


def _listed(keys: list[str]) -> str:
    return ", ".join(key.lstrip("#") for key in keys[:3])
