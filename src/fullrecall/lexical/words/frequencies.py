"""The weight of a word: the rarer it is in English, the higher.

The table beside this module gives the Zipf frequency of 16,000 English words (its first lines name
source and license). An unlisted word is rare in English, or of another language. Short words of
other languages are mostly function words, so an unlisted word weighs more if it is longer.
"""

from __future__ import annotations

from functools import cache

from fullrecall.lexical.words.data import lines

_CEILING = 7.3  # words of at least this Zipf frequency ("of", "and") have the least weight
_UNLISTED = 3.0  # the Zipf frequency given to a long word that is not listed
_PER_LETTER = 0.6  # added to `_UNLISTED` for each letter fewer than six
_LONG = 6


@cache
def zipf_frequencies() -> dict[str, float]:
    """Return the Zipf frequency (log10 of occurrences per billion words) of each listed word."""
    frequencies: dict[str, float] = {}
    for line in lines("english_frequencies.txt"):
        frequency, *words = line.split()
        frequencies.update(dict.fromkeys(words, float(frequency)))
    return frequencies


def weight(word: str) -> float:
    """Return the weight of a lower-case word, from 0.05 for frequent words to 4.3 for rare ones.

    It is linear in the logarithm of the frequency. This is inverse document frequency (Spärck Jones
    1972), with the language as the collection.
    """
    frequency = zipf_frequencies().get(word)
    # The table has no words of other languages, whose short words are mostly function words.
    if frequency is None:
        frequency = _UNLISTED + _PER_LETTER * max(0, _LONG - len(word))
    return max(0.05, _CEILING - frequency)
