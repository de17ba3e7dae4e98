"""The corpus as a diagnosis searches it: by ID, by place, by text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from fullrecall.context import ID, Context, ContextLike, as_context
from fullrecall.errors import InputError
from fullrecall.identifiers import as_id
from fullrecall.scorers.alignment import Overlap, covered
from fullrecall.scorers.passages import Passage

CorpusLike: TypeAlias = Iterable[ContextLike] | Mapping[ID, ContextLike]
"""What is indexed: contexts, texts, or a mapping from IDs to them."""

_BORDER = "\0"

_SHORTEST_BLOCK = 8
"""Characters below which a block stands everywhere, and an index of them is of no use."""


class Held(NamedTuple):
    """A context of the corpus that holds part of a passage."""

    context: Context
    overlap: Overlap


class Corpus:
    """The contexts that an index holds.

    Texts are searched by exact runs of characters, white space aside. An index of their blocks is
    made at the first search, some six times the size of the texts; a search takes no longer in a
    larger corpus, but for what is too short to hold a block, which is looked for in all the texts.
    """

    def __init__(self, contexts: CorpusLike) -> None:
        self._contexts = _contexts(contexts)
        self._ids = {context.id: context for context in self._contexts if context.id is not None}
        self._passages = [Passage.of(context) for context in self._contexts]
        self._starts: list[int] = []
        self._text = ""
        self._by_source: dict[str, list[int]] = {}
        parts: list[str] = []
        length = 0
        for number, passage in enumerate(self._passages):
            self._starts.append(length)
            parts.append(passage.characters)
            length += len(passage.characters) + 1
            if passage.source is not None:
                self._by_source.setdefault(passage.source, []).append(number)
        self._text = _BORDER.join(parts)
        self._blocks: dict[int, dict[int, int | list[int]]] = {}
        self.has_texts = any(parts)

    def __len__(self) -> int:
        return len(self._contexts)

    def get(self, context_id: str) -> Context | None:
        """Return the context of an ID, None if there is none."""
        return self._ids.get(context_id)

    @property
    def has_ids(self) -> bool:
        """Whether any context has an ID."""
        return bool(self._ids)

    def holders(self, passage: Passage, min_run: int) -> list[Held]:
        """Return the contexts that hold at least a run of `min_run` characters of a passage.

        And those that hold what a chunk border cut off it: the passage goes on at the start, or
        begins at the end, of a context that stands beside another of them, or that has as much of
        it as counts at a border.
        """
        numbers: set[int] = set()
        if passage.source is not None:
            numbers.update(self._by_source.get(passage.source, ()))
        numbers.update(self._with_a_run(passage.characters, min_run))
        found = {number: self._overlap(passage, number, min_run) for number in numbers}
        found = {number: part for number, part in found.items() if part.runs}
        if found and passage.source is None:
            for number in self._at_borders(passage, found, min_run) - found.keys():
                part = self._overlap(passage, number, min_run)
                more = covered(passage.length, [*found.values(), part])
                if more != covered(passage.length, found.values()):
                    found[number] = part
        return [Held(self._contexts[number], found[number]) for number in sorted(found)]

    def _overlap(self, passage: Passage, number: int, min_run: int) -> Overlap:
        return passage.overlap(self._passages[number], min_run)

    def _with_a_run(self, wanted: str, min_run: int) -> set[int]:
        """Return the numbers of the contexts that may share a run of `min_run` characters."""
        # A run of that length holds a whole block of half of it, wherever the blocks start.
        block = (min_run + 1) // 2
        if block < _SHORTEST_BLOCK or len(wanted) < 2 * block - 1:
            size = max(1, min(block, len(wanted)))
            starts = range(0, len(wanted) - size + 1, size)
            return {n for at in starts for n in self._places(wanted[at : at + size])}
        index = self._index(block)
        numbers: set[int] = set()
        for at in range(len(wanted) - block + 1):
            there = index.get(hash(wanted[at : at + block]), ())
            numbers.update((there,) if isinstance(there, int) else there)
        return numbers

    def _index(self, block: int) -> dict[int, int | list[int]]:
        """Return which contexts have a block of this length, by its hash, at a multiple of it."""
        if block in self._blocks:
            return self._blocks[block]
        index = self._blocks[block] = {}
        for number, passage in enumerate(self._passages):
            text = passage.characters
            for at in range(0, len(text) - block + 1, block):
                key = hash(text[at : at + block])
                there = index.setdefault(key, number)
                if isinstance(there, list):
                    there.append(number)
                elif there != number:
                    index[key] = [there, number]
        return index

    def _at_borders(self, passage: Passage, found: dict[int, Overlap], min_run: int) -> set[int]:
        """Return the numbers of contexts that may hold what is missing at the passage's ends."""
        wanted = passage.characters
        runs = covered(len(wanted), found.values())
        head, tail = wanted[: runs[0][0]], wanted[runs[-1][1] :]
        if not head and not tail:
            return set()
        last = len(self._passages)
        numbers = {n for at in found for n in (at - 1, at + 1) if 0 <= n < last}
        least = max(1, min_run // 3)
        for number, other in enumerate(self._passages):
            text = other.characters
            if (len(tail) >= least and text.startswith(tail)) or (
                len(head) >= least and text.endswith(head)
            ):
                numbers.add(number)
        return numbers

    def _places(self, seed: str) -> Iterable[int]:
        if not seed:
            return
        at = self._text.find(seed)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            if number + 1 == len(self._starts):
                return
            at = self._text.find(seed, self._starts[number + 1])


def _contexts(value: CorpusLike) -> tuple[Context, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(
            f"corpus is an iterable of contexts or a mapping from IDs to them, got "
            f"{type(value).__name__}"
        )
    if not isinstance(value, Mapping):
        return tuple(_context(nth, item) for nth, item in enumerate(value))
    found = []
    for given, item in value.items():
        context = _context(given, item)
        own = as_id(given)
        found.append(context if context.id == own else Context(**{**context.to_dict(), "id": own}))
    return tuple(found)


def _context(place: object, item: object) -> Context:
    try:
        return as_context(item)
    except ValueError as error:
        raise InputError(f"corpus, item {place!r}: {error}") from None
