"""The lists that a step returns: which lists hold documents, and which step retrieved them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence

from fullrecall.observe.documents import DocumentText, StepDocuments, documents_in, is_made
from fullrecall.observe.handed import HandedList, OpenStep, Scope, TrackedList, passages_of, sourced
from fullrecall.observe.state import FlowState
from fullrecall.observe.step import HITS, ROWS, DocumentCopy, DocumentList


class ReturnedLists:
    """When a step ends, reads the lists that the step returned.

    `idle` has the IDs of tools that retrieved nothing.
    """

    def __init__(
        self, state: FlowState, opened: OpenStep, scope: Scope, idle: Collection[Hashable]
    ) -> None:
        self._state = state
        self._step = step = opened.step
        self._inside = opened.lists
        self._idle = idle
        given, inside = list(passages_of(opened.given)), list(passages_of(opened.lists))
        self._view = StepDocuments(state.documents, [*given, *inside])
        self._given = {*documents_in(given)}
        self._handled = self._given.union(documents_in(inside))
        # Texts that were retrieved before may have been stored again under new IDs.
        known = state.documents
        self._stored = StepDocuments(known, passages_of(scope.lists()), whole=True)
        self._is_search = state.stores and step.retrieves and not self._view.passages

    def lists(self) -> Iterator[TrackedList]:
        """Yield the returned lists that hold documents.

        If inner steps returned the hits one at a time, as for several queries, each hit becomes a
        list of its own.
        """
        for listed in self._step.returned:
            if listed.path == HITS and self._step.id in self._idle:
                continue
            rows = None if listed.certain else self._known_rows(listed)
            if rows is None and not (listed.certain or self._are_documents(listed)):
                continue
            passages = self._state.passages_of(rows or listed, self._step, self._view_of)
            are_new = self._are_new(passages)
            self._note_sources(passages)
            passages = sourced(passages)
            stored_again = self._is_search and bool(passages) and not are_new
            if passages:
                self._state.touched.add(self._step.id)
            for each in _answers(passages, self._inside) if listed.hits else [passages]:
                if each or not listed.documents:
                    yield TrackedList(() if rows else listed.path, each, stored_again=stored_again)

    def _view_of(self, copy: DocumentCopy) -> StepDocuments:
        return self._stored if self._is_search and is_made(copy) else self._view

    def _are_new(self, passages: Sequence[DocumentText]) -> bool:
        """Return whether any document of a list is new.

        If all documents of the list are new, and no model returned them, they may be earlier
        documents under new IDs. Then a doubt may be noted (see `doubt_renewed`).
        """
        new = [p for p in passages if p.document.origin is None and not p.document.from_outside]
        if len(new) == len(passages) and self._step.kind != "llm":
            self._state.doubt_renewed(self._step, new, self._view.passages)
        return bool(new)

    def _note_sources(self, passages: Sequence[DocumentText]) -> None:
        """Note that this step retrieved the documents that no step has retrieved before.

        A document that an earlier step received from outside the record is an exception: it counts
        as retrieved here only if this step did not receive it and calls no other step. Each
        retriever or tool that returns a document is also noted as a source, unless it received the
        document, or an inner step returned it.
        """
        step = self._step
        for passage in passages:
            document = passage.document
            if document.origin is None and (
                not document.from_outside
                or (document not in self._given and not self._state.tree.calls_others(step))
            ):
                self._state.retrieve(passage, step)
            if step.kind in ("retriever", "tool") and document not in self._handled:
                document.sources.append(step)
            if self._view.passages and document.origin is step and not passage.text:
                self._state.doubt_that(
                    f"{step.name} returned documents under new IDs and without texts: which "
                    "of those that it was given they are is unknown"
                )

    def _known_rows(self, listed: DocumentList) -> DocumentList | None:
        """Return a call's whole output as known documents; None if an item is not a known document.

        An item is known if its text is that of a document of the record, or if its ID is that of a
        document that this step, or a step inside it, received or returned. If an item is only a
        text, the text may be the ID.
        """
        if listed.path not in ((), ROWS):
            return None
        rows = []
        for copy in listed.documents:
            known = copy
            if not (copy.text and self._state.documents.with_text(copy.text)):
                known = DocumentCopy(0, copy.id or copy.text, "")
                if self._view.with_id(known.id) is None:
                    return None
            rows.append(known)
        return listed._replace(documents=tuple(rows)) if rows else None

    def _are_documents(self, listed: DocumentList) -> bool:
        """Return whether bare texts are documents.

        This is so if documents with these texts are known. It is also so if the texts are the whole
        output of a call in which no document was retrieved.
        """
        state = self._state
        if state.has_texts_of(listed):
            return True
        is_output = bool(listed.documents) and listed.path == ()
        return is_output and self._step is state.tree.root and not state.retrieved


def _answers(
    hits: tuple[DocumentText, ...], inside: Sequence[HandedList]
) -> Sequence[tuple[DocumentText, ...]]:
    """Return hits as one list, or each as its own list if inner steps returned them separately."""
    returned = {handed.signature for handed in inside}
    return [(hit,) for hit in hits] if {(hit.number,) for hit in hits} <= returned else [hits]
