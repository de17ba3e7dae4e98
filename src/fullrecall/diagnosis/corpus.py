"""The corpus, which a diagnosis searches by ID, by offsets, and by text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from fullrecall.errors import InputError
from fullrecall.samples.context import ID, Context, ContextLike, as_context
from fullrecall.samples.identifiers import as_id
from fullrecall.samples.prompts import squeezed
from fullrecall.scorers.spans import CharacterRange, Overlap, Passage, covered, total

IndexedContexts: TypeAlias = Iterable[ContextLike] | Mapping[ID, ContextLike]
"""The indexed contexts: contexts or texts, or a mapping from IDs to these."""

MIN_RUN = 32
"""The shortest run of equal characters that is not chance, as in `SpanRecall`."""


class Held(NamedTuple):
    """A context of the corpus that has part of a passage."""

    context: Context
    overlap: Overlap


class Corpus:
    """The indexed contexts; empty if the index is unknown.

    Texts are searched for exact runs of characters, without white space. The first search builds an
    index of blocks, about seven times the size of the texts. A search finds the contexts that share
    a run with the passage, and compares those that may add to the overlaps found so far.
    """

    def __init__(self, contexts: IndexedContexts, min_run: int = MIN_RUN) -> None:
        self.contexts: Sequence[Context] = _contexts(contexts)
        """All contexts, in the order given."""
        self.by_id = {context.id: context for context in self.contexts if context.id is not None}
        """The contexts that have an ID, by their IDs."""
        self._passages = [Passage.of(context) for context in self.contexts]
        self._by_source: dict[str, list[int]] = {}
        for number, passage in enumerate(self._passages):
            if passage.source is not None:
                self._by_source.setdefault(passage.source, []).append(number)
        self._min_run = min_run
        self._blocks: _Blocks | None = None
        self.has_texts = any(passage.characters for passage in self._passages)

    @cached_property
    def _by_text(self) -> dict[str, list[str]]:
        by_text: dict[str, list[str]] = {}
        for own_id, context in self.by_id.items():
            by_text.setdefault(squeezed(context.text or ""), []).append(own_id)
        return by_text

    def of_text(self, text: str | None) -> str | None:
        """Return the ID of the only context with this text (white space ignored); else None."""
        ids = self._by_text.get(squeezed(text), ()) if text else ()
        return ids[0] if len(ids) == 1 else None

    def holders(self, passage: Passage) -> list[Held]:
        """Return contexts that together have every part of a passage that is in the corpus.

        Contexts of the passage's document are searched first, then the contexts that share most
        text with the passage. A context is returned only if it adds a missing part, so a line that
        occurs on every page adds only one context. Last, the neighbors of these contexts are
        searched for parts that a border cut off, however short. The search ends when the whole
        passage is found. The contexts are in the order of the corpus.
        """
        if not self.contexts:
            return []
        search = _PassageSearch(passage, self._passages, self._min_run)
        search.look(self._by_source.get(passage.source or "", ()))
        if passage.characters and not search.is_complete:
            if self._blocks is None:
                self._blocks = _Blocks([each.characters for each in self._passages], self._min_run)
            search.look_where_shared(self._blocks.sharing(passage.characters))
        # Chunks are mostly in the order of their document, so a part that was cut off is in a
        # neighboring chunk.
        numbers = range(len(self.contexts))
        beside = {n for at in search.overlaps for n in (at - 1, at + 1) if n in numbers}
        search.look(sorted(beside), edges=True)
        return [Held(self.contexts[n], part) for n, part in sorted(search.overlaps.items())]


@dataclass
class _PassageSearch:
    """Finds the parts of one passage in contexts, and keeps those found so far."""

    passage: Passage
    indexed: Sequence[Passage]
    min_run: int
    overlaps: dict[int, Overlap] = field(default_factory=dict)
    covered: list[CharacterRange] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the whole passage is found."""
        return total(self.covered) == self.passage.length

    def look(self, numbers: Iterable[int], *, edges: bool = False) -> None:
        """Add each context that has a part of the passage which the added contexts lack.

        With `edges`, also add contexts that share only a text at a border with the passage, even if
        this text is too short to count as a run (`Overlap.edges`).
        """
        for number in numbers:
            if self.is_complete:
                return
            part = self.passage.overlap(self.indexed[number], self.min_run)
            more = covered(self.passage.length, [*self.overlaps.values(), part])
            if more != self.covered and number not in self.overlaps and (part.runs or edges):
                self.overlaps[number], self.covered = part, more

    def look_where_shared(self, shared: Mapping[int, Sequence[CharacterRange]]) -> None:
        """Add contexts that share blocks with the passage.

        `shared` has the blocks by context number.
        """
        characters = self.passage.characters
        texts = {number: self.indexed[number].characters for number in shared}
        nearest = sorted(shared, key=lambda n: (characters not in texts[n], -len(shared[n]), n))
        for number in nearest:
            if any(self._goes_on(block, texts[number]) for block in shared[number]):
                self.look([number])

    def _goes_on(self, block: CharacterRange, text: str) -> bool:
        """Return whether a text with this block may have characters that are not covered yet.

        If the block is covered, check whether the text also has the character before or after the
        covered range: this check is cheaper than `overlap`, and thousands of texts may share a few
        lines.
        """
        characters, (start, end) = self.passage.characters, block
        inside = next((run for run in self.covered if run[0] <= start and end <= run[1]), None)
        if inside is None:
            return True
        left, right = inside
        before = left > 0 and characters[left - 1 : end] in text
        return before or (right < len(characters) and characters[start : right + 1] in text)


