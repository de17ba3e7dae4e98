"""Update the lists in use when a step ends: its output lists replace the lists they came from.

A list is set aside if a step drops it, and no output list of the step was made from it.
"""

from __future__ import annotations

from collections.abc import KeysView
from functools import cached_property

from fullrecall.observe.documents import (
    DocumentText,
    TrackedDocument,
    documents_in,
    parts_quoted_in,
    spaced_words,
)
from fullrecall.observe.handed import (
    HandedList,
    OpenStep,
    Scope,
    Signature,
    TrackedList,
    passages_of,
    sourced,
)
from fullrecall.observe.state import FlowState
from fullrecall.observe.step import ARTIFACT, HITS, ITEM, Path
from fullrecall.observe.words import words_of

SOURCES = ("retriever", "reranker", "tool")
"""The kinds of steps that may return documents that are not in their input."""


class ListUpdate:
    """Updates the lists in use when a step ends; `groups` are the lists that the step returned."""

    def __init__(
        self, state: FlowState, opened: OpenStep, groups: list[TrackedList], scope: Scope
    ) -> None:
        self._state = state
        self._step = opened.step
        self._opened = opened
        self._groups = groups
        self._scope = scope
        self._inside = [handed for handed in opened.lists if not handed.replaced]
        self._given = [TrackedList(g.path, sourced(g.passages)) for g in opened.given]

    def settle(self) -> None:
        """Replace the lists that the returned lists were made from.

        If the step returned no lists, its text decides which documents stay in use.
        """
        if not self._groups:
            self._cut_by_text(self._inside or self._whole_lists_given())
            if not (self._step.outputs or self._step.texts):
                self._refuse_single()
            return
        fresh, passed = self._new_and_passed_on()
        handed_lists = [HandedList(g.passages, self._step, g.path) for g in fresh]
        replaced = self._replaced_outside(handed_lists)
        self._set_aside_others(handed_lists)
        if any(group.stored_again for group in fresh):
            replaced += self._scope.nearest_of_all(documents_in(passages_of(fresh)))
        if passed or handed_lists:
            replaced += self._unused_inside(handed_lists, passed)
        else:
            self._cut_by_text(self._inside)
            self._refuse_single()
        self._replace(replaced, handed_lists)

    def _new_and_passed_on(self) -> tuple[list[TrackedList], set[Signature]]:
        """Return the new lists in the output, and the signatures of lists that inner steps made."""
        given = {group.signature for group in self._given}
        inside = {handed.signature for handed in self._inside}
        fresh: dict[Signature, TrackedList] = {}
        replaced_before: dict[Signature, TrackedList] = {}
        passed: set[Signature] = set()
        carried = False
        for group in self._groups:
            signature = group.signature
            if signature in inside and not self._step.retrieves:
                passed.add(signature)  # A chain that returns an inner step's list made no new one.
            elif not signature:
                if self._is_a_result(group):
                    fresh[signature] = group
            elif signature in given and signature in self._state.lists.signatures:
                # A graph's node also returns unchanged keys of the state: these lists are not new.
                carried = True
                self._scope.take_up(group.passages[0].document, signature)
            elif signature in self._state.lists.signatures:
                if self._is_in_use(group):
                    carried = True  # The step may have this list from a shared state.
                else:
                    replaced_before[signature] = group
            else:
                fresh[signature] = group
        if replaced_before and not (fresh or passed or carried):
            fresh = replaced_before  # Only replaced lists were returned: they count again.
        return list(fresh.values()), passed

    def _is_in_use(self, group: TrackedList) -> bool:
        """Return whether a list is still in use; False if the step is of a kind in `SOURCES`."""
        if self._step.kind in SOURCES:
            return False
        in_use = self._scope.nearest(group.passages[0].document)
        return any(handed.signature == group.signature for handed in in_use)

    def _is_a_result(self, empty: TrackedList) -> bool:
        """Return whether an empty output list means that the step found or kept no documents.

        Other empty lists do not count: LangGraph puts them into unused keys of a new state.
        """
        return (
            self._step.retrieves
            or (self._step.kind == "tool" and empty.path in (HITS, ARTIFACT))
            or empty.path in self._keys()
            or (empty.path == () and (bool(self._inside) or self._step is self._state.tree.root))
        )

    def _keys(self) -> set[Path]:
        """Return the paths of input lists that have documents and are not inside another list."""
        # Leave out paths with ITEM, such as those inside a list of messages: messages are only
        # appended, so they replace no list.
        return {g.path for g in self._given if g.passages and ITEM not in g.path}

    def _replaced_outside(self, new_lists: list[HandedList]) -> list[HandedList]:
        """Return the input lists that the step's output replaces.

        An input list is replaced if the step returned another list under the same key, or if a new
        list shares documents with it.
        """
        replaced_keys = self._keys().intersection(group.path for group in self._groups)
        returned = {group.signature for group in self._groups}
        used = {document for handed in new_lists for document in handed.documents}
        documents_by_path = [(g.path, {*documents_in(g.passages)}) for g in self._given]
        replaced = []
        for handed in self._whole_lists_given():
            own_keys = {
                path for path, documents in documents_by_path if handed.documents <= documents
            }
            displaced = not own_keys.isdisjoint(replaced_keys) and handed.signature not in returned
            if displaced or not used.isdisjoint(handed.documents):
                replaced.append(handed)
        return replaced

    def _refuse_single(self) -> None:
        """Mark a document as refused if a LangGraph `Send` task received but did not return it.

        Once tasks have refused all documents of a list, an empty list replaces it. A task that
        returned nothing at all, not even an empty list, may have had another purpose. In this case,
        the empty list is marked `unsaid`: it counts only if a prompt is sent later, which then
        shows that the document was refused.
        """
        is_sent = self._step.task is not None and bool(self._step.branch)
        if not is_sent or self._inside or any(group.passages for group in self._groups):
            return
        for group in self._given:
            if len(group.passages) != 1:
                continue
            document = group.passages[0].document
            for handed in self._scope.nearest(document):
                handed.refused.add(document)
                if handed.refused >= handed.documents:
                    empty = HandedList((), self._step, (), unsaid=not self._groups)
                    empty.take([handed])
                    self._scope.put(empty, self._opened)

    def _unused_inside(
        self, new_lists: list[HandedList], passed: set[Signature]
    ) -> list[HandedList]:
        """Return the lists made inside the step that are replaced when it ends.

        A list that was passed on unchanged stays in use. If the step's whole output is a list, all
        other lists are replaced. Otherwise a list is replaced in two cases: a new list has some of
        its documents; or no model read the list, and the output text quotes none of its documents.
        """
        used = {document for handed in new_lists for document in handed.documents}
        # The texts beside a list in a mapping may quote documents of other lists. If the whole
        # output is a list, there are no such texts.
        only_lists = any(group.path == () for group in self._groups)
        return [
            handed
            for handed in self._inside
            if handed.signature not in passed
            and (
                only_lists
                or not used.isdisjoint(handed.documents)
                or not (handed.read or not self._quoted.isdisjoint(handed.documents))
            )
        ]

    @cached_property
    def _quoted(self) -> KeysView[TrackedDocument]:
        return self._state.shown_in(self._step.texts)

    def _whole_lists_given(self) -> list[HandedList]:
        """Return the lists in use whose documents are all in the step's input."""
        documents = documents_in(passages_of(self._given)).keys()
        nearest = self._scope.nearest_of_all(documents)
        return [handed for handed in nearest if handed.documents <= documents]

    def _set_aside_others(self, new_lists: list[HandedList]) -> None:
        """If the output of a step other than a model is one list, set aside its other input lists.

        If the output list is new, input lists that share documents with the output list are not set
        aside here: `_replaced_outside` handles them.
        """
        if self._step.kind == "llm" or [group.path for group in self._groups] != [()]:
            return
        (group,) = self._groups
        returned = {*documents_in(group.passages)}
        for handed in self._whole_lists_given():
            if handed.signature == group.signature:
                continue
            if not returned and handed.passages:
                new_lists[0].take([handed])
            if not new_lists or returned.isdisjoint(handed.documents):
                handed.replaced = handed.set_aside = True

    def _cut_by_text(self, lists: list[HandedList]) -> None:
        """Reduce lists to the documents that the step's output text quotes.

        If a model read one of the lists, the text is an answer, and no list is reduced. If the text
        quotes no document of the lists, no list is reduced either, but the lists made inside a tool
        are marked by `unquoted_by`.
        """
        if any(handed.answered_in for handed in lists):
            self._set_aside_unanswered(lists)
        if not self._step.texts or not lists or any(handed.read for handed in lists):
            return
        quoted = self._quoted
        if all(quoted.isdisjoint(handed.documents) for handed in lists):
            for handed in self._inside if self._step.kind == "tool" else ():
                handed.unquoted_by = None if handed.answered_in else self._step
                if self._is_refused(handed):
                    handed.replaced = handed.set_aside = True
            return
        for handed in lists:
            left = [part for passage in handed.passages for part in self._quoted_parts(passage)]
            if tuple(left) == handed.passages:
                continue
            if not left and handed not in self._inside:
                handed.replaced = handed.set_aside = True
                continue
            rest = HandedList(tuple(left), self._step, ())
            rest.take([handed])
            if left:
                self._scope.put(rest, self._opened)

    def _quoted_parts(self, passage: DocumentText) -> list[DocumentText]:
        """Return the passage if the step's text quotes it, else [].

        Of a merged document, return the quoted parts, unless the text has the whole passage.
        """
        document, texts = passage.document, self._step.texts
        quoted = {*self._quoted}
        if document in quoted:
            quoted.update(part for text in texts for part in parts_quoted_in(text, document))
        parts = [part for part in document.parts if part in quoted and not part.parts]
        is_whole = any(passage.spaced_words in spaced_words(text) for text in texts)
        if parts and not is_whole:
            return [self._state.documents.first(part) for part in parts]
        return [passage] if document in quoted else []

    def _is_refused(self, handed: HandedList) -> bool:
        """Return whether a human refused a list.

        This is assumed under two conditions: the tool, or a step around it, stopped and began
        again, as it does to ask a human; and the tool's output has no word of the list.
        """
        steps = (self._step, *self._state.tree.above(self._step))
        if not any(step.id in self._state.resumed for step in steps):
            return False
        said = {word for text in self._step.texts for word in words_of(text.casefold())}
        texts = (passage.text.casefold() for passage in handed.passages)
        return said.isdisjoint(word for text in texts for word in words_of(text))

    def _set_aside_unanswered(self, lists: list[HandedList]) -> None:
        """Set aside lists that no step answered from, no model read, and no output text quotes."""
        for handed in lists:
            if not (
                handed.answered_in or handed.read or not self._quoted.isdisjoint(handed.documents)
            ):
                handed.replaced = handed.set_aside = True

    def _replace(self, replaced: list[HandedList], new_lists: list[HandedList]) -> None:
        for handed in new_lists:
            handed.take(
                each for each in replaced if not handed.documents.isdisjoint(each.documents)
            )
            handed.unexplained = not (handed.taken or handed.step.kind in SOURCES)
            self._scope.put(handed, self._opened)
        gone = set(replaced)
        heirs = new_lists or [
            each for each in self._inside if not each.replaced and each not in gone
        ]
        for handed in replaced:
            if heirs:
                heirs[0].take([handed])
            handed.replaced = True
