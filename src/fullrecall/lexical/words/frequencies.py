"""The weight of a word, which is higher the rarer the word is in English.

The table beside this module gives the Zipf frequency of 16,000 English words (its head names
source and license). A word that is not listed is rare in English or belongs to another language:
there, short words are mostly function words, so an unlisted word weighs more the longer it is.
"""

from __future__ import annotations

from functools import cache

from fullrecall.lexical.words.data import lines

_CEILING = 7.3  # words of this Zipf frequency or above ("of", "and") have the least weight
_UNLISTED = 3.0  # the Zipf frequency given to a long word that is not listed
_PER_LETTER = 0.6  # added to it for each letter fewer than six
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
    """Return a lower-case word's weight, linear in log rarity: from 0.05 for the commonest to 4.3.

    This is inverse document frequency (Spärck Jones 1972), with the language as the collection.
    """
    frequency = zipf_frequencies().get(word)
    # Short words of other languages are mostly function words, and the table has none of them.
    if frequency is None:
        frequency = _UNLISTED + _PER_LETTER * max(0, _LONG - len(word))
    return max(0.05, _CEILING - frequency)
