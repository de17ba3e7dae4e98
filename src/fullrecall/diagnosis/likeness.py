"""Whether two texts say the same, and in what texts that look alike differ.

Letters are a poor judge of it: "valid for 36 months" and "valid for 24 months" share 97 % of them.
What decides is compared first: numbers, names, negations, and words of which one excludes the
other (monthly, annual). Only texts that agree in all of these are compared letter by letter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import inf
from operator import attrgetter
from typing import NamedTuple

from fullrecall.caches import remembered
from fullrecall.context import Context
from fullrecall.judges.words.languages import language_of
from fullrecall.judges.words.negations import denying_kind
from fullrecall.judges.words.opposites import opposites, rivals
from fullrecall.judges.words.tokens import read_words

_SENTENCE = re.compile(r"(?<!\W)(?=[^.!?:;\n\w]*+[.!?:;\n])\W++$")
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


def similarity(text: str, other: str, least: float) -> float:
    """Return how alike two texts are, in [0, 1]; 0.0 below `least`.

    RapidFuzz's `ratio` of the texts in lower case without punctuation.
    """
    from rapidfuzz import fuzz, utils

    alike = fuzz.ratio(text, other, processor=utils.default_process, score_cutoff=100 * least)
    return float(alike) / 100


def lengths_alike(text: str, least: float) -> tuple[float, float]:
    """Return the least and the most characters of a text that may be as similar as `least`."""
    # 2 * shorter / (shorter + longer) is the most that `ratio` can be; punctuation may be left out.
    share = least / (2 - least) * _LOOSE
    return len(text) * share, len(text) / share if share else inf


def may_be_alike(first: str, other: str, least: float) -> bool:
    """Return False only where `similarity` is sure, or all but sure, to be below `least`.

    Of texts whose lengths may be alike, and much cheaper: by whether one of sixteen places of the
    first text stands in the other. Where one letter in ten differs, that misses one pair in 10,000.
    """
    if min(len(first), len(other)) < _PROBED or least < _LOOSE:
        return True
    probed, searched = first.lower(), other.lower()
    step = len(probed) // _PROBES
    return any(probed[at : at + _PROBE] in searched for at in range(0, step * _PROBES, step))


def difference(text: str, other: str) -> str:
    """Return in what two texts differ that look alike: "24 for 36"; empty where in no fact."""
    ours, theirs = facts(text), facts(other)
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
        excluded = rivals().get(word, frozenset()) | opposites().get(word, frozenset())
        for other_word in added:
            if other_word in excluded:
                return f"{other_word!r} for {word!r}"
    return _elsewhere(text, other)


_DENIALS = frozenset(
    "nicht kein keine keinen keinem keiner keines nie niemals nichts ohne weder "  # German
    "ne pas jamais aucun aucune rien sans ni nunca ningún ninguna ninguno nada sin tampoco "
    "non mai nessun nessuno nessuna niente senza né não nenhum nenhuma sem nem "
    "niet geen nooit niets zonder ikke ingen aldri aldrig inte inget inga uten uden utan "
    "nie bez żaden żadna brak nikdy není nejsou ei eivät ilman nem nincs değil yok hiç "
    "не нет ни никогда без нельзя".split()
)
"""Words that deny in other languages than English."""

_TYPO = 70.0
"""From this share of letters on, one word is the other one misspelled or inflected."""


def _elsewhere(first: str, other: str) -> str:
    """Return in what two texts of another language than English differ, as far as it shows.

    Which words exclude each other is known of English alone: elsewhere a word in place of another
    one is a difference.
    """
    if first.casefold() == other.casefold() or language_of(first) in (None, "en"):
        return ""
    from rapidfuzz import fuzz

    ours, theirs = (Counter(_WORDS.findall(text.casefold())) for text in (first, other))
    lacking, added = ours - theirs, theirs - ours
    if not _DENIALS.isdisjoint(lacking | added):
        return "one of them denies it"
    for word in sorted(lacking):
        if added and all(fuzz.ratio(word, new) < _TYPO for new in added):
            return f"{min(added)!r} for {word!r}"
    return ""


_WORDS = re.compile(r"[^\W\d_]+")


@remembered(1_000_000)
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
        sum(denying_kind(word.written, "en") is not None for word in words),
        frozenset(word.key for word in words),
    )


def firsts(texts: Sequence[str | None], least: float) -> list[int]:
    """Return for each text the index of the first one that says the same; its own where none does.

    Texts are compared that share their first or their last 24 letters and digits, as copies do.
    """
    indices_by_end: dict[str, list[int]] = {}
    first_indices: list[int] = []
    for index, text in enumerate(texts):
        first = index
        if text and text.strip():
            for end in _ends(text):
                for earlier in indices_by_end.get(end, ()):
                    if earlier < first and says_the_same(texts[earlier] or "", text, least):
                        first = earlier
            for end in _ends(text):
                indices_by_end.setdefault(end, []).append(index)
        first_indices.append(first_indices[first] if first != index else index)
    return first_indices


def duplicates(contexts: Sequence[Context], near: float) -> frozenset[int]:
    """Return the 0-based indices of contexts that say the same as an earlier one.

    Texts say the same where they agree in numbers, names and negations and share `near` of their
    letters. Of contexts without a text, those that repeat an earlier ID count. Chunks of one
    document are no duplicates, even where they share its ID.
    """
    ids: set[str | None] = set()
    same = firsts([context.text for context in contexts], near)
    repeated = {index for index, first in enumerate(same) if first != index}
    for index, context in enumerate(contexts):
        if context.text is None or not context.text.strip():
            if context.id in ids:
                repeated.add(index)
            ids.add(context.id)
    return frozenset(repeated)


class Repeated:
    """The indices of duplicates in the lists of a report, each list looked through once."""

    def __init__(self, near: float) -> None:
        self._near = near
        self._texts_seen = _Seen()
        # Most lists have none. Plain numbers as keys: what is kept for each of ten thousand rows
        # is walked through by every collection of garbage.
        self._looked_at: set[int] = set()
        self._repeated: dict[int, frozenset[int]] = {}

    def __call__(
        self, position: int, contexts: Sequence[Context], *, deeper: bool = False
    ) -> frozenset[int]:
        """Return the 0-based indices in the list of the row at `position`, or in its deeper one."""
        key = ~position if deeper else position
        if key not in self._looked_at:
            self._looked_at.add(key)
            if self._texts_seen.may_repeat(contexts):
                self._repeated[key] = duplicates(contexts, self._near)
        return self._repeated.get(key, _NONE)

    def within(self, contexts: Sequence[Context]) -> frozenset[int]:
        """Return the 0-based indices of duplicates in a list that is no row's."""
        return duplicates(contexts, self._near)


