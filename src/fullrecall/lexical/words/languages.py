"""Detect the language of a text by its script, function words and vocabulary.

It does not guess: for a text without a distinctive script or function words it returns None, and
the caller decides by the surrounding texts. The language decides which abbreviations a sentence
splitter knows (`language_of`), and whether a judge was measured on such texts (`judged_language`).

No list of other languages is complete, so a text judged as English must also have an English
vocabulary. Of 3,400 English claims with at least three lower-case words, one in a thousand has
fewer than half of these words among the 16,000 most frequent English words. Nearly all texts in
forty other languages have fewer than half.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache

from fullrecall._util.caches import remembered, remembered_words
from fullrecall.lexical.words.data import languages, words_of
from fullrecall.lexical.words.frequencies import zipf_frequencies
from fullrecall.lexical.words.tokens import stem

UNDETERMINED = "und"
"""The ISO 639-2 code of a language that is not listed."""

# Leave out single letters such as "y" and "a", which may be names.
_WORD = re.compile(r"[^\W\d_]{2,}|[^\W\d_a-zA-Z]")
_READ = 2_000
"""The most characters of a text that are read; further characters add no information."""
_PARTICLES = "de|da|do|dos|das|di|du|des|del|della|der|den|la|le|les|el|al|los|van|von|zu|y|e"
_NAME = re.compile(  # "Charles de Gaulle", "Cinco de Mayo", "Leonardo da Vinci"
    rf"(?<=[^\W\d_])(?: (?:{_PARTICLES})){{1,8}}+(?= [^\W\d_a-z])"
)
_IN_NAME = re.compile(r"\b[A-Z]\w*+(?= [^\W\d_a-zß-öø-ÿ])")
"""A capitalized word before another one: the start of a name or a title, not a function word."""
_SYMBOL = re.compile(r"\w[./_:=@\\(){}<>\[\]#|&+]+\w|[\d_`]|--|^-\w|^[./~]+\w")
"""Marks that show that a word is a path, an address, a flag, a number, or code."""
_SIGN = re.compile(r"[(){}\[\]=<>|\\_$:;/@#\"`]|--")
_ACCENTED = re.compile(r"[^\W\d_a-zA-Z]")
_COMMAND = re.compile(r"[`$> ]*[a-z]")
_ENDS_SENTENCE = re.compile(r"[.!?…][\"'”’)\]*_ ]*$")
_LONGER = re.compile(r"[^\W\d_]{2,}")
_LEAST = 0.55  # the least share of an English text's words that are in the table
_ENOUGH = 3  # the number of words that is enough to show a text's language
_CONTEXTS = 20  # the most surrounding texts that are read
_CERTAIN = 2
"""The number of function words that show a text's language without the surrounding texts."""


def language_of(text: str) -> str | None:
    """Return the ISO 639-1 code of the language of `text`; None if it is unclear."""
    language, _ = _language_and_signs(text[:_READ])
    return language


def language_among(text: str, around: Iterable[str]) -> str | None:
    """Return the language of a short text; if it is unclear, decide by the texts around it.

    One function word of another language is not enough ("Los Angeles hosted the Games", `az
    login`): then the texts around it decide. The result is None if these are unclear, too.
    """
    language, strength = _language_and_signs(text[:_READ])
    if language == "en" or (language is not None and strength >= _CERTAIN):
        return language
    counts: Counter[str] = Counter()
    for other in around:
        code, signs = _language_and_signs(other[:_READ])
        if code is not None and (code == "en" or signs >= _CERTAIN):
            counts[code] += 1
    if not counts:
        return None
    return max(counts, key=lambda code: (counts[code], code == "en"))


def judged_language(text: str, around: Sequence[str]) -> str:
    """Return the code of the language in which to judge a text.

    If the text alone is unclear, the texts `around` it decide; if they are unclear too, English is
    assumed. If the result would be English, but the text does not read as English, the result is
    `UNDETERMINED`.
    """
    language = language_among(text, around) or "en"
    return UNDETERMINED if language == "en" and not reads_as_english(text, around) else language


def reads_as_english(text: str, around: Iterable[str] = ()) -> bool:
    """Return whether at least 55 percent of a text's lower-case words count as English.

    Frequent English words count. A term ("kubectl") counts if an English text in `around` has it,
    or if it is beside an English word in a short text. Capitalized words, and particles between
    them, may be names in any language, so a text of only names, numbers or code is accepted.
    """
    own = _lower_words(text[:_READ])
    listed = set(filter(_is_listed, own))
    is_term = len(own) < _ENOUGH and len(own) <= 2 * len(listed) + _begins_listed(text)
    if is_term and not _ACCENTED.search(text):
        return True
    for _, other in zip(range(_CONTEXTS), around, strict=False):
        words = _lower_words(other[:_READ])
        if len(words) >= _ENOUGH and len(list(filter(_is_listed, words))) >= _LEAST * len(words):
            listed |= own & words
    return len(listed) >= _LEAST * len(own)


