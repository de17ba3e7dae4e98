"""Names in an English text, as far as capitals tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fullrecall.caches import remembered
from fullrecall.judges.words.frequencies import weight, zipf_frequencies
from fullrecall.judges.words.languages import function_words
from fullrecall.judges.words.numbers import CALENDAR
from fullrecall.judges.words.tokens import Word, read_words

_LEAST = 0.5  # a capitalized word that weighs less is a function word
_ENDS = ".!?:;…\n|"


class Name(NamedTuple):
    """A name: as written, its half-open offsets, and the keys of its words.

    `is_sure` is False for a single word that begins a sentence, where any word has a capital: a
    name is a rare one.
    """

    text: str
    start: int
    end: int
    keys: tuple[str, ...]
    is_sure: bool = True


@remembered(400_000)
def names(text: str) -> tuple[Name, ...]:
    """Return the names of a text, in order: runs of capitalized words, of one or more.

    Months and weekdays are none, nor is a frequent word that begins a sentence.
    """
    words = tuple(read_words(text))
    listed = []
    for first, end in _runs(text, words):
        run = words[first:end]
        before = text[words[first - 1].end : words[first].start] if first else _ENDS
        is_sure = set(_ENDS).isdisjoint(before) or len(run) > 1
        rare = [[word] for word in run if word.written not in zipf_frequencies()]
        for part in [run] if is_sure else rare:
            start, stop = part[0].start, part[-1].end
            keys = tuple(word.key for word in part)
            listed.append(Name(text[start:stop], start, stop, keys, is_sure))
    return tuple(listed)


def _runs(text: str, words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Yield where capitalized words stand side by side, or joined as in "J. K. Rowling"."""
    first: int | None = None
    last = 0
    for position, word in enumerate(words):
        if not _is_capitalized(word):
            continue
        if first is not None and not _are_joined(text, words, last, position):
            yield first, last + 1
            first = None
        first = position if first is None else first
        last = position
    if first is not None:
        yield first, last + 1


def _are_joined(text: str, words: Sequence[Word], first: int, other: int) -> bool:
    """Whether nothing parts two words but a space, a hyphen, or an initial's stop."""
    # "Charles de Gaulle" is two names: of 9,620 quotes one was refused for the "de" between.
    gap = text[words[first].end : words[other].start]
    is_initial = words[first].end - words[first].start == 1
    return gap in (" ", "-") or (is_initial and gap in (".", ". "))


def _is_capitalized(word: Word) -> bool:
    if not word.is_capitalised or word.is_number or weight(word.written) < _LEAST:
        return False
    return word.written not in CALENDAR and word.written not in function_words("en")
