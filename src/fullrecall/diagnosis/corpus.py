"""The corpus as a diagnosis searches it: by ID, by place, by text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from fullrecall.context import ID, Context, ContextLike, as_context
from fullrecall.errors import InputError
from fullrecall.identifiers import as_id
from fullrecall.scorers.alignment import Overlap
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

    Texts are searched by exact runs of characters, white space aside, in one string of them all:
    its time grows with the length of the corpus, its memory is the corpus' own.
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
        """Return the contexts that hold at least a run of `min_run` characters of a passage."""
        numbers: set[int] = set()
        if passage.source is not None:
            numbers.update(self._by_source.get(passage.source, ()))
        wanted = passage.characters
        # Every run of that length holds a whole block of half of it at a multiple of it.
        block = max(1, min(min_run // 2, len(wanted)))
        for start in range(0, len(wanted) - block + 1, block):
            numbers.update(self._places(wanted[start : start + block]))
        found = []
        for number in sorted(numbers):
            part = passage.overlap(self._passages[number], min_run)
            if part.runs:
                found.append(Held(self._contexts[number], part))
        return found

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
