"""Lists of documents that something may still use, and where they lie."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fullrecall.observe.documents import DocumentText, TrackedDocument, documents_in
from fullrecall.observe.step import Path, Step

Signature = tuple[int, ...]
"""Which passages a list holds, in its order."""


def signature_of(passages: Iterable[DocumentText]) -> Signature:
    """Return which passages these are, in their order."""
    return tuple(passage.number for passage in passages)


@dataclass(frozen=True, slots=True)
class TrackedList:
    """A list in a step's input or output, its copies told apart; see `DocumentList`.

    `stored_again` says that a search returned texts that were retrieved before, under new IDs.
    """

    path: Path
    passages: tuple[DocumentText, ...]
    certain: bool = True
    stored_again: bool = False

    @property
    def signature(self) -> Signature:
        """Which passages the list holds, in its order."""
        return signature_of(self.passages)


@dataclass(slots=True, eq=False)
class HandedList:
    """A list that a step returned, until another list takes its place.

    - `replaced`: another list took its place; `taken` are those whose place it took.
    - `read`: a model was sent some of it.
    - `answered_in`: the IDs of the steps that are known to have answered from it.
    - `set_aside`: a step that was given it returned other lists, and none of its documents.
    - `unexplained`: it took no list's place, though its step retrieves no documents: the lists that
      it was made of went past the record.
    - `beside`: the ID of the last step that returned it, alone or beside other lists.
    """

    passages: tuple[DocumentText, ...]
    step: Step
    path: Path
    replaced: bool = False
    read: bool = False
    set_aside: bool = False
    unexplained: bool = False
    taken: list[HandedList] = field(default_factory=list)
    answered_in: list[Hashable] = field(default_factory=list)
    beside: Hashable = None
    documents: frozenset[TrackedDocument] = field(init=False)
    signature: Signature = field(init=False)

    def __post_init__(self) -> None:
        self.documents = frozenset(documents_in(self.passages))
        self.signature = signature_of(self.passages)
        self.beside = self.step.id

    def take(self, others: Iterable[HandedList]) -> None:
        """Take the place of other lists."""
        for other in others:
            if other is not self and not other.replaced:
                other.replaced = True
                self.taken.append(other)

    def share_of(self, documents: Iterable[TrackedDocument]) -> float:
        """Return the share of this list's documents that are among these documents."""
        inside = sum(document in self.documents for document in documents)
        return inside / max(1, len(self.documents))


def passages_of(lists: Iterable[TrackedList | HandedList]) -> Iterator[DocumentText]:
    """Yield the passages of lists."""
    return (passage for each in lists for passage in each.passages)


def sourced(passages: Iterable[DocumentText]) -> tuple[DocumentText, ...]:
    """Return the passages of documents that were retrieved in this record."""
    return tuple(passage for passage in passages if passage.document.origin is not None)


class Bucket:
    """The lists made at or below one step that is still open, in the order of their making."""

    def __init__(self) -> None:
        self.lists: list[HandedList] = []
        self._in_use: dict[TrackedDocument, list[HandedList]] = {}
        self._replaced: dict[TrackedDocument, list[HandedList]] = {}

    def put(self, handed: HandedList) -> None:
        """Lay down a list."""
        self.lists.append(handed)
        self._note(handed)

    def _note(self, handed: HandedList) -> None:
        for document in handed.documents:
            self._in_use.setdefault(document, []).append(handed)

    def take_over(self, other: Bucket) -> None:
        """Lay down all lists of the bucket of a step that has ended."""
        if not self.lists:
            self.lists, self._in_use, self._replaced = other.lists, other._in_use, other._replaced
            return
        self.lists.extend(other.lists)
        for own, new in ((self._in_use, other._in_use), (self._replaced, other._replaced)):
            for document, lists in new.items():
                own.setdefault(document, []).extend(lists)

    def in_use(self, document: TrackedDocument) -> list[HandedList]:
        """Return the lists with this document that are not replaced."""
        lists = self._in_use.get(document)
        if not lists:
            return []
        if any(handed.replaced for handed in lists):
            # Looked at no more: a graph that loops replaces its list at each step.
            gone = [handed for handed in lists if handed.replaced]
            lists = [handed for handed in lists if not handed.replaced]
            self._in_use[document] = lists
            self._replaced.setdefault(document, []).extend(gone)
        return lists

    def replaced(self, document: TrackedDocument) -> list[HandedList]:
        """Return the lists with this document that another one replaced."""
        self.in_use(document)
        return [handed for handed in self._replaced.get(document, ()) if handed.replaced]

    def revive(self, handed: HandedList) -> None:
        """Bring a replaced list back into use."""
        handed.replaced = handed.set_aside = False
        self._note(handed)


@dataclass(slots=True)
class OpenStep:
    """A step that has begun: the lists that it was given, and those made inside of it so far."""

    step: Step
    given: list[TrackedList]
    bucket: Bucket = field(default_factory=Bucket)


class Scope:
    """The buckets that a step can reach: its own, its caller's, and so on outward."""

    def __init__(self, buckets: Sequence[Bucket]) -> None:
        self.buckets = buckets

    def lists(self) -> Iterator[HandedList]:
        """Yield every list in reach."""
        for bucket in self.buckets:
            yield from bucket.lists

    def nearest(self, document: TrackedDocument) -> list[HandedList]:
        """Return the lists in use with this document, of the nearest caller that has any."""
        for bucket in self.buckets:
            lists = bucket.in_use(document)
            if lists:
                return lists
        return []

    def nearest_of_all(self, documents: Iterable[TrackedDocument]) -> Iterator[HandedList]:
        """Yield the nearest lists in use of each document, each list once."""
        visited: set[int] = set()
        for document in documents:
            for handed in self.nearest(document):
                if id(handed) not in visited:
                    visited.add(id(handed))
                    yield handed

    def take_up(
        self, documents: Iterable[TrackedDocument], signature: Signature | None = None
    ) -> None:
        """Bring lists that were set aside back into use.

        These are the list of this signature, or the lists with documents that no list in use has.
        """
        for document in documents:
            if signature is None and self.nearest(document):
                continue
            for bucket in self.buckets:
                for handed in bucket.replaced(document):
                    if handed.set_aside and signature in (None, handed.signature):
                        bucket.revive(handed)
