"""Which language a text is written in, as far as its script, function words and vocabulary tell.

No dependency and no guess: a text that says neither by script nor by function words has no
language here (None), and whoever asks decides by what stands around it. It is for two decisions:
which abbreviations a sentence splitter knows (`language_of`), and whether a judge was ever measured
on a text (`judged_language`).

No list of other languages is complete, so what is judged as English must also read as English: by
its vocabulary. Of 3,400 English claims with three words or more in lower case, one in a thousand
has fewer than half of them among the 16,000 most frequent English words; of texts in forty other
languages nearly all do.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from fullrecall.judges.words.data import languages, words_of
from fullrecall.judges.words.frequencies import zipf_frequencies
from fullrecall.judges.words.tokens import stem

UNDETERMINED = "und"
"""The ISO 639-2 code of a language that is none of those that are listed."""

_WORD = re.compile(r"[^\W\d_]{2,}|[^\W\d_a-zA-Z]")  # "y" and "a" are names of things, too
_READ = 2_000
"""Characters of a text that are read: more tell nothing new."""
_LONGER = re.compile(r"[^\W\d_]{2,}")
_LEAST = 0.55  # of its words that an English text has in the table
_FEW = 5  # words: so few of a claim may all be terms, and what stands around them decides
_ENOUGH = 3  # words by which a text is told by itself
_AROUND = 0.65  # of the words around a short text, for it to be read as theirs
_CONTEXTS = 20  # that are looked at around a text
_CERTAIN = 2
"""Function words by which a text has a language whatever stands around it."""


def language_of(text: str) -> str | None:
    """Return the ISO 639-1 code of the language of `text`; None where nothing tells."""
    found, _ = _told(text[:_READ])
    return found


def language_among(text: str, around: Iterable[str]) -> str | None:
    """Return the language of a short text, by those of the texts around it where it has none.

    A single function word tells little ("Los Angeles hosted the Games"): it counts only where
    the texts around it are of that language too.
    """
    found, strength = _told(text[:_READ])
    if found == "en" or (found is not None and strength >= _CERTAIN):
        return found
    told = Counter(filter(None, map(language_of, around)))
    if not told:
        return found
    most = max(told.values())
    return "en" if told["en"] == most else next(one for one in told if told[one] == most)


def judged_language(text: str, around: Sequence[str], default: str = "en") -> str:
    """Return the language that a text is to be judged in, by the texts around it where it is short.

    `default` is that of a text that says nothing, beside texts that say nothing. What is told as
    English, or not at all, must also read as English; else it is `UNDETERMINED`.
    """
    told = language_among(text, around) or default
    return UNDETERMINED if told == "en" and not reads_as_english(text, around) else told


def reads_as_english(text: str, around: Iterable[str] = ()) -> bool:
    """Whether a text reads as English, by the texts around it where it is short.

    Capitalized words are names in any language. A text of these, or of numbers, reads as anything.
    """
    own = _known(text[:_READ])
    if own.words >= _ENOUGH and own.reads(_LEAST):
        return True
    if own.words >= _FEW:
        return False
    words, listed = own
    for _, other in zip(range(_CONTEXTS), around, strict=False):
        known = _known(other[:_READ])
        words, listed = words + known.words, listed + known.listed
    return _Known(words, listed).reads(_LEAST if words == own.words else _AROUND)


def name_of(language: str) -> str:
    """Return the English name of a language code, the code itself where it has none here."""
    if language == UNDETERMINED:
        return "in another language"
    return languages().get(language, {}).get("name", language)


def function_words(language: str | None) -> frozenset[str]:
    """Return the function words by which a language is told; none for one without."""
    return words_of(language or "", "function_words")


@lru_cache(maxsize=16_384)
def _told(text: str) -> tuple[str | None, int]:
    """Return the language and how many words or letters told it."""
    if text.isascii():
        return _latin(text)
    known = _by_sign("scripts")
    scripts = Counter(known[_script(c)][0] for c in text if c.isalpha() and _script(c) in known)
    latin = sum(_script(c) == "LATIN" for c in text if c.isalpha())
    # One word in Latin letters is a name in any text; so many letters say more in Chinese.
    if scripts.total() * 2 > latin:
        return _by_script(text, scripts), _CERTAIN
    others = sum(c.isalpha() for c in text) - scripts.total() - latin
    return (UNDETERMINED, _CERTAIN) if others > latin else _latin(text)


@lru_cache(maxsize=4_096)
def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]


def _by_script(text: str, scripts: Counter[str]) -> str:
    found = scripts.most_common(1)[0][0]
    if found == "zh" and scripts["ja"]:
        return "ja"
    if found == "ru" and any(c in "іїєґІЇЄҐ" for c in text):
        return "uk"
    if found == "ar" and any(c in "پچژگ" for c in text):
        return "fa"
    return found


def _latin(text: str) -> tuple[str | None, int]:
    # Each once: a name that is repeated, such as Python's module `os`, is no sign of Portuguese.
    is_ascii, lowered = text.isascii(), text.lower()
    # In other scripts a letter may be two in lower case: a word is lowered by itself.
    words = set(_WORD.findall(lowered)) if is_ascii else {w.lower() for w in _WORD.findall(text)}
    by_word, by_letter = _by_sign("function_words"), _by_sign("letters")
    counts = Counter(code for word in words & by_word.keys() for code in by_word[word])
    if not is_ascii:
        counts.update(code for one in set(lowered) & by_letter.keys() for code in by_letter[one])
    if not counts:
        return None, 0
    best, english = max(counts.values()), counts["en"]
    if english == best:
        return "en", best
    return next(code for code in languages() if counts[code] == best), best - english


@cache
def _by_sign(field: str) -> Mapping[str, Sequence[str]]:
    """Return for each word of a field, or each letter of "letters", the languages that have it."""
    of: dict[str, list[str]] = {}
    for code, entry in languages().items():
        signs = entry.get(field, "")
        for sign in signs if field == "letters" else signs.split():
            of.setdefault(sign, []).append(code)
    return of


class _Known(NamedTuple):
    """How many different words a text has in lower case, and how many of them are listed."""

    words: int
    listed: int

    def reads(self, least: float) -> bool:
        return self.listed >= least * self.words


@lru_cache(maxsize=16_384)
def _known(text: str) -> _Known:
    written = text.lower() if text.isupper() else text
    words = {word for word in _LONGER.findall(written) if word[0].islower()}
    return _Known(len(words), sum(map(_is_listed, words)))


@lru_cache(maxsize=65_536)
def _is_listed(word: str) -> bool:
    lowered = word.lower()
    return lowered in zipf_frequencies() or (lowered.isascii() and stem(lowered) in _stems())


@cache
def _stems() -> frozenset[str]:
    return frozenset(map(stem, zipf_frequencies()))


def is_in_script_of(text: str, other: str) -> bool:
    """Whether two texts are written alike: not one in Latin letters and the other in others."""
    return _is_latin(text) == _is_latin(other)


def _is_latin(text: str) -> bool:
    letters = [c for c in text[:_READ] if c.isalpha()]
    return 2 * sum(c < "\u0250" for c in letters) >= len(letters)
