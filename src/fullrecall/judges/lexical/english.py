"""Whether a text reads as English, by its vocabulary: no list of other languages is complete.

Function words tell the languages that are listed (`fullrecall.judges.language`). Of any other this
tells that it is not English: few of its words are among the 16,000 most frequent ones. Of 3,400
English claims with three words or more in lower case, one in a thousand has fewer than half of them
there; of texts in forty other languages nearly all do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from fullrecall.judges.lexical.frequencies import zipf_frequencies
from fullrecall.judges.lexical.words import stem

_WORD = re.compile(r"[^\W\d_]{2,}")
_READ = 2_000  # characters of a text: more tell nothing new
_LEAST = 0.55  # of its words that an English text has in the table
_FEW = 5  # words: so few of a claim may all be terms, and what stands around them decides
_ENOUGH = 3  # words by which a text is told by itself
_AROUND = 0.65  # of the words around a short text, for it to be read as theirs
_CONTEXTS = 20  # that are looked at around a text


class _Known(NamedTuple):
    """How many different words a text has in lower case, and how many of them are listed."""

    words: int
    listed: int

    def reads(self, least: float) -> bool:
        return self.listed >= least * self.words


def reads_as_english(text: str, around: Iterable[str] = ()) -> bool:
    """Whether a text reads as English, by the texts around it where it is short.

    Capitalised words are names in any language. A text of these, or of numbers, reads as anything.
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


@lru_cache(maxsize=16_384)
def _known(text: str) -> _Known:
    written = text.lower() if text.isupper() else text
    words = {word for word in _WORD.findall(written) if word[0].islower()}
    return _Known(len(words), sum(map(_is_listed, words)))


@lru_cache(maxsize=65_536)
def _is_listed(word: str) -> bool:
    lowered = word.lower()
    return lowered in zipf_frequencies() or (lowered.isascii() and stem(lowered) in _stems())


@cache
def _stems() -> frozenset[str]:
    return frozenset(map(stem, zipf_frequencies()))
