"""Is the quote really there? Evidence checked by machine, with character offsets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ALIKE = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-",
    "\u00a0": " ", "\u00ad": None, "\u200b": None,
})  # fmt: skip

FEWEST_CHARACTERS = 12
"""A single word of fewer characters is no evidence, unless it is the whole context."""

FEWEST_WITHOUT_SPACES = 4
"""The same where the script, not ASCII, may do without spaces between words."""

_FEWEST_TO_MISSPELL = 4
_WORD = re.compile(r"\w+")
_PRINTED = re.compile(r"\S+")
_UNEVEN = re.compile(r"\A\s|\s\s|\s\Z")
_SPACES = {number: " " for number in range(128) if chr(number).isspace()}


class Location(NamedTuple):
    """Where a quote stands: half-open offsets in the context, and how well it fits, in [0, 1]."""

    start: int
    end: int
    similarity: float


class Folded:
    """A text prepared to look quotes up in: letter case, white space and marks made alike."""

    __slots__ = ("offsets", "text")

    def __init__(self, text: str) -> None:
        self.offsets: Sequence[int]
        if text.isascii():
            self.text, self.offsets = _folded_ascii(text)
            return
        folded: list[str] = []
        offsets: list[int] = []
        for offset, character in enumerate(text):
            plain = unicodedata.normalize("NFKD", character).translate(_ALIKE).casefold()
            if plain.isspace():
                if not folded or folded[-1] == " ":
                    continue
                plain = " "
            folded += plain
            offsets += [offset] * len(plain)
        if folded and folded[-1] == " ":
            folded.pop()
        self.text = "".join(folded)
        self.offsets = offsets

    def location(self, start: int, end: int, similarity: float) -> Location:
        """Return a range of the folded text as offsets in the original."""
        return Location(self.offsets[start], self.offsets[end - 1] + 1, similarity)


def _folded_ascii(text: str) -> tuple[str, Sequence[int]]:
    """Return what folding gives for ASCII, without going through it letter by letter."""
    if _UNEVEN.search(text) is None:
        return text.translate(_SPACES).lower(), range(len(text))
    words: list[str] = []
    offsets: list[int] = []
    end = 0
    for word in _PRINTED.finditer(text):
        if words:
            offsets.append(end)
        start, end = word.span()
        words.append(word[0])
        offsets += range(start, end)
    return " ".join(words).lower(), offsets


def locate(quote: str, context: str | Folded, *, least: float = 0.9) -> Location | None:
    """Return where `quote` stands in `context`, or None if it does not.

    Letter case, white space, typographic quotes and dashes are no difference. It must be whole
    words, and more than one short word. Failing a verbatim match, the best alignment counts if
    RapidFuzz's `partial_ratio` of it is at least `least` of 1 and it is the same words, none
    more or less, of which long ones may be one letter off and numbers may not.
    """
    folded = Folded(context) if isinstance(context, str) else context
    wanted = _wanted(quote)
    found = next(_occurrences(wanted, folded), None)
    if found is not None or not wanted or not _says_enough(wanted, folded.text):
        return found
    return _aligned(wanted, folded, least)


def verbatim(quote: str, context: Folded) -> Iterator[Location]:
    """Yield each place where `quote` stands in `context` as `locate` finds verbatim matches."""
    return _occurrences(_wanted(quote), context)


def _wanted(quote: str) -> str:
    return Folded(quote.strip().strip("\u2026").strip(".")).text


def _occurrences(wanted: str, folded: Folded) -> Iterator[Location]:
    if not wanted or not _says_enough(wanted, folded.text):
        return
    at = folded.text.find(wanted)
    while at >= 0:
        if _is_whole_words(folded.text, at, at + len(wanted)):
            yield folded.location(at, at + len(wanted), 1.0)
        at = folded.text.find(wanted, at + 1)


def _aligned(wanted: str, folded: Folded, least: float) -> Location | None:
    if len(wanted) < FEWEST_CHARACTERS or len(wanted) > len(folded.text) + 1:
        return None
    from rapidfuzz.fuzz import partial_ratio_alignment

    found = partial_ratio_alignment(wanted, folded.text, score_cutoff=100 * least)
    if found is None or found.dest_end <= found.dest_start:
        return None
    start, end = _widened(folded.text, found.dest_start, found.dest_end)
    theirs, mine = _WORD.findall(folded.text[start:end]), _WORD.findall(wanted)
    same = len(theirs) == len(mine) and all(map(_is_misspelling, mine, theirs))
    return folded.location(start, end, found.score / 100) if same else None


def _is_misspelling(mine: str, theirs: str) -> bool:
    """Whether two words are one: equal, or long ones with the same beginning, one letter off."""
    if mine == theirs:
        return True
    if any(map(str.isdigit, mine + theirs)) or mine[0] != theirs[0]:
        return False
    if min(len(mine), len(theirs)) < _FEWEST_TO_MISSPELL:
        return False
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(mine, theirs, score_cutoff=1) <= 1


def _says_enough(wanted: str, context: str) -> bool:
    if wanted == context.strip(" .") or " " in wanted or len(wanted) >= FEWEST_CHARACTERS:
        return True
    return not wanted.isascii() and len(wanted) >= FEWEST_WITHOUT_SPACES


def _is_whole_words(text: str, start: int, end: int) -> bool:
    """Whether the range cuts no word; scripts without spaces have no words to cut."""

    def inside(left: int) -> bool:
        if not 0 <= left < len(text) - 1:
            return False
        pair = text[left : left + 2]
        return pair.isalnum() and pair.isascii()

    return not inside(start - 1) and not inside(end - 1)


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range widened to whole words: an alignment may begin or end inside one."""
    while start and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end
