"""Find names in an English text by their capitals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fullrecall._util.caches import remembered
from fullrecall._util.pieces import paused
from fullrecall.lexical.words.data import word_set
from fullrecall.lexical.words.frequencies import zipf_frequencies
from fullrecall.lexical.words.languages import function_words
from fullrecall.lexical.words.numbers import CALENDAR
from fullrecall.lexical.words.tokens import Word, read_words

_ENDS = ".!?:;…\n|"


class Name(NamedTuple):
    """A name as written, with its half-open offsets and the keys of its words.

    `is_sure` is False for a single word at the beginning of a sentence, where any word has a
    capital. There, only a rare word counts as a name.
    """

    text: str
    start: int
    end: int
    keys: tuple[str, ...]
    is_sure: bool = True


@remembered(400_000)
def names(text: str) -> tuple[Name, ...]:
    """Return the names of a text, in order: runs of one or more capitalized words.

    Months, weekdays, and frequent words that begin a sentence are not names.
    """
    words = read_words(text)
    listed = []
    for first, run in _runs(text, words):
        before = text[words[first - 1].end : words[first].start] if first else _ENDS
        follows_title = first and words[first - 1].written in word_set("titles")
        is_sure = follows_title or set(_ENDS).isdisjoint(before) or len(run) > 1
        if is_sure or run[0].written not in zipf_frequencies():
            start, stop = run[0].start, run[-1].end
            keys = tuple(word.key for word in run)
            listed.append(Name(text[start:stop], start, stop, keys, bool(is_sure)))
    return tuple(listed)


def _runs(text: str, words: Sequence[Word]) -> list[tuple[int, list[Word]]]:
    """Return runs of capitalized words ("J. K. Rowling"), each with the index of its first word."""
    runs: list[tuple[int, list[Word]]] = []
    for position, word in enumerate(paused(words)):
        if not _is_capitalized(word):
            continue
        if runs and _are_joined(text, runs[-1][1][-1], word):
            runs[-1][1].append(word)
        else:
            runs.append((position, [word]))
    return runs


def _are_joined(text: str, first: Word, other: Word) -> bool:
    """Return whether only a space, a hyphen or an initial's stop separates two words."""
    # "Charles de Gaulle" is read as two names, since joining them would matter little: of 9,620
    # quotes, one was refused because of its "de".
    gap = text[first.end : other.start]
    return gap in (" ", "-") or (first.end - first.start == 1 and gap in (".", ". "))


def _is_capitalized(word: Word) -> bool:
    if not word.is_capitalised or word.is_number:
        return False
    return word.written not in CALENDAR | word_set("titles") and word.written not in function_words(
        "en"
    )
