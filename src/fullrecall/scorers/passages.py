"""Reference passages: the characters that `SpanRecall` looks for, overlaps counted once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from fullrecall.context import Context
from fullrecall.scorers.alignment import (
    MOST_PLACES,
    Interval,
    Overlap,
    Places,
    overlap,
    places,
    squeezed,
)


@dataclass(frozen=True)
class Passage:
    """A text, the span of a document it was cut from, or both.

    `source` is the document's ID, `start` and `end` the characters of it, half-open.
    """

    label: str
    text: str | None
    source: str | None = None
    start: int = 0
    end: int = 0

    @classmethod
    def of(cls, context: Context) -> Passage:
        """Return the passage that a context is, by its offsets where it has them."""
        label = label_of(context)
        if context.source is None or context.start is None or context.end is None:
            return cls(label, context.text)
        return cls(label, context.text, context.source, context.start, context.end)

    @cached_property
    def characters(self) -> str:
        """The text without white space."""
        return squeezed(self.text or "")

    @property
    def _is_aligned(self) -> bool:
        """Whether the text tells what stands at each offset."""
        return self.text is not None and len(self.text) == self.end - self.start

    @cached_property
    def _before(self) -> list[int] | None:
        """How many characters stand before each offset, if the text tells which are white."""
        if not self._is_aligned or self.text is None:
            return None
        counts = [0]
        for character in self.text:
            counts.append(counts[-1] + (not character.isspace()))
        return counts

    @property
    def length(self) -> int:
        """The number of characters to cover, without white space where the text is known."""
        by_text = self.source is None or self._is_aligned
        return len(self.characters) if by_text else self.end - self.start

    @property
    def is_empty(self) -> bool:
        """Whether it is a place without characters."""
        return self.source is not None and self.length == 0

    def comparable(self, retrieved: Passage) -> bool:
        """Return whether both have offsets, or both have texts."""
        by_place = self.source is not None and retrieved.source is not None
        return by_place or bool(self.characters and retrieved.characters)

    def overlap(self, retrieved: Passage, min_run: int, shared: Places | None = None) -> Overlap:
        """Return which characters of this passage `retrieved` holds.

        By offsets where both have them, then the same text elsewhere does not count; else by
        aligning the texts. `shared` is made of `retrieved`, for several passages together.
        """
        if self.source is None or retrieved.source is None:
            return overlap(self.characters, retrieved.characters, min_run, shared)
        start = max(self.start, retrieved.start) - self.start
        end = min(self.end, retrieved.end) - self.start
        if self.source != retrieved.source or end <= start:
            return Overlap()
        return Overlap(runs=(self._squeezed_range((start, end)),))

    def original(self, part: Interval) -> Interval:
        """Return a range of the characters to cover as offsets in this passage with its spaces."""
        if self.source is not None and self._before is None:
            return part
        return self._positions[part[0]], self._positions[part[1] - 1] + 1

    @cached_property
    def _positions(self) -> list[int]:
        return [at for at, character in enumerate(self.text or "") if not character.isspace()]

    def _squeezed_range(self, part: Interval) -> Interval:
        if self._before is None:
            return part
        return self._before[part[0]], self._before[part[1]]


def label_of(context: Context) -> str:
    """Return what names the passage that a context is: its text, its ID, or its offsets."""
    if context.source is None or context.start is None or context.end is None:
        return context.label
    return context.text or f"{context.source}[{context.start}:{context.end}]"


def merged(passages: Sequence[Passage], min_run: int) -> list[Passage]:
    """Return the union of passages: those that overlap become one, in order of appearance.

    By offsets, passages that share a character; by text, one that contains another, or whose end
    is another's start for at least `min_run` characters.
    """
    distinct = list(dict.fromkeys(passages))
    near = _neighbors(distinct, min_run)
    left = dict.fromkeys(range(len(distinct)))
    unions: list[Passage] = []
    while left:
        number = next(iter(left))
        del left[number]
        current, around = distinct[number], near[number]
        grown = True
        while grown:
            grown = False
            around = around & left.keys()
            for other in sorted(around):
                both = _joined(current, distinct[other], min_run)
                both = both or _joined(distinct[other], current, min_run)
                if both is not None:
                    del left[other]
                    around = around | near[other]
                    current, grown = both, True
                    break
        unions.append(current)
    return unions


def _neighbors(passages: Sequence[Passage], min_run: int) -> list[set[int]]:
    """Return for each passage the others that may be joined with it, and all that are.

    Two texts are joined only if one has the beginning of the other, `min_run` characters or all
    of a shorter one, and they are the same from there to the end of either; two places only if
    one starts inside the other.
    """
    near: list[set[int]] = [set() for _ in passages]
    for first, second in (*_beginnings(passages, min_run), *_starts(passages)):
        if first != second:
            near[first].add(second)
            near[second].add(first)
    return near


def _beginnings(passages: Sequence[Passage], min_run: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of texts of which the second begins in the first, as far as either goes."""
    by_length: dict[int, dict[str, list[tuple[str, int]]]] = {}
    texts = [
        (passage.characters, n) for n, passage in enumerate(passages) if passage.source is None
    ]
    for text, number in texts:
        begun = text[:min_run]
        by_length.setdefault(len(begun), {}).setdefault(begun, []).append((text, number))
    for of_one_length in by_length.values():
        alike = {begun: _Alike(some) for begun, some in of_one_length.items()}
        for text, number in texts:
            for begun, starts in places(alike.keys(), text).items():
                # Of text that repeats itself only the first places are known.
                ends = [""] if len(starts) == MOST_PLACES else [text[at:] for at in starts]
                for end in ends:
                    yield from ((number, other) for other in alike[begun].agreeing(end))