class _Blocks:
    """An index of short blocks of texts, which finds the texts that may overlap a passage.

    `overlap` counts these runs of equal characters: at least `min_run` characters anywhere, a third
    of that at a border of the text, and a whole text inside another. The index has consecutive
    blocks of a third of `min_run` from the start of each text, and one block at its end. Each run
    contains such a block, except a short passage that lies across the border of two blocks. Blocks
    are looked up by hash only, since every hit is compared again.
    """

    def __init__(self, texts: Sequence[str], min_run: int) -> None:
        self._texts = texts
        # A third of `min_run` is the shortest run that counts at a border; longer blocks would miss
        # such a run.
        self._size = max(1, min_run // 3)
        self._sizes: set[int] = set()
        self._numbers: dict[int, list[int]] = {}
        for number, text in enumerate(texts):
            size = min(len(text), self._size)  # a short text is a single block
            for at in {*range(0, len(text) - size + 1, size), len(text) - size} if size else ():
                self._sizes.add(size)
                numbers = self._numbers.setdefault(hash(text[at : at + size]), [])
                if not numbers or numbers[-1] != number:
                    numbers.append(number)

    def sharing(self, characters: str) -> dict[int, list[CharacterRange]]:
        """Return the ranges of a passage that each text seems to share, by the text's index.

        A text that is missing from the result does not overlap the passage.
        """
        intervals: dict[int, list[CharacterRange]] = {}
        for size in sorted(self._sizes):
            for at in range(len(characters) - size + 1):
                for number in self._numbers.get(hash(characters[at : at + size]), ()):
                    intervals.setdefault(number, []).append((at, at + size))
        # A short passage may lie between two blocks of a text, so search for it in whole texts.
        if len(characters) < 2 * self._size:
            for number, text in enumerate(self._texts):
                if characters in text:
                    intervals.setdefault(number, []).append((0, len(characters)))
        return intervals


def _contexts(value: IndexedContexts) -> tuple[Context, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(
            f"corpus must be an iterable of contexts or a mapping from IDs to them, got "
            f"{type(value).__name__}: fullrecall.read.read_contexts(path) reads a file"
        )
    contexts = []
    for key, content in value.items() if isinstance(value, Mapping) else enumerate(value):
        try:
            context = as_context(content)
        except ValueError as error:
            raise InputError(f"corpus, item {key!r}: {error}") from None
        if isinstance(value, Mapping) and context.id != as_id(key):
            context = Context(**{**context.to_dict(), "id": as_id(key)})
        contexts.append(context)
    return tuple(contexts)
