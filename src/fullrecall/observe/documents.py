"""Decide which document a copy belongs to: a copy's text may be cut, its ID missing or new."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from fullrecall.observe.step import DocumentCopy, Step
from fullrecall.observe.words import PassageIndex, quotes_in, words_of
from fullrecall.samples.prompts import unescaped

_MADE = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
"""An ID that a framework generates for a document without one."""

_NO_CHANCE = 16
"""The fewest characters of a contained text; shorter texts are contained in others by chance."""

_LABEL = 4
"""Beside its quotes, a text may have this many words per quote, such as a number or a tag."""


class TrackedDocument:
    """One document with all its copies; `origin` is the step that retrieved it.

    - `sources`: the origin, and the other retrievers and tools that returned the document. A
      retriever or tool does not count if it had the document in its input or from an inner step.
    - `pieces`: the documents that were merged into this one, each with its words in the merged
      text.
    - `parts`: the documents in `pieces` and their own parts. A list that has this document counts
      as having its parts, too.
    - `from_outside`: whether a step received the document before any step had returned it.
    - `read_in`: the pieces of models' prompts that contain it.
    """

    def __init__(self, copy: DocumentCopy, pieces: Sequence[_Variant] = ()) -> None:
        self.id = copy.id
        self.ids: tuple[str, ...] = () if copy.id is None else (copy.id,)
        self.text = copy.text
        self.pieces = pieces
        parts = [part for _, part in pieces]
        self.parts: tuple[TrackedDocument, ...] = tuple(
            dict.fromkeys(own for part in parts for own in (part, *part.parts))
        )
        self.origin: Step | None = parts[0].origin if parts else None
        self.sources: list[Step] = [step for part in parts for step in part.sources]
        self.from_outside = False
        self.read_in: dict[str, None] = {}

    def add_id_of(self, copy: DocumentCopy) -> None:
        """Add the ID of a copy.

        `id` stays the first one, unless this copy has more text than the document.
        """
        if copy.id is None or copy.id in self.ids:
            return
        self.ids += (copy.id,)
        if self.id is None or len(copy.text) > len(self.text):
            self.id = copy.id


@dataclass(eq=False)
class DocumentText:
    """A passage: a document with one text, that of `copy`.

    Several copies of the document may have this text. `number` is the passage's index among all
    passages of the record.
    """

    document: TrackedDocument
    copy: DocumentCopy
    number: int

    @property
    def text(self) -> str:
        """The text of the passage."""
        return self.copy.text

    @cached_property
    def spaced_words(self) -> str:
        """The words of the text, one space between them."""
        return spaced_words(self.text)

    @property
    def documents(self) -> tuple[TrackedDocument, ...]:
        """The document, and those that were merged into it."""
        return (self.document, *self.document.parts)


def is_made(copy: DocumentCopy) -> bool:
    """Return whether a copy has no ID, or an ID that a framework generated."""
    return copy.id is None or _MADE.fullmatch(copy.id) is not None


def documents_in(passages: Iterable[DocumentText]) -> dict[TrackedDocument, None]:
    """Return the distinct documents (`DocumentText.documents`) of all passages, in order."""
    return dict.fromkeys(each for passage in passages for each in passage.documents)


class TrackedDocuments:
    """All documents of a record, with their passages."""

    def __init__(self) -> None:
        self.passages: list[DocumentText] = []
        self._by_copy_object: dict[int, tuple[DocumentCopy, DocumentText]] = {}
        self._by_object: dict[int, TrackedDocument] = {}
        self._by_copy: dict[tuple[str, str], TrackedDocument] = {}
        self._by_text: dict[str, TrackedDocument] = {}
        self._passages: dict[tuple[int, str], DocumentText] = {}
        self._first: dict[TrackedDocument, DocumentText] = {}
        self._index = PassageIndex()

    @property
    def index(self) -> PassageIndex:
        """The index of all passages so far, by their numbers."""
        for passage in self.passages[len(self._index) :]:
            self._index.add(passage.text)
        return self._index

    def passage(self, copy: DocumentCopy, view: StepDocuments, nth: int = 0) -> DocumentText:
        """Return the passage of a copy; `view` has the documents that may have been copied.

        A copy without a text is recognized by its ID among the documents in view. Any other copy is
        recognized in one of these ways, tried in this order:

        - by its object, if its ID or its text has not changed;
        - by its ID and text;
        - by its text among the documents in view (if several have it, `nth` selects one, from 0);
        - by its text among all documents, if the copy has no ID;
        - by a text in view that contains the copy's text or is contained in it;
        - by its ID, if only one document in view has it.

        A text that contains several documents becomes a document of its own, and counts as each of
        them. A copy that is not recognized becomes a new document.
        """
        cached = self._by_copy_object.get(id(copy))
        if cached is not None:
            return cached[1]
        named = None if copy.text or copy.id is None else view.with_id(copy.id)
        if named is not None:
            return named  # The copy has only an ID: use the known text.
        document = self._known(copy, view, nth)
        pieces = view.pieces(copy.text) if document is None else []
        if document is None and len(pieces) < 2:  # noqa: PLR2004 - one is no merging
            document = pieces[0][1] if pieces else view.alone_with_id(copy.id)
        if document is None:
            document = self._made_of(pieces, copy)
        if document is None:
            document = TrackedDocument(copy, pieces)
        else:
            document.add_id_of(copy)
        if copy.token:
            self._by_object[copy.token] = document
        if copy.id is not None:
            self._by_copy[copy.id, copy.text] = document
        passage = self._passages.get((id(document), copy.text))
        if passage is None:
            passage = DocumentText(document, copy, len(self.passages))
            self.passages.append(passage)
            self._by_text.setdefault(copy.text, document)
            self._first.setdefault(document, passage)
            self._passages[id(document), copy.text] = passage
        # Keep the copy: while it exists, no other object gets its identity.
        self._by_copy_object[id(copy)] = (copy, passage)
        return passage

    def passages_of(
        self, copy: DocumentCopy, view: StepDocuments, nth: int = 0
    ) -> tuple[DocumentText, ...]:
        """Return the passage of a copy, or the passages of the documents that were merged into it.

        The merged documents' passages are returned if both conditions hold:

        - The copy has the whole merged text.
        - The copy has no ID, or the ID of some merged documents, but not of all: documents that all
          have one ID are chunks of one document.
        """
        passage = self.passage(copy, view, nth)
        parts = [part for part in passage.document.parts if not part.parts]
        named = [copy.id in part.ids for part in parts]
        is_whole = copy.text == passage.document.text and (copy.id is None or any(named))
        if all(named) or not is_whole:
            return (passage,)
        return tuple(map(self.first, parts))

    def first(self, document: TrackedDocument) -> DocumentText:
        """Return the first passage under which a document was seen."""
        return self._first[document]

    def is_known(self, copy: DocumentCopy) -> bool:
        """Return whether a copy comes from an object that was seen before."""
        return id(copy) in self._by_copy_object or copy.token in self._by_object

    def with_text(self, text: str) -> TrackedDocument | None:
        """Return the first document with this text, whole or cut, or None."""
        return self._by_text.get(text)

    def _made_of(self, pieces: Sequence[_Variant], copy: DocumentCopy) -> TrackedDocument | None:
        """Return the known document that was merged from these pieces into this text, or None.

        A repeated attempt merges the same pieces again. Returns None if a store gave the copy its
        ID: such a copy is a new document.
        """
        merged = self._by_text.get(copy.text)
        if merged is None or not is_made(copy):
            return None
        return merged if pieces and list(pieces) == list(merged.pieces) else None

    def _known(self, copy: DocumentCopy, view: StepDocuments, nth: int) -> TrackedDocument | None:
        # The object alone is not enough: retrievers reuse an object for another document.
        document = self._by_object.get(copy.token) if copy.token else None
        if document is not None and (copy.text == document.text or copy.id in document.ids):
            return document
        if copy.id is not None:
            document = self._by_copy.get((copy.id, copy.text)) or self._by_copy.get((copy.id, ""))
            if document is not None:
                # A search may return only the ID, and another step the text.
                document.text = document.text or copy.text
                return document
        document = view.with_text(copy.text, nth)
        if document is None and copy.id is None and copy.text:
            document = self._by_text.get(copy.text)
        return document


class StepDocuments:
    """The documents in view of a step: those that its copies may come from.

    They are documents in the step's input, or documents that an inner or earlier step returned.
    `passages` is read when it is first needed, since most copies are recognized without it.

    - `certain`: whether the view is for copies that have an ID and were made by an unknown step.
      Such a copy may have the text of another document. So a document is recognized only if no
      other document contains the copy's text or is contained in it.
    - `whole`: whether a text is recognized only if it equals a document or contains several whole
      documents. In such a view, neither a part of a document nor an ID is enough.
    """

    def __init__(
        self,
        known: TrackedDocuments,
        passages: Iterable[DocumentText] = (),
        *,
        certain: bool = False,
        whole: bool = False,
    ) -> None:
        self._known = known
        self._source = passages
        self._certain = certain
        self._whole = whole

    @cached_property
    def passages(self) -> list[DocumentText]:
        """All passages in view."""
        return list(self._source)

    @cached_property
    def _texts(self) -> dict[str, dict[TrackedDocument, None]]:
        texts: dict[str, dict[TrackedDocument, None]] = {}
        for passage in self.passages:
            texts.setdefault(passage.text, {})[passage.document] = None
        return texts

    def of_text(self, text: str) -> Sequence[TrackedDocument]:
        """Return the documents in view that have this text."""
        return list(self._texts.get(text, ())) if text else []

    def with_text(self, text: str, nth: int = 0) -> TrackedDocument | None:
        """Return the nth document (from 0) in view with this text, or the last if there are fewer.

        Return None if no document in view has the text. A `certain` view always returns None.
        """
        # In a `certain` view, documents with equal texts may be different documents.
        documents = () if self._certain else self.of_text(text)
        return documents[min(nth, len(documents) - 1)] if documents else None

    def with_id(self, own_id: str | None) -> DocumentText | None:
        """Return a passage of the last document in view with this ID, or None."""
        documents = self._by_id.get(own_id or "")
        return self._known.first(documents[-1]) if documents else None

    def alone_with_id(self, own_id: str | None) -> TrackedDocument | None:
        """Return the only document in view with this ID, even if a step has rewritten its text.

        Return None if several documents have it. A `certain` or `whole` view always returns None.
        """
        if own_id is None or self._certain or self._whole:
            return None
        documents = self._by_id.get(own_id, [])
        return documents[0] if len(documents) == 1 else None

    @cached_property
    def _by_id(self) -> dict[str, list[TrackedDocument]]:
        documents: dict[str, list[TrackedDocument]] = {}
        for document in documents_in(self.passages):
            for own_id in document.ids:
                documents.setdefault(own_id, []).append(document)
        return documents

    def pieces(self, text: str) -> list[_Variant]:
        """Return the documents in view that a text was made of, each with its words in the text.

        Returns an empty list if these documents are unknown.
        """
        sharing = self._alike(text)
        words = spaced_words(text) if sharing else ""
        alike = _outermost([each for each in sharing if _contains(words, each[0])], words)
        inside = {each for own, each in alike if len(own) < len(words) and own in words}
        if len(inside) < 2 and any(words in own for own, _ in alike):  # noqa: PLR2004 - merged
            return [] if self._whole else self._fullest(alike, words)
        parts = (part for own, each in sharing for part in _parts_in(words, own, each))
        return self._quoted([part for part in parts if len(part[0]) >= _NO_CHANCE], words)

    def _fullest(self, alike: Sequence[_Variant], words: str) -> list[_Variant]:
        """Return the document with these words; if it was merged, return its quoted parts.

        A merged document is returned whole if all of its parts are quoted. If several documents
        have the words, the first one with the most quoted parts counts. In a `certain` view, the
        result is empty if any other document has a part that the first one lacks.
        """
        cuts = [_cut(document, words) for _, document in alike]
        fullest = max(cuts, key=len)
        documents = {document for _, document in fullest}
        others = {document for cut in cuts for _, document in cut}
        return [] if self._certain and not others <= documents else fullest

    def _quoted(self, sharing: Sequence[_Variant], words: str) -> list[_Variant]:
        """Return the documents that a text quotes, each with the quoted words.

        A quote is a whole document or a long run of its words; a run inside a longer quote does not
        count (`quotes_in`). The result is empty if the text contains no whole document, and has
        more than `_LABEL` other words for each quote. In a `whole` view, only whole documents
        count, and at least two are needed.
        """
        text = words.split(" ")
        quotes = quotes_in(text, [own.split(" ") for own, _ in sharing])
        wholes = [quote for quote in quotes if quote.is_whole]
        quoted = sum(quote.end - quote.start for quote in quotes)
        if self._whole:
            quotes = wholes if len(wholes) > 1 else []
        elif not wholes and len(text) - quoted > _LABEL * len(quotes):
            return []
        pieces: dict[TrackedDocument, str] = {}
        for quote in quotes:
            run = " ".join(text[quote.start : quote.end])
            found = self._fullest([sharing[number] for number in quote.numbers], run)
            if not found:
                return []
            for own, document in found:
                pieces.setdefault(document, own)
        return [(own, document) for document, own in pieces.items()]

    def _alike(self, text: str) -> list[_Variant]:
        """Return each passage in view that may share words with a text, as (words, document)."""
        if not (text and self.passages):
            return []
        sharing = sorted(self._numbers.intersection(self._known.index.sharing(text)))
        alike = map(self._known.passages.__getitem__, sharing)
        return [(each.spaced_words, each.document) for each in alike]

    @cached_property
    def _numbers(self) -> set[int]:
        """The numbers of the passages in view, and of the first passage of each document."""
        first = self._known.first
        return {
            number
            for each in self.passages
            for number in (each.number, first(each.document).number)
        }


_Variant: TypeAlias = tuple[str, TrackedDocument]


def _parts_in(words: str, own: str, document: TrackedDocument) -> Iterator[_Variant]:
    """Yield a document and its words `own`, or its merged parts if `words` do not contain `own`."""
    if not document.pieces or own in words:
        yield own, document
    else:
        for piece, part in document.pieces:
            yield from _parts_in(words, piece, part)


def parts_quoted_in(text: str, merged: TrackedDocument) -> list[TrackedDocument]:
    """Return the parts of a merged document that a text quotes, even if they were cut."""
    return [own for _, part in _cut(merged, spaced_words(text)) for own in (part, *part.parts)]


def _cut(document: TrackedDocument, words: str) -> list[_Variant]:
    """Return the parts of a merged document that these words quote.

    Return the document itself if the words quote all of its pieces, or if it was not merged.
    """
    text = words.split(" ")
    parts = [each for own, part in document.pieces for each in _parts_in(words, own, part)]
    quotes = quotes_in(text, [own.split(" ") for own, _ in parts])
    cuts = [
        (" ".join(text[quote.start : quote.end]), parts[number][1])
        for quote in quotes
        for number in quote.numbers
    ]
    has_all = {part for _, part in cuts} == {part for _, part in document.pieces}
    return [(words, document)] if has_all else cuts


def spaced_words(text: str) -> str:
    """Undo the escapes in a text, and return its words with one space between them."""
    *_, plain = text, *unescaped(text)
    return " ".join(words_of(plain))


def _outermost(texts: Sequence[_Variant], words: str) -> list[_Variant]:
    """Leave out each text that is a part of a longer text in `words`."""
    parts = [own for own, _ in texts if own in words]
    return [
        (own, document)
        for own, document in texts
        if not any(own != part and own in part for part in parts)
    ]


def _contains(first: str, second: str) -> bool:
    small, large = (first, second) if len(first) <= len(second) else (second, first)
    return len(small) >= _NO_CHANCE and small in large