class _Alike:
    """Texts that begin alike, found by how they go on without a look at each of them."""

    def __init__(self, texts: Iterable[tuple[str, int]]) -> None:
        self._texts = sorted(texts)
        # For each text, the index of the longest of the others that is its beginning, or -1.
        self._shorter: list[int] = []
        for row, (text, _) in enumerate(self._texts):
            self._shorter.append(self._beginning(text, row - 1))

    def agreeing(self, text: str) -> Iterator[int]:
        """Yield the numbers of those that begin with `text`, or are its beginning."""
        first = bisect_left(self._texts, (text, -1))
        for longer, number in islice(self._texts, first, None):
            if not longer.startswith(text):
                break
            yield number
        row = self._beginning(text, first - 1)
        while row >= 0:
            yield self._texts[row][1]
            row = self._shorter[row]

    def _beginning(self, text: str, row: int) -> int:
        """Return the index of the longest that is the beginning of `text`, from this one down."""
        while row >= 0 and not text.startswith(self._texts[row][0]):
            row = self._shorter[row]
        return row


def _starts(passages: Sequence[Passage]) -> Iterator[tuple[int, int]]:
    """Yield pairs of passages, as indices, of which the second starts inside the first."""
    by_source: dict[str, list[tuple[int, int]]] = {}
    for number, passage in enumerate(passages):
        if passage.source is not None:
            by_source.setdefault(passage.source, []).append((passage.start, number))
    for starts in by_source.values():
        starts.sort()
        for position, (_, number) in enumerate(starts):
            for start, other in islice(starts, position, None):
                if start >= passages[number].end:
                    break
                yield number, other


def _joined(first: Passage, second: Passage, min_run: int) -> Passage | None:
    """Return the union of two passages of which `second` starts inside `first`, or None."""
    if first.source is not None and second.source is not None:
        return _joined_places(first, second)
    if first.source is not None or second.source is not None:
        return None
    if not second.characters or second.characters in first.characters:
        return first
    if first.characters[-min_run:] not in second.characters:
        return None
    # The first place from which on `second` begins there is that of the longest overlap.
    begun = second.characters[:min_run]
    at = first.characters.find(begun, max(1, len(first.characters) - len(second.characters) + 1))
    while at >= 0:
        shared = len(first.characters) - at
        if second.characters.startswith(first.characters[at:]):
            text = f"{first.text}{_after(second.text or '', shared)}"
            both = replace(first, label=text, text=text)
            # Known without looking through a text that grows by many passages each time anew.
            vars(both)["characters"] = first.characters + second.characters[shared:]
            return both
        at = first.characters.find(begun, at + 1)
    return None


def _joined_places(first: Passage, second: Passage) -> Passage | None:
    inside = first.source == second.source and first.start <= second.start < first.end
    if not inside:
        return None
    if second.end <= first.end:
        return first
    text = None
    if first.text is not None and second.text is not None:
        text = first.text + second.text[first.end - second.start :]
    label = text or f"{first.source}[{first.start}:{second.end}]"
    return replace(first, label=label, text=text, end=second.end)


def _after(text: str, count: int) -> str:
    """Return what follows the first `count` characters of `text` that are not white space."""
    for position, character in enumerate(text):
        if count == 0:
            return text[position:]
        count -= not character.isspace()
    return ""
