"""Lists of documents that a later step may use, and the open steps that hold them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fullrecall.observe.documents import DocumentText, TrackedDocument, documents_in
from fullrecall.observe.step import Path, Step

Signature = tuple[int, ...]
"""The numbers of the passages in a list, in its order."""


def signature_of(passages: Iterable[DocumentText]) -> Signature:
    """Return the numbers of passages, in their order."""
    return tuple(passage.number for passage in passages)


@dataclass(frozen=True, slots=True)
class TrackedList:
    """A list in a step's input or output, with each copy assigned to its document.

    `path` and `certain` are those of the `DocumentList`. `stored_again` is true if a search
    returned known texts under new IDs.
    """

    path: Path
    passages: tuple[DocumentText, ...]
    certain: bool = True
    stored_again: bool = False

    @property
    def signature(self) -> Signature:
        """The numbers of the passages in this list, in its order."""
        return signature_of(self.passages)


@dataclass(slots=True, eq=False)
class HandedList:
    """A list that a step returned, and whether it is still in use.

    - `replaced`: it is out of use; usually another list took its place.
    - `taken`: the lists whose place it took.
    - `read`: some of its documents were sent to a model.
    - `answered_in`: the IDs of the steps that answered from it.
    - `set_aside`: a step dropped it, and no output list of the step was made from it.
    - `unexplained`: it replaced no list, although its step retrieves nothing: the record lacks the
      lists that it was made from.
    - `refused`: the documents that were each given to a parallel task of their own, which did not
      return them.
    - `unsaid`: it is empty, and the tasks that refused its documents returned nothing at all, not
      even an empty list.
    - `unquoted_by`: the tool that returned a text instead of the list; the text has none of its
      documents.
    - `holder`: the innermost step that is still open and inside which the list was made.
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
    refused: set[TrackedDocument] = field(default_factory=set)
    unsaid: bool = False
    unquoted_by: Step | None = None
    holder: OpenStep | None = None
    documents: frozenset[TrackedDocument] = field(init=False)
    signature: Signature = field(init=False)

    def __post_init__(self) -> None:
        self.documents = frozenset(documents_in(self.passages))
        self.signature = signature_of(self.passages)

    def take(self, others: Iterable[HandedList]) -> None:
        """Mark other lists as replaced by this one."""
        for other in others:
            if other is not self and not other.replaced:
                other.replaced = True
                self.taken.append(other)

    def share_of(self, documents: Iterable[TrackedDocument]) -> float:
        """Return the share, 0 to 1, of this list's documents that are among `documents`."""
        inside = sum(document in self.documents for document in documents)
        return inside / max(1, len(self.documents))


def passages_of(lists: Iterable[TrackedList | HandedList]) -> Iterator[DocumentText]:
    """Yield the passages of lists."""
    return (passage for each in lists for passage in each.passages)


def sourced(passages: Iterable[DocumentText]) -> tuple[DocumentText, ...]:
    """Return the passages of documents that were retrieved in this record."""
    return tuple(passage for passage in passages if passage.document.origin is not None)


@dataclass(slots=True, eq=False)
class OpenStep:
    """A step that has begun, with its input lists and the lists made inside it so far."""

    step: Step
    given: list[TrackedList] = field(default_factory=list)
    lists: list[HandedList] = field(default_factory=list)

    def take_over(self, other: OpenStep) -> None:
        """Take over all lists of a step that has ended."""
        for handed in other.lists:
            handed.holder = self
        self.lists += other.lists


class ListsByDocument:
    """The lists of a record by document; `signatures` has the signature of every list."""

    def __init__(self) -> None:
        self.signatures: set[Signature] = set()
        self._in_use: dict[TrackedDocument, list[HandedList]] = {}
        self._replaced: dict[TrackedDocument, list[HandedList]] = {}

    def add(self, handed: HandedList) -> None:
        """Add a list that is in use."""
        self.signatures.add(handed.signature)
        for document in handed.documents:
            self._in_use.setdefault(document, []).append(handed)

    def in_use(self, document: TrackedDocument) -> list[HandedList]:
        """Return the lists with this document that no other list has replaced."""
        lists = self._in_use.get(document, [])
        gone = [handed for handed in lists if handed.replaced]
        if gone:
            # Move replaced lists away: a graph with a loop replaces its list at each step, and
            # each look-up would go through all of them.
            lists = [handed for handed in lists if not handed.replaced]
            self._in_use[document] = lists
            self._replaced.setdefault(document, []).extend(gone)
        return lists

    def replaced(self, document: TrackedDocument) -> list[HandedList]:
        """Return the lists with this document that another list has replaced."""
        self.in_use(document)
        return [handed for handed in self._replaced.get(document, ()) if handed.replaced]


class Scope:
    """The lists that a step can reach: those of its caller, of the caller's caller, and so on."""

    def __init__(self, holders: Sequence[OpenStep], known: ListsByDocument) -> None:
        self._holders = holders
        self._known = known

    def lists(self) -> Iterator[HandedList]:
        """Yield every list that the step can reach."""
        return (handed for holder in self._holders for handed in holder.lists)

    def put(self, handed: HandedList, holder: OpenStep | None = None) -> None:
        """Add a new list to an open step, by default the nearest caller."""
        handed.holder = holder or self._holders[0]
        handed.holder.lists.append(handed)
        self._known.add(handed)

    def nearest(self, document: TrackedDocument) -> list[HandedList]:
        """Return the lists in use that have this document and belong to the nearest caller.

        Callers without such a list are skipped.
        """
        in_use = self._known.in_use(document)
        for holder in self._holders if in_use else ():
            lists = [handed for handed in in_use if handed.holder is holder]
            if lists:
                return lists
        return []

    def replaced(self, document: TrackedDocument) -> list[HandedList]:
        """Return the replaced lists with this document that the step can reach."""
        lists = self._known.replaced(document)
        return [each for holder in self._holders for each in lists if each.holder is holder]

    def revive(self, handed: HandedList) -> None:
        """Put a replaced list back into use."""
        handed.replaced = handed.set_aside = False
        self._known.add(handed)

    def nearest_of_all(self, documents: Iterable[TrackedDocument]) -> Iterable[HandedList]:
        """Return the lists that `nearest` finds for any of these documents, each list once."""
        return dict.fromkeys(handed for each in documents for handed in self.nearest(each))

    def take_up(self, document: TrackedDocument, signature: Signature) -> None:
        """Put back into use each list that was set aside and has this document and signature."""
        for handed in self.replaced(document):
            if handed.set_aside and handed.signature == signature:
                self.revive(handed)