_NONE: frozenset[int] = frozenset()

_text = attrgetter("text")


class _Seen:
    """The texts of all lists so far, and which of them begin or end as another one does.

    The same texts are in the lists of many questions: each is looked at once.
    """

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._by_end: dict[str, str] = {}
        self._paired: set[str] = set()

    def may_repeat(self, contexts: Sequence[Context]) -> bool:
        """Return whether any two share how their texts begin or end, or an ID: most lists do not.

        Both of two such texts are known by the time that they are in one list.
        """
        texts = list(filter(None, map(_text, contexts)))
        if len(texts) < len(contexts):
            ids = [context.id for context in contexts if not context.text]
            if len(set(ids)) < len(ids):
                return True
        own = set(texts)
        for text in own - self._texts:
            self._add(text)
        if len(own) < len(texts):
            return True
        paired = own & self._paired
        if len(paired) < 2:  # noqa: PLR2004 - it takes two
            return False
        starts, ends = set(map(_start, paired)), set(map(_end, paired))
        return len(starts) < len(paired) or len(ends) < len(paired)

    def _add(self, text: str) -> None:
        self._texts.add(text)
        for end in (_start(text), _end(text)):
            other = self._by_end.setdefault(end, text)
            if other is not text:
                self._paired |= {other, text}


def _start(text: str) -> str:
    return "^" + text[:_BRIEF].lower()


def _end(text: str) -> str:
    return text[-_BRIEF:].lower() + "$"


def says_the_same(text: str, other: str, least: float) -> bool:
    """Return whether two texts agree in their facts, and in `least` of their letters."""
    if text == other:
        return True
    return bool(similarity(text, other, least)) and not difference(text, other)


@remembered(2_000_000)
def _ends(text: str) -> tuple[str, str]:
    start = "".join(filter(str.isalnum, text[: 2 * _ENDS])).lower()[:_ENDS]
    end = "".join(filter(str.isalnum, text[-2 * _ENDS :])).lower()[-_ENDS:]
    return f"^{start}", f"{end}$"


def _listed(keys: list[str]) -> str:
    return ", ".join(key.lstrip("#") for key in keys[:3])
