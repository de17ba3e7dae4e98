"""The corpus as a diagnosis searches it: by ID, by offsets, by text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from fullrecall.context import ID, Context, ContextLike, as_context
from fullrecall.errors import InputError
from fullrecall.identifiers import as_id
from fullrecall.scorers.alignment import Interval, Overlap, covered, total
from fullrecall.scorers.passages import Passage

CorpusLike: TypeAlias = Iterable[ContextLike] | Mapping[ID, ContextLike]
"""What is indexed: contexts, texts, or a mapping from IDs to them."""

_BORDER = "\0"


class Held(NamedTuple):
    """A context of the corpus that holds part of a passage."""

    context: Context
    overlap: Overlap


class Corpus:
    """The contexts that an index holds.

    Texts are searched by exact runs of characters, white space aside. An index of their blocks is
    made at the first search, some seven times the size of the texts; a search looks at the
    contexts that share a run with what is sought, and compares those that may add to the others.
    """

    def __init__(self, contexts: CorpusLike) -> None:
        self._contexts = _contexts(contexts)
        self._ids = {context.id: context for context in self._contexts if context.id is not None}
        self._passages = [Passage.of(context) for context in self._contexts]
        self._by_source: dict[str, list[int]] = {}
        for number, passage in enumerate(self._passages):
            if passage.source is not None:
                self._by_source.setdefault(passage.source, []).append(number)
        self._blocks: dict[int, _Blocks] = {}
        self.has_texts = any(passage.characters for passage in self._passages)

    def __len__(self) -> int:
        return len(self._contexts)

    @property
    def contexts(self) -> Sequence[Context]:
        """All contexts, in the order given."""
        return self._contexts

    def get(self, context_id: str) -> Context | None:
        """Return the context of an ID, None if there is none."""
        return self._ids.get(context_id)

    @property
    def has_ids(self) -> bool:
        """Whether any context has an ID."""
        return bool(self._ids)

    def holders(self, passage: Passage, min_run: int) -> list[Held]:
        """Return contexts that hold together all that the corpus has of a passage.

        One, where one holds it whole. Else those that share most with it first, and of the others
        those that hold what they do not: a line that stands on every page is no part of each. At
        the end those that stand beside one of these and hold what a chunk border cut off, however
        short: the passage goes on at the start of such a context, or begins at its end.
        """
        search = _Search(passage, self._passages, min_run)
        search.look(self._by_source.get(passage.source or "", ()))
        if passage.characters and not search.is_complete:
            if min_run not in self._blocks:
                texts = [other.characters for other in self._passages]
                self._blocks[min_run] = _Blocks(texts, min_run)
            search.look_where_shared(self._blocks[min_run].sharing(passage.characters))
        beside = {n for at in search.overlaps for n in (at - 1, at + 1) if 0 <= n < len(self)}
        search.look(sorted(beside), edges=True)
        return [Held(self._contexts[n], part) for n, part in sorted(search.overlaps.items())]


class _Search:
    """What was found of one passage so far."""

    def __init__(self, passage: Passage, others: Sequence[Passage], min_run: int) -> None:
        self.overlaps: dict[int, Overlap] = {}
        self._passage = passage
        self._others = others
        self._min_run = min_run
        self._covered: list[Interval] = []

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be found."""
        return total(self._covered) == self._passage.length

    def look(self, numbers: Iterable[int], *, edges: bool = False) -> None:
        """Add those of the contexts that hold what is not covered; edges alone if asked to."""
        for number in numbers:
            if self.is_complete:
                return
            part = self._passage.overlap(self._others[number], self._min_run)
            more = covered(self._passage.length, [*self.overlaps.values(), part])
            if more != self._covered and number not in self.overlaps and (part.runs or edges):
                self.overlaps[number], self._covered = part, more

    def look_where_shared(self, shared: Mapping[int, Sequence[Interval]]) -> None:
        """Add those that share blocks with the passage, which `shared` has by their numbers."""
        characters = self._passage.characters
        texts = {number: self._others[number].characters for number in shared}
        nearest = sorted(shared, key=lambda n: (characters not in texts[n], -len(shared[n]), n))
        for number in nearest:
            if self.is_complete:
                return
            if any(self._goes_on(block, texts[number]) for block in shared[number]):
                self.look([number])

    def _goes_on(self, block: Interval, text: str) -> bool:
        """Whether the run that holds a block in a text reaches what is not covered yet.

        Cheaper than to compare the texts, of which thousands may share the same few lines.
        """
        characters, (start, end) = self._passage.characters, block
        inside = next((run for run in self._covered if run[0] <= start and end <= run[1]), None)
        if inside is None:
            return True
        left, right = inside
        before = left > 0 and characters[left - 1 : end] in text
        return before or (right < len(characters) and characters[start : right + 1] in text)


