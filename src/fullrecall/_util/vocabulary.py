"""The words of a text as they are counted: lower case, without endings, without stop words."""

from __future__ import annotations

import re

from fullrecall._util.caches import remembered_words

_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e01-\u0e5b]|[^\W_]+(?:['\u2019][^\W_]+)*"
)
"""A run of letters and digits; in a script without spaces, a single character."""

STOP_WORDS = frozenset(
    "a about after all also an and any are as at be because been before being between both but by "
    "can could did do does doing done for from had has have having he her him his how i if in into "
    "is it its just may me might more most must my no not of on one or other our out over own she "
    "should so some such than that the their them then there these they this those through to too "
    "under up us use used using very was we were what when where which while who whom whose why "
    "will with would you your".split()
)

_SHORTEST = 3


def words(text: str) -> list[str]:
    """Return all words of a text in order, in lower case."""
    return _WORD.findall(text.casefold())


def content_words(text: str) -> list[str]:
    """Return the stems of a text's words in order, stop words left out."""
    return [_stem(word) for word in words(text) if word not in STOP_WORDS]


# A collection has few distinct words, each many times: stem each word once.
@remembered_words(200_000)
def _stem(word: str) -> str:
    """Return a word without its English ending, so that `waves` and `wave` are one word."""
    word = word.removesuffix("'s").removesuffix("\u2019s")
    if not word.isascii() or not word.isalpha():
        return word
    for ending, least in (("ing", 5), ("ed", 4), ("es", 4), ("s", 3), ("ly", 5)):
        if word.endswith(ending) and len(word) - len(ending) >= least - 1:
            stem = word.removesuffix(ending)
            if ending == "s" and word.endswith(("ss", "us", "is")):
                return word
            return stem.removesuffix("e") if len(stem) > _SHORTEST else stem
    return word.removesuffix("e") if len(word) > _SHORTEST else word
