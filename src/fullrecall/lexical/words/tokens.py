"""Read the words of a text, each with the key by which it is compared.

`run`, `runs` and `Running` share a key, and so do `1,000` and `1000`, `three` and `3`, `%` and
`percent`, `won` and `win`, `Beyoncé` and `beyonce`. Suffixes are stripped only from English words;
words of other languages keep their endings, and `alike` matches inflected forms by their
beginnings. Scripts without spaces are cut into pairs of neighboring characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fullrecall._util.caches import remembered, remembered_words
from fullrecall._util.pieces import paused
from fullrecall.lexical.words.data import lines, table
from fullrecall.lexical.words.frequencies import weight
from fullrecall.lexical.words.numbers import value_of

# Letters of the Indic, Thai, Lao, Tibetan, Burmese and Khmer blocks need their combining marks,
# which \w excludes; the dandas (U+0964, U+0965) are punctuation.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3"
)
_UNSPACED = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)*)(?:st|nd|rd|th|s)?(?!\w)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<word>(?:(?![{_UNSPACED}_])[\w{_MARKS}])+(?:['’](?:(?![{_UNSPACED}])\w)+)*)"
    r"|(?P<sign>[%$€£¥°])"
)
_SIGNS = {"%": "percent", "$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "°": "degree"}

TELLING = 1.2
"""The least weight of a content word; words below it are function words."""

_VOWELS = frozenset("aeiouy")
_NUMBER_WEIGHT = 4.0
_PAIR_WEIGHT = 2.5  # the weight of two neighboring characters in a script without spaces
_SHORT = 3  # the fewest letters of a stem
SHARED_PREFIX = 5
_SHARED_PART = 0.65


class Word(NamedTuple):
    """A word in its text, with its key for comparison and its half-open offsets."""

    key: str
    weight: float
    start: int
    end: int
    written: str  # as in the text, in lower case
    is_number: bool = False
    is_capitalised: bool = False

    @property
    def tells(self) -> bool:
        """Whether the word is a content word, a number or a name, but not a function word."""
        return self.is_number or self.weight >= TELLING


@remembered(1_000_000)  # a context is read for many claims
def read_words(text: str) -> tuple[Word, ...]:
    """Return the words of `text` in order."""
    return tuple(_words(text))


def _words(text: str) -> Iterator[Word]:
    for match in paused(_TOKEN.finditer(text)):
        start, end = match.span()
        written = match.group()
        if match.lastgroup == "unspaced" and end - start > 1:
            for position in range(start, end - 1):
                pair = text[position : position + 2]
                yield Word(pair, _PAIR_WEIGHT, position, position + 2, pair)
            continue
        key, worth, lowered, is_number, is_capital = _form(written, match.lastgroup or "")
        # The constructor of a named tuple would take a quarter of the total time.
        yield tuple.__new__(Word, (key, worth, start, end, lowered, is_number, is_capital))


# Cache the forms: few words of a language are frequent, and each of these is stemmed only once.
@remembered_words(65_536)
def _form(written: str, kind: str) -> tuple[str, float, str, bool, bool]:
    """Return the fields of a word, without its offsets."""
    key, worth = _identify(written, kind)
    return key, worth, written.lower(), key[0] == "#", written[0].isupper()


def _identify(written: str, kind: str) -> tuple[str, float]:
    """Return the key and weight of a word."""
    if kind == "sign":
        return _SIGNS[written], weight(_SIGNS[written])
    if kind == "number":
        return _number_key(written), _NUMBER_WEIGHT
    word = _without_accents(written)
    word, apostrophe, ending = word.partition("'")
    if apostrophe and ending == "t":  # isn't, can't
        return "not", weight("not")
    if word in _SPELLED:
        return _SPELLED[word], weight(word)
    return (stem(word) if word.isascii() else word), weight(word)


_SPELLED = {
    word: f"#{value}"
    for kind in ("ordinals", "cardinals")
    for word, value in table("numbers.json")[kind].items()
    if value != 1
}
"""The keys of number words: "three" and "third" have the key of 3. "One" is left out, as a pronoun.
"""

_IRREGULAR = {
    form: base for base, *inflected in map(str.split, lines("irregular.txt")) for form in inflected
}


def _number_key(written: str) -> str:
    digits = written.rstrip("stndrh")
    value = value_of(digits)
    return f"#{digits}" if value is None else f"#{value:.12g}"


def _without_accents(written: str) -> str:
    """Return a word without case, compatibility forms and, in Latin script, accents."""
    word = written.casefold().replace("’", "'")
    if word.isascii():
        return word
    # Remove only marks on Latin letters: without their marks, Hindi or Thai words mean something
    # else.
    decomposed = unicodedata.normalize("NFKD", word)
    without = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", without) or word


def stem(word: str) -> str:
    """Strip the inflection of a lower-case English word: plural, past, -ing, -ly and a final e.

    It strips less than Porter's stemmer (1980): it keeps derivational suffixes (-tion, -ment,
    -ness).
    """
    word = _IRREGULAR.get(word, word)
    if len(word) > _SHORT and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-3] + "y" if word.endswith("ies") and len(word) > _SHORT + 1 else word[:-1]
    for suffix in ("ing", "ed", "ly"):
        base = word.removesuffix(suffix)
        if base != word and len(base) >= _SHORT and not _VOWELS.isdisjoint(base):
            doubled = base[-1] == base[-2] and base[-1] not in "aeiouls"
            word = base[:-1] if doubled else base
            break
    if len(word) > _SHORT and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) >= _SHORT and word.endswith("y") else word


_OTHERWISE_WRITTEN = {"not", *_SIGNS.values(), *map(stem, _IRREGULAR.values())}
"""Keys of words that may have another written form: "isn't", "%", "won"."""


def may_hold(text: str, keys: Iterable[str]) -> bool:
    """Return whether `text` may have words with all these keys.

    This fast test does not parse the text. False means that a word is certainly missing.
    """
    folded = _without_accents(text)
    # A word begins with its stem, except for the last letter: "studi" for "studies".
    return all(
        key[:-1] in folded
        for key in keys
        if key.isascii() and key.isalpha() and key not in _OTHERWISE_WRITTEN
    )


def alike(key: str, other: str) -> bool:
    """Return whether two keys share their first letters: product, production.

    At least five letters, and 65 percent of those of the longer key, must be equal.
    """
    longer = max(len(key), len(other))
    shared = 0
    for a, b in zip(key, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= SHARED_PREFIX and shared >= _SHARED_PART * longer