class _Blocks:
    """Which of many texts may share a run with another: by short blocks that every run holds.

    A run that counts is, by `overlap`: `min_run` characters anywhere; a third of that at a border
    of the text; a text that stands whole in the other. Blocks go by their hash, for what they
    find is compared once more.
    """

    def __init__(self, texts: Sequence[str], min_run: int) -> None:
        self._texts = texts
        # A run holds a whole block of half of it, wherever the blocks of a text start.
        self._size = max(1, (min_run + 1) // 2)
        self._edge = max(1, min_run // 3)
        self._inside: dict[int, int | list[int]] = {}
        self._heads: dict[int, int | list[int]] = {}
        self._tails: dict[int, int | list[int]] = {}
        self._whole: dict[int, dict[int, int | list[int]]] = {}
        for number, text in enumerate(texts):
            for at in range(0, len(text) - self._size + 1, self._size):
                _add(self._inside, text[at : at + self._size], number)
            if len(text) >= self._edge:
                _add(self._heads, text[: self._edge], number)
                _add(self._tails, text[-self._edge :], number)
            if 0 < len(text) < min_run:
                _add(self._whole.setdefault(len(text), {}), text, number)

    @cached_property
    def _joined(self) -> tuple[str, list[int]]:
        """All texts as one, and where each starts."""
        starts = accumulate((len(text) + 1 for text in self._texts), initial=0)
        return _BORDER.join(self._texts), list(starts)

    def sharing(self, characters: str) -> dict[int, list[Interval]]:
        """Return which texts may share a run that counts, and all blocks that show it."""
        intervals: dict[int, list[Interval]] = {}
        sized = [(self._size, self._inside), (self._edge, self._heads), (self._edge, self._tails)]
        for size, blocks in [*sized, *self._whole.items()]:
            for at in range(len(characters) - size + 1):
                there = blocks.get(hash(characters[at : at + size]), ())
                for number in (there,) if isinstance(there, int) else there:
                    intervals.setdefault(number, []).append((at, at + size))
        if len(characters) < 2 * self._size - 1:  # it may stand in a text between two blocks
            for number in self._holding(characters):
                intervals.setdefault(number, []).append((0, len(characters)))
        return intervals

    def _holding(self, characters: str) -> Iterator[int]:
        """Yield the numbers of the texts that hold all of `wanted`."""
        joined, starts = self._joined
        at = joined.find(characters)
        while at >= 0:
            number = bisect_right(starts, at) - 1
            yield number
            at = joined.find(characters, starts[number + 1])


def _add(blocks: dict[int, int | list[int]], block: str, number: int) -> None:
    """Note that a block stands in the text of this number; a number alone needs no list."""
    key = hash(block)
    there = blocks.setdefault(key, number)
    if isinstance(there, list):
        if there[-1] != number:
            there.append(number)
    elif there != number:
        blocks[key] = [there, number]


def _contexts(value: CorpusLike) -> tuple[Context, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(
            f"corpus must be an iterable of contexts or a mapping from IDs to them, got "
            f"{type(value).__name__}: fullrecall.read.read_contexts(path) reads a file"
        )
    if not isinstance(value, Mapping):
        return tuple(_context(nth, item) for nth, item in enumerate(value))
    contexts = []
    for key, item in value.items():
        context = _context(key, item)
        own = as_id(key)
        contexts.append(
            context if context.id == own else Context(**{**context.to_dict(), "id": own})
        )
    return tuple(contexts)


def _context(key: object, item: object) -> Context:
    try:
        return as_context(item)
    except ValueError as error:
        raise InputError(f"corpus, item {key!r}: {error}") from None