def name_of(language: str) -> str:
    """Return the English name of a language, or its code if it is not listed.

    For `UNDETERMINED`, return "in another language".
    """
    if language == UNDETERMINED:
        return "in another language"
    return languages().get(language, {}).get("name", language)


def function_words(language: str | None) -> frozenset[str]:
    """Return the function words by which a language is recognized; empty without a list."""
    return words_of(language or "", "function_words")


def any_function_words() -> Collection[str]:
    """Return the function words of all languages."""
    return _by_sign("function_words").keys()


@remembered(2_000_000)
def _language_and_signs(text: str) -> tuple[str | None, int]:
    """Return a text's language, or None, and how strongly its function words show it.

    The second item is the number of the language's function words in the text, minus the number of
    English ones. For a language shown by its script, it is `_CERTAIN`.
    """
    if text.isascii():
        return _latin(text)
    letters = list(filter(str.isalpha, text))
    written = Counter(map(_script, letters))
    by_script = _by_sign("scripts")
    scripts = Counter({by_script[name][0]: n for name, n in written.items() if name in by_script})
    latin = written["LATIN"]
    # Count letters of listed scripts twice: Latin words may be names in any text, and a word of
    # another script may have fewer letters.
    if scripts.total() * 2 > latin:
        return _by_script(text, scripts), _CERTAIN
    # A text in an unlisted script is not English, even if it has Latin names.
    unlisted = len(letters) - scripts.total() - latin
    return (UNDETERMINED, _CERTAIN) if unlisted > latin else _latin(text)


@lru_cache(maxsize=4_096)
def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]


def _by_script(text: str, scripts: Counter[str]) -> str:
    code = scripts.most_common(1)[0][0]
    if code == "zh" and scripts["ja"]:
        return "ja"
    if code == "ru" and any(c in "іїєґІЇЄҐ" for c in text):
        return "uk"
    if code == "ar" and any(c in "پچژگ" for c in text):
        return "fa"
    return code


def _latin(text: str) -> tuple[str | None, int]:
    prose_words = _without_symbols(text)
    written = (
        prose_words.lower()
        if prose_words.isupper()
        else _IN_NAME.sub(" ", _NAME.sub(" ", prose_words))
    )
    # Count each word once: a repeated name, such as Python's module `os`, does not show Portuguese.
    words = set(_WORD.findall(written))
    by_word = _by_sign("function_words")
    lowered = {word.lower() for word in words} & by_word.keys()
    counts = Counter(code for word in lowered for code in by_word[word])
    if not counts:
        return None, 0
    # In a tie, English wins, since it is listed first.
    best = max(filter(counts.__contains__, languages()), key=counts.__getitem__)
    return best, counts[best] - counts["en"]


@cache
def _by_sign(field: str) -> Mapping[str, Sequence[str]]:
    """Return, for each word listed under a field, the codes of the languages that list it."""
    codes_of: dict[str, list[str]] = {}
    for code, entry in languages().items():
        for sign in entry.get(field, "").split():
            codes_of.setdefault(sign, []).append(code)
    return codes_of


@remembered(400_000)
def _lower_words(text: str) -> frozenset[str]:
    """Return the words of a text's prose that are not names: no capitals, no particle of a name."""
    # Split at colons, so that a command after one is left out: "Push: docker push …".
    prose = "\n".join(filter(_is_prose, re.split(r":[ \t]|\n", text)))
    prose_words = _without_symbols(prose)
    written = _NAME.sub(" ", prose_words.lower() if prose_words.isupper() else prose_words)
    return frozenset(word for word in _LONGER.findall(written) if word.islower())


def _without_symbols(text: str) -> str:
    """Return a text without its paths, addresses, flags, numbers and code."""
    return " ".join(word for word in text.split() if not _SYMBOL.search(word))


def _is_prose(line: str) -> bool:
    """Return whether a line is prose, not code, a table row, `key: value` or a command."""
    words = _LONGER.findall(line)
    if 2 * len(_SIGN.findall(line)) >= len(words):
        return False
    if _ACCENTED.search(line) or not _COMMAND.match(line) or _ENDS_SENTENCE.search(line):
        return True
    return len(words) > _ENOUGH and not any(map(_SYMBOL.search, line.split()))


def _begins_listed(text: str) -> bool:
    """Return whether a text begins with a frequent English word: "Configure kubectl."."""
    first = _LONGER.match(text)
    return first is not None and _is_listed(first[0])


@remembered_words(65_536)
def _is_listed(word: str) -> bool:
    lowered = word.lower()
    return stem(lowered) in _stems()


@cache
def _stems() -> frozenset[str]:
    return frozenset(map(stem, zipf_frequencies()))


def is_in_latin(text: str) -> bool:
    """Return whether at least half of a text's letters are Latin."""
    letters = list(filter(str.isalpha, text[:_READ]))
    return 2 * sum(c < "\u0250" for c in letters) >= len(letters)
