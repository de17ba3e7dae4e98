"""Find the documents that a text contains, in time that depends only on the text's length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fullrecall.samples.prompts import unescaped

_WORD = re.compile(
    # Scripts without spaces: each character is a word.
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
    "|[^\\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
WINDOW = 6
"""The number of words in a window, large enough that texts do not share a window by chance."""

_CHARACTERS = 16
"""The number of words in a window if each word is one character."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, without the characters between them."""
    return _WORD.findall(text)


class PassageIndex:
    """Passages that can be found in texts.

    A text contains a passage of up to six words if it has all words of the passage in a row. A
    longer passage is cut into windows of six words. A text contains a longer passage if the text
    has at least one of its windows, since the passage may be truncated in the text.

    There is one exception, for passages that overlap. If a text has only some windows of a passage,
    all words of these windows may belong to other passages. If the text has a larger share of those
    passages (all windows, or at least half), it contains only them.
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
        """Add a passage; its number is the number of passages before it."""
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

        Results are kept. A text is searched again only if passages were added since, and never with
        `again=False`.
        """
        cached = self._found.get(text)
        if cached is not None and (not again or cached[0] == len(self)):
            return cached[1]
        # The text may be escaped, as in HTML, in JSON, or in a printed object.
        proven: list[int] = []
        few: list[int] = []
        explained: set[int] = set()
        for form in (text, *unescaped(text)):
            found, beside, others = self._passages_in(form)
            proven += found
            few += beside
            explained.update(others)
        # One form of the text may have only a few words of a passage. The passage does not count if
        # another form shows that these are words of other passages.
        numbers = dict.fromkeys([*proven, *(each for each in few if each not in explained)])
        self._found[text] = (len(self), tuple(numbers))
        return tuple(numbers)

    def sharing(self, text: str) -> Iterable[int]:
        """Return the numbers of the passages with a window that a text contains.

        A part of a passage contains a whole window if it is at least two windows long. A shorter
        text may be a part of any passage, so all passages are returned for it.
        """
        forms = [words_of(form) for form in (text, *unescaped(text))]
        if len(forms[0]) < 2 * _window(forms[0]):
            return range(len(self))
        windows = {window for words in forms for _, window in self._matches(words)}
        return {number for window in windows for number in self._windows[window]}

    def _passages_in(self, text: str) -> tuple[list[int], list[int], list[int]]:
        """Return the numbers of the passages in one form of a text, as three lists.

        - The first list: the text has at least half of the passage's windows.
        - The second list: the text has fewer windows of the passage. Some words of these windows
          belong to no passage of the first list.
        - The third list: the text has fewer windows of the passage, too. All words of these windows
          belong to passages of the first list.

        The first list leaves out a passage that only overlaps with complete passages: the text has
        only some of the passage's windows, and all words of these windows belong to passages that
        the text has completely.
        """
        words = words_of(text)
        first: dict[tuple[str, ...], int] = {}
        for position, window in self._matches(words):
            # Look each window up once, even if the text repeats it: many passages may have it.
            first.setdefault(window, position)
        matches: dict[int, dict[tuple[str, ...], int]] = {}
        for window, position in first.items():
            for number in self._windows[window]:
                matches.setdefault(number, {})[window] = position
        claimed = bytearray(len(words))
        wholes: list[int] = []
        halves: list[int] = []
        rest: list[int] = []
        for number, positions in matches.items():
            count = self._counts[number]
            share = wholes if len(positions) == count else halves
            (share if 2 * len(positions) >= count else rest).append(number)

        def beside(numbers: Sequence[int]) -> list[int]:
            free = [number for number in numbers if not _is_claimed(claimed, matches[number])]
            for number in free:
                _claim(claimed, matches[number])
            return free

        for number in wholes:
            _claim(claimed, matches[number])
        found = [*wholes, *beside(halves)]
        few = beside(rest)
        return found, few, [number for number in rest if number not in few]

    def _matches(self, words: Sequence[str]) -> Iterable[tuple[int, tuple[str, ...]]]:
        windows = self._windows
        for length in self._lengths:
            shifted = (words[start:] for start in range(length))
            for position, window in enumerate(zip(*shifted, strict=False)):
                if window in windows:
                    yield position, window


class Quote(NamedTuple):
    """A run of words in a text, and the numbers of the passages that have it.

    `start` and `end` are indexes of words, `end` excluded. `is_whole` is True if the run is a whole
    passage.
    """

    start: int
    end: int
    numbers: list[int]
    is_whole: bool


def quotes_in(words: Sequence[str], passages: Iterable[Sequence[str]]) -> list[Quote]:
    """Return the longest run of words that a text shares with each passage, in the text's order.

    A run is left out if longer runs cover all but a few of its words (fewer than a window has).
    A run that is a whole passage is left out only if longer runs cover all of it.
    """
    places: dict[int, dict[tuple[str, ...], int]] = {}
    quotes: dict[tuple[int, int], Quote] = {}
    for number, own in enumerate(passages):
        length = min(_window(own), len(own))
        if length not in places:
            shifted = (words[start:] for start in range(length))
            windows = [*zip(*shifted, strict=False)]
            places[length] = {w: at for at, w in reversed([*enumerate(windows)])}
        start, end = _longest_run(own, words, places[length], length)
        if end > start:
            quote = Quote(start, end, [], end - start == len(own))
            quotes.setdefault((start, end), quote).numbers.append(number)
    claimed = bytearray(len(words))
    kept = []
    for quote in sorted(quotes.values(), key=lambda each: each.start - each.end):
        free = claimed.count(0, quote.start, quote.end)
        if free >= (1 if quote.is_whole else _window(words[quote.start : quote.end])):
            claimed[quote.start : quote.end] = b"\1" * (quote.end - quote.start)
            kept.append(quote)
    return sorted(kept)


def _longest_run(
    own: Sequence[str], words: Sequence[str], places: Mapping[tuple[str, ...], int], length: int
) -> tuple[int, int]:
    """Return the start and the end, in a text, of the longest run of a passage's words.

    `places` has the position in the text of each window of `length` words. (0, 0) means no run.
    """
    longest, at = (0, 0), 0
    while at + length <= len(own):
        start = places.get(tuple(own[at : at + length]))
        if start is None:
            at += 1
            continue
        run, most = length, min(len(own) - at, len(words) - start)
        while run < most and own[at + run] == words[start + run]:
            run += 1
        longest = max(longest, (start, start + run), key=lambda each: each[1] - each[0])
        at += run - length + 1
    return longest


def _window(words: Sequence[str]) -> int:
    """Return the number of words in a window of these words.

    Single characters, as in Chinese, need longer windows.
    """
    return _CHARACTERS if sum(map(len, words)) < 2 * len(words) else WINDOW


def _claim(claimed: bytearray, positions: Mapping[tuple[str, ...], int]) -> None:
    """Mark the words of a text that belong to windows at these positions."""
    for window, position in positions.items():
        claimed[position : position + len(window)] = b"\1" * len(window)


def _is_claimed(claimed: bytearray, positions: Mapping[tuple[str, ...], int]) -> bool:
    """Return whether all words of these windows are marked as belonging to other windows."""
    return all(
        all(claimed[position : position + len(window)]) for window, position in positions.items()
    )
