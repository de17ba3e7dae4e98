"""Which language a text is written in, as far as its script and function words tell.

No dependency and no guess: a text that says neither by script nor by function words has no
language here (None), and whoever asks decides by what stands around it. It is for two decisions:
which abbreviations a sentence splitter knows, and whether a judge was ever measured on a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

NAMES: Mapping[str, str] = {
    "ar": "Arabic", "bn": "Bengali", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "am": "Amharic", "bo": "Tibetan", "en": "English", "es": "Spanish", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi",
    "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "it": "Italian", "ja": "Japanese",
    "ka": "Georgian", "km": "Khmer", "kn": "Kannada", "ko": "Korean", "lo": "Lao",
    "ml": "Malayalam", "my": "Burmese", "nl": "Dutch", "no": "Norwegian", "pa": "Punjabi",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "si": "Sinhala",
    "sv": "Swedish", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "und": "in another language", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""The languages that are told apart, by ISO 639-1 code."""

UNDETERMINED = "und"
"""The ISO 639-2 code of a language that is none of these."""

_FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": "the a an of in on at by to for from with and or but not is are was were be been has "
        "have had it its he she they his her their this that these those as which who what when "
        "where into than then there will would can could may do does did if so no i you we him "
        "them our your my about after before over under between during through because only all "
        "also such up out how more most other some any each every both",
        "de": "der die das den dem des ein eine einen einem einer eines und oder aber nicht ist "
        "sind war waren wird wurde wurden werden hat haben hatte im in am an auf aus bei mit nach "
        "von vom zu zum zur für über unter durch um es er sie ich wir ihr sein seine ihre als wie "
        "auch nur noch sich dass steht liegt kein keine diese dieser dieses sehr gegen bis",
        "fr": "le la les un une des du de et ou mais ne pas est sont était étaient sera été a ont "
        "avait au aux en dans sur sous par pour avec sans il elle ils elles ce cette ces son sa "
        "ses leur leurs que qui où plus se nous vous je très comme entre après avant aussi d l",
        "es": "el la los las un una unos unas de del y o pero no es son era eran fue fueron ser ha "
        "han había al en con por para sin sobre se su sus este esta estos estas que quien donde "
        "más lo le les como entre desde hasta muy también está están cuando",
        "it": "il lo la i gli le un uno una di del della dei delle degli dello e o ma non è sono "
        "era erano fu ha hanno aveva al alla ai nel nella nei in con per su da dal dalla si suo "
        "sua che chi dove più come tra fra anche questo questa questi essere stato stata trova",
        "pt": "o a os as um uma uns umas de do da dos das e ou mas não é são era eram foi foram "
        "ser tem têm ao à no na nos nas em com por para pelo pela sem sobre se seu sua que quem "
        "onde mais como entre até também está estão fica muito",
        "nl": "de het een van en of maar niet is zijn was waren werd werden wordt heeft hebben had "
        "in op aan bij met naar uit voor door over om te er hij zij ze het dat die deze dit als "
        "ook nog zich geen wat wie waar staat ligt tot tegen onder",
        "sv": "en ett och eller men inte är var har hade i på av till för med från om under över "
        "vid som den det de han hon sig sin sitt sina att blev blir kan ska inom efter mellan "
        "ligger står också",
        "da": "en et og eller men ikke er var har havde i på af til for med fra om under over ved "
        "som den det de han hun sig sin sit sine at blev bliver kan skal efter mellem ligger "
        "står også",
        "no": "en et og eller men ikke er var har hadde i på av til for med fra om under over ved "
        "som den det de han hun seg sin sitt sine å ble blir kan skal etter mellom ligger står "
        "også",
        "pl": "i w we z ze na do od po za przez dla o u się nie jest są był była było były być ma "
        "to ten ta te tego tej który która które jak ale lub oraz także jego jej ich że czy leży",
        "cs": "a v ve z ze na do od po za pro o u se si není je jsou byl byla bylo byli být má to "
        "ten ta který která které jak ale nebo také jeho její jejich že leží stojí",
        "fi": "on ja ei oli ovat olivat ole se hän he tämä joka jotka että kun kuin myös mutta "
        "tai sekä ovat oli ollut hänen sen sijaitsee",
        "tr": "ve bir bu da de ile için olarak olan değil dir dır en çok daha gibi ise ki o ne "
        "veya ama vardır oldu idi kadar sonra göre bulunur yer",
        "hu": "a az és egy nem van volt hogy is meg ez azt ezt de vagy mint csak már még el ki le "
        "található áll",
        "ro": "și în este sunt a fost au un o de la cu pe pentru din nu se care ce mai lui ei lor "
        "dar sau prin după între află era",
        "id": "yang dan di ke dari untuk dengan pada adalah ini itu tidak atau oleh sebagai dalam "
        "juga akan telah lebih ada bukan terletak",
        "vi": "là và của có không được trong cho các một những với này đã từ ở người về như tại",
    }.items()
}

