"""The state that several modules share while they follow documents through a record's steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, KeysView, Sequence
from typing import TypeAlias

from fullrecall.observe.documents import (
    DocumentText,
    StepDocuments,
    TrackedDocument,
    TrackedDocuments,
    is_made,
)
from fullrecall.observe.handed import ListsByDocument, OpenStep, Signature
from fullrecall.observe.step import DocumentCopy, DocumentList, Step
from fullrecall.observe.tree import Tree

LinksOf: TypeAlias = Callable[[DocumentCopy], Collection[str]]
"""Returns the IDs of other documents that a document names."""


class FlowState:
    """The state of a record at one moment.

    - `outermost`: holds the lists of all outermost steps that have ended, and of their inner steps;
      replaced lists are included.
    - `lists`: all lists by their documents.
    - `retrieved`: the first passage of each retrieved document, in the order of retrieval.
    - `touched`: the IDs of the steps that returned documents, or inside which lists were made.
    - `doubt`: why it is unknown which documents a step had; None if it is known.
    - `stores`: whether texts were cut for a new store, which returns them under new IDs.
    - `resumed`: the IDs of the steps that began again, after an attempt had stopped to ask a human.
    - `united`: the signatures of the input lists that the module `given` has checked. That module
      looks for lists that code outside any step has joined, sorted or copied.
    - `read_lists`: each input list of a step with its passages, by the list's identity.
    """

    def __init__(self, tree: Tree, links_of: LinksOf) -> None:
        self.tree = tree
        self.outermost = OpenStep(Step(None, None, "chain", "record"))
        self.lists = ListsByDocument()
        self.documents = TrackedDocuments()
        self.retrieved: list[DocumentText] = []
        self.touched: set[Hashable] = set()
        self.doubt: str | None = None
        self.stores = False
        self.resumed: set[Hashable] = set()
        self.united: set[Signature] = set()
        self.read_lists: dict[int, tuple[DocumentList, tuple[DocumentText, ...]]] = {}
        self._links_of = links_of

    def retrieve(self, passage: DocumentText, step: Step) -> None:
        """Record the step that retrieved a document."""
        passage.document.origin = step
        passage.document.sources.append(step)
        self.retrieved.append(passage)

    def has_texts_of(self, listed: DocumentList) -> bool:
        """Return whether a list has documents, and each text is that of a known document."""
        return bool(listed.documents) and all(
            self.documents.with_text(copy.text) for copy in listed.documents
        )

    def passages_of(
        self, listed: DocumentList, step: Step, view_of: Callable[[DocumentCopy], StepDocuments]
    ) -> tuple[DocumentText, ...]:
        """Return the passages of a step's list.

        `view_of` returns the documents that a copy may come from. If copies have no ID, and more
        documents than copies have the same text, it is unknown which of these documents were
        copied. Then a doubt is noted.
        """
        return tuple(
            passage
            for copy, nth in self._numbered(listed, step, view_of)
            for passage in self.documents.passages_of(copy, view_of(copy), nth)
        )

    def _numbered(
        self, listed: DocumentList, step: Step, view_of: Callable[[DocumentCopy], StepDocuments]
    ) -> Iterator[tuple[DocumentCopy, int]]:
        """Yield each copy of a list with a number that distinguishes copies of the same text.

        Copies without an ID that have the same text are numbered from 0. Copies with an ID, and all
        copies of an uncertain list, have the number 0.
        """
        counts = Counter(copy.text for copy in listed.documents if copy.id is None)
        numbers: Counter[str] = Counter()
        for copy in listed.documents:
            if copy.id is not None or not listed.certain:
                yield copy, 0
                continue
            if not self.documents.is_known(copy):
                ids = {document.id for document in view_of(copy).of_text(copy.text)}
                if len(ids) > counts[copy.text]:
                    self.doubt_that(
                        f"{step.name} had documents without IDs, of whose texts there are "
                        "several: which of them they are is unknown"
                    )
            yield copy, numbers[copy.text]
            numbers[copy.text] += 1

    def doubt_that(self, reason: str) -> None:
        """Note why it is unknown which documents a step had; only the first reason is kept."""
        self.doubt = self.doubt or reason

    def doubt_renewed(
        self, step: Step, new: Sequence[DocumentText], before: Iterable[DocumentText]
    ) -> None:
        """Note a doubt if new documents may be those of `before`, with new IDs and other words.

        There is no doubt if a new document has an ID that no framework generated. Nor is there if
        metadata link a new document to an earlier one, as a summary to its chunk.
        """
        if not new or not all(is_made(passage.copy) for passage in new):
            return
        known = list(before)
        ids = {own for passage in known for own in passage.document.ids}
        named = {name for passage in known for name in self._links_of(passage.copy)}
        if known and not any(
            passage.copy.id in named or not ids.isdisjoint(self._links_of(passage.copy))
            for passage in new
        ):
            self.doubt_that(
                f"{step.name} had documents with new IDs and other texts: which of those that were "
                "retrieved they are is unknown"
            )

    def shown_in(self, texts: Iterable[str]) -> KeysView[TrackedDocument]:
        """Return the documents that any of these texts contains."""
        return dict.fromkeys(each.document for each in self.passages_in(texts)).keys()

    def passages_in(self, texts: Iterable[str], *, again: bool = True) -> list[DocumentText]:
        """Return one passage of each document that occurs in any of these texts, in order.

        `again` is passed to `PassageIndex.found_in`.
        """
        index, passages = self.documents.index, self.documents.passages
        first: dict[TrackedDocument, DocumentText] = {}
        for text in texts:
            for number in index.found_in(text, again=again):
                first.setdefault(passages[number].document, passages[number])
        return list(first.values())
