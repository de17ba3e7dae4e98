"""Find the documents that a text contains, in time that grows with the text alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fullrecall.samples.prompts import unescaped

_WORD = re.compile(
    # Scripts that are written without spaces: each character is a word.
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
    "|[^\\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
_WINDOW = 6
"""Words in common, in their order, that are no chance."""

_CHARACTERS = 16
"""The same where each word is one character."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, without the characters between them."""
    return _WORD.findall(text)


class PassageIndex:
    """Passages that can be found in texts.

    A text contains a passage of up to six words if it has all the words in a row. A longer passage
    is cut into windows of six words. A text contains it if it has all of them; or some, at a place
    where it does not contain another passage more fully (whole, or with half of its windows). So
    two overlapping chunks are not confused, and a chunk that was cut short is found.
    """

    def __init__(self) -> None:
        self._windows: dict[tuple[str, ...], list[int]] = {}
        self._lengths: set[int] = set()
        self._counts: list[int] = []
        self._found: dict[str, tuple[int, tuple[int, ...]]] = {}

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self._counts)

    def add(self, text: str) -> None:
        """Add a passage; its number is the count of the passages before it."""
        number, words = len(self._counts), words_of(text)
        length = min(_window(words), len(words))
        starts = sorted({*range(0, len(words) - length + 1, length or 1), len(words) - length})
        windows = dict.fromkeys(tuple(words[start : start + length]) for start in starts if words)
        self._counts.append(len(windows))
        if windows:
            self._lengths.add(length)
        for window in windows:
            self._windows.setdefault(window, []).append(number)

    def found_in(self, text: str, *, again: bool = True) -> tuple[int, ...]:
        """Return the numbers of the passages that a text contains.

        A text is searched once, and again only if passages were added since; with `again=False`
        not even then.
        """
        cached = self._found.get(text)
        if cached is not None and (not again or cached[0] == len(self)):
            return cached[1]
        numbers = dict.fromkeys(self._standing_in(text))
        # The text may be escaped, as in HTML, in JSON, or in a printed object.
        for form in unescaped(text):
            numbers.update(dict.fromkeys(self._standing_in(form)))
        self._found[text] = (len(self), tuple(numbers))
        return tuple(numbers)

    def sharing(self, text: str) -> Iterable[int]:
        """Return the numbers of the passages with a window that a text contains.

        A part of a passage contains a window if it is twice as long as one; a shorter text shares
        every passage.
        """
        forms = [words_of(form) for form in (text, *unescaped(text))]
        if len(forms[0]) < 2 * _window(forms[0]):
            return range(len(self))
        windows = {window for words in forms for _, window in self._matches(words)}
        return {number for window in windows for number in self._windows[window]}

    def _standing_in(self, text: str) -> Iterator[int]:
        words = words_of(text)
        first: dict[tuple[str, ...], int] = {}
        for position, window in self._matches(words):
            # Each window is looked up once: repeats are not multiplied by the passages that have
            # it.
            first.setdefault(window, position)
        matches: dict[int, dict[tuple[str, ...], int]] = {}
        for window, position in first.items():
            for number in self._windows[window]:
                matches.setdefault(number, {})[window] = position
        claimed = bytearray(len(words))
        parts: tuple[list[int], list[int]] = [], []
        for number, positions in matches.items():
            if len(positions) < self._counts[number]:
                parts[2 * len(positions) < self._counts[number]].append(number)
                continue
            _claim(claimed, positions)
            yield number
        for numbers in parts:
            beside = [number for number in numbers if not _is_claimed(claimed, matches[number])]
            for number in beside:
                _claim(claimed, matches[number])
            yield from beside

    def _matches(self, words: Sequence[str]) -> Iterable[tuple[int, tuple[str, ...]]]:
        windows = self._windows
        for length in self._lengths:
            shifted = (words[start:] for start in range(length))
            for position, window in enumerate(zip(*shifted, strict=False)):
                if window in windows:
                    yield position, window


def _window(words: Sequence[str]) -> int:
    """Return how many words of a text make a window: a character counts for less than a word."""
    return _CHARACTERS if sum(map(len, words)) < 2 * len(words) else _WINDOW


def _claim(claimed: bytearray, positions: Mapping[tuple[str, ...], int]) -> None:
    """Note the words of a text that belong to windows at these positions."""
    for window, position in positions.items():
        claimed[position : position + len(window)] = b"\1" * len(window)


def _is_claimed(claimed: bytearray, positions: Mapping[tuple[str, ...], int]) -> bool:
    """Return whether all words of these windows belong to other windows."""
    return all(
        all(claimed[position : position + len(window)]) for window, position in positions.items()
    )