_LETTERS: Mapping[str, str] = {
    "de": "ß", "es": "ñ¿¡", "pt": "ãõ", "pl": "łąęśżźćń", "cs": "řěů", "tr": "ğış", "hu": "őű",
    "ro": "ățș", "vi": "đơư", "da": "øæ", "no": "øæ", "sv": "", "fr": "œ",
}  # fmt: skip
"""Letters that hardly another of these languages has; each counts as a function word."""

_SCRIPTS: Mapping[str, str] = {
    "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CJK": "zh", "CYRILLIC": "ru",
    "GREEK": "el", "ARABIC": "ar", "HEBREW": "he", "THAI": "th", "DEVANAGARI": "hi",
    "BENGALI": "bn", "TAMIL": "ta", "TELUGU": "te", "ARMENIAN": "hy", "GEORGIAN": "ka",
    "GUJARATI": "gu", "GURMUKHI": "pa", "KANNADA": "kn", "MALAYALAM": "ml", "SINHALA": "si",
    "LAO": "lo", "KHMER": "km", "MYANMAR": "my", "ETHIOPIC": "am", "TIBETAN": "bo",
}  # fmt: skip

_WORD = re.compile(r"[^\W\d_]{2,}|[^\W\d_a-zA-Z]")  # "y" and "a" are names of things, too
_READ = 2_000
"""Characters of a text that are read: more tell nothing new."""
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


def name_of(language: str) -> str:
    """Return the English name of a language code, the code itself where it has none here."""
    return NAMES.get(language, language)


def function_words(language: str | None) -> frozenset[str]:
    """Return the function words by which a language is told; none for one without."""
    return _FUNCTION_WORDS.get(language or "", frozenset())


@lru_cache(maxsize=16_384)
def _told(text: str) -> tuple[str | None, int]:
    """Return the language and how many words or letters told it."""
    if text.isascii():
        return _latin(text)
    scripts = Counter(
        script for c in text if c.isalpha() and (script := _SCRIPTS.get(_script(c))) is not None
    )
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
    counts = Counter(code for word in words & _BY_WORD.keys() for code in _BY_WORD[word])
    if not is_ascii:
        counts.update(code for one in set(lowered) & _BY_LETTER.keys() for code in _BY_LETTER[one])
    if not counts:
        return None, 0
    best, english = max(counts.values()), counts["en"]
    if english == best:
        return "en", best
    return next(code for code in _FUNCTION_WORDS if counts[code] == best), best - english


def _languages(signs: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return for each sign the languages that have it."""
    of: dict[str, list[str]] = {}
    for code, own in signs.items():
        for sign in own:
            of.setdefault(sign, []).append(code)
    return of


_BY_WORD = _languages(_FUNCTION_WORDS)
_BY_LETTER = _languages(_LETTERS)
