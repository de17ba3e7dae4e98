"""Reference passages: the characters that `SpanRecall` looks for; overlaps count once."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fullrecall.samples.context import Context
from fullrecall.scorers.alignment import (
    CharacterRange,
    Overlap,
    Windows,
    overlap,
    squeezed,
    windows,
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
        """Return a context as a passage, with its offsets if it has them."""
        if context.source is None or context.start is None or context.end is None:
            return cls(context.label, context.text)
        label = context.text or f"{context.source}[{context.start}:{context.end}]"
        return cls(label, context.text, context.source, context.start, context.end)

    @cached_property
    def characters(self) -> str:
        """The text without white space."""
        return squeezed(self.text or "")

    @property
    def _is_aligned(self) -> bool:
        """Whether the text has exactly one character for each offset."""
        return self.text is not None and len(self.text) == self.end - self.start

    @property
    def length(self) -> int:
        """The number of characters to cover, without white space if the text is known."""
        by_text = self.source is None or self._is_aligned
        return len(self.characters) if by_text else self.end - self.start

    @property
    def is_empty(self) -> bool:
        """Whether the passage is a range without characters."""
        return self.source is not None and self.length == 0

    def comparable(self, retrieved: Passage) -> bool:
        """Return whether both have offsets, or both have texts."""
        by_place = self.source is not None and retrieved.source is not None
        return by_place or bool(self.characters and retrieved.characters)

    def overlap(self, retrieved: Passage, min_run: int, shared: Windows | None = None) -> Overlap:
        """Return which characters of this passage `retrieved` holds.

        Compares offsets if both passages have them, so that the same text elsewhere does not
        count; else aligns the texts. `shared` is made from `retrieved` once for several passages.
        """
        if self.source is None or retrieved.source is None:
            return overlap(self.characters, shared or Windows(retrieved.characters, min_run))
        start = max(self.start, retrieved.start) - self.start
        end = min(self.end, retrieved.end) - self.start
        if self._is_aligned:
            start, end = (bisect_left(self._positions, offset) for offset in (start, end))
        # Offsets are compared without white space: a context that shares only white space does not
        # support it.
        is_shared = self.source == retrieved.source and start < end
        return Overlap(runs=((start, end),)) if is_shared else Overlap()

    def original(self, part: CharacterRange) -> CharacterRange:
        """Return a range of squeezed characters as offsets in this passage with its white space."""
        if self.source is not None and not self._is_aligned:
            return part
        return self._positions[part[0]], self._positions[part[1] - 1] + 1

    @cached_property
    def _positions(self) -> list[int]:
        """The offsets of the characters that are not white space."""
        return [at for at, character in enumerate(self.text or "") if not character.isspace()]


def merged(passages: Sequence[Passage], min_run: int) -> list[Passage]:
    """Return the union of passages: those that overlap become one, in order of appearance.

    Passages overlap by offsets if they share a character; by text if one contains another, or if
    at least `min_run` characters end one and begin another.
    """
    distinct = list(dict.fromkeys(passages))
    # Compare only neighbors: all pairs of 1,000 references would be a million alignments.
    near = _neighbors(distinct, min_run)
    remaining = dict.fromkeys(range(len(distinct)))
    unions: list[Passage] = []
    while remaining:
        index = next(iter(remaining))
        del remaining[index]
        current, around = distinct[index], near[index]
        grown = True
        while grown:
            grown = False
            # A union may overlap passages that neither of its parts did: start again from the
            # first.
            around = around & remaining.keys()
            for other in sorted(around):
                union = _joined(current, distinct[other], min_run)
                union = union or _joined(distinct[other], current, min_run)
                if union is not None:
                    del remaining[other]
                    around = around | near[other]
                    current, grown = union, True
                    break
        unions.append(current)
    return unions


def _neighbors(passages: Sequence[Passage], min_run: int) -> list[set[int]]:
    """Return for each passage the indices of all passages that may be joined with it.

    Two texts are joined only if one contains the first `min_run` characters of the second, or all
    of a shorter second text; two ranges only if they are of one document.
    """
    near: list[set[int]] = [set() for _ in passages]
    of_source: defaultdict[str, set[int]] = defaultdict(set)
    of_beginning: defaultdict[str, set[int]] = defaultdict(set)
    for index, passage in enumerate(passages):
        if passage.source is not None:
            of_source[passage.source].add(index)
        else:
            of_beginning[passage.characters[:min_run]].add(index)
    lengths = {len(beginning) for beginning in of_beginning}
    for index, passage in enumerate(passages):
        if passage.source is not None:
            near[index] |= of_source[passage.source]
            continue
        # There are few lengths: `min_run`, and those of shorter texts.
        for length in lengths:
            for beginning in windows(passage.characters, length) & of_beginning.keys():
                near[index] |= of_beginning[beginning]
                for other in of_beginning[beginning]:
                    near[other].add(index)
    return near


def _joined(first: Passage, second: Passage, min_run: int) -> Passage | None:
    """Return the union of two passages if `second` starts inside `first`, else None."""
    if first.source is not None and second.source is not None:
        return _joined_places(first, second)
    if first.source is not None or second.source is not None:
        return None
    if not second.characters or second.characters in first.characters:
        return first
    if first.characters[-min_run:] not in second.characters:
        return None
    # The first match of this beginning gives the longest overlap.
    beginning = second.characters[:min_run]
    earliest = max(1, len(first.characters) - len(second.characters) + 1)
    start = first.characters.find(beginning, earliest)
    while start >= 0:
        shared = len(first.characters) - start
        if second.characters.startswith(first.characters[start:]):
            text = f"{first.text}{_after(second.text or '', shared)}"
            union = replace(first, label=text, text=text)
            # The letters are set here, so that a text that grows by many passages is not squeezed
            # again for each.
            vars(union)["characters"] = first.characters + second.characters[shared:]
            return union
        start = first.characters.find(beginning, start + 1)
    return None


def _joined_places(first: Passage, second: Passage) -> Passage | None:
    starts_inside = first.source == second.source and first.start <= second.start < first.end
    if not starts_inside:
        return None
    if second.end <= first.end:
        return first
    text = None
    if first.text is not None and second.text is not None:
        text = first.text + second.text[first.end - second.start :]
    label = text or f"{first.source}[{first.start}:{second.end}]"
    return replace(first, label=label, text=text, end=second.end)


def _after(text: str, count: int) -> str:
    """Return the rest of `text` after `count` characters that are not white space."""
    for position, character in enumerate(text):
        if count == 0:
            return text[position:]
        count -= not character.isspace()
    return ""
