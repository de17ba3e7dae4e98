"""Read the input lists of a step: recognize their documents, and note unrecorded changes."""

from __future__ import annotations

from collections.abc import Iterable

from fullrecall.observe.documents import DocumentText, StepDocuments, documents_in
from fullrecall.observe.handed import HandedList, OpenStep, Scope, TrackedList, passages_of, sourced
from fullrecall.observe.state import FlowState
from fullrecall.observe.step import DocumentCopy, DocumentList, Step


class GivenLists:
    """The input lists of a step, read when it begins."""

    def __init__(self, state: FlowState, step: Step, scope: Scope) -> None:
        self._state = state
        self._step = step
        self._scope = scope
        above = list(state.tree.above(step))
        self._answers = step.answers and not any(over.answers for over in above)
        # A step that is called by a retriever or a reranker does not write the call's answer.
        self._is_reader = self._answers and not any(over.retrieves for over in above)
        # `_before` and `_certain` read the lists only when a copy must be compared with other
        # documents, since agents have many lists and few copies need it.
        in_use = (handed for handed in scope.lists() if not handed.replaced)
        self._before = StepDocuments(state.documents, passages_of(in_use))
        every = passages_of(scope.lists())
        self._certain = StepDocuments(state.documents, every, certain=True)

    def lists(self, caller: OpenStep | None) -> list[TrackedList]:
        """Return the input lists with recognized documents, and note lists that no step returned.

        `caller` is the open caller of the step.
        """
        lists = [
            TrackedList(each.path, passages, each.certain)
            for each in self._step.given
            if (passages := self._passages(each)) is not None
        ]
        if self._step.closed and caller is not None:
            self._find_unseen(lists, caller)
        for each in lists:
            if self._is_reader and each.certain:
                self._note_outside(each)
            self._unite(each)
            if self._answers:
                for handed in self._scope.nearest_of_all(documents_in(sourced(each.passages))):
                    handed.answered_in.append(self._step.id)
        return lists

    def _passages(self, listed: DocumentList) -> tuple[DocumentText, ...] | None:
        """Return the passages of a list; None for texts that are not documents."""
        state = self._state
        # An agent sends the same list object of messages at each turn: read it once.
        known_list = state.read_lists.get(id(listed))
        if known_list is not None:
            return known_list[1]
        if not (listed.certain or state.has_texts_of(listed)):
            quoted = state.passages_in(copy.text for copy in listed.documents)
            return tuple(quoted) or None if self._answers else None
        passages = state.passages_of(listed, self._step, self._view_of)
        for passage in passages:
            passage.document.from_outside = passage.document.origin is None
        state.read_lists[id(listed)] = (listed, passages)
        return passages

    def _view_of(self, copy: DocumentCopy) -> StepDocuments:
        return self._before if copy.id is None else self._certain

    def _find_unseen(self, lists: Iterable[TrackedList], caller: OpenStep) -> None:
        """Note lists that come from an unrecorded step of the same caller, such as a cached one."""
        given = {passage.document for passage in passages_of(caller.given)}
        for each in lists:
            documents = {passage.document for passage in each.passages}
            if any(document.origin is not None or document in given for document in documents):
                continue
            for passage in each.passages:
                if passage.document.origin is None:
                    self._state.retrieve(passage, caller.step)
            if each.passages:
                self._scope.put(HandedList(each.passages, caller.step, each.path))

    def _note_outside(self, listed: TrackedList) -> None:
        """Note this step as the origin of the documents in its input that no step has returned."""
        new = [passage for passage in listed.passages if passage.document.origin is None]
        if len(new) == len(listed.passages):
            self._state.doubt_renewed(self._step, new, passages_of(self._scope.lists()))
        for passage in new:
            self._state.retrieve(passage, self._step)

    def _unite(self, listed: TrackedList) -> None:
        """Replace earlier lists by `listed` if code outside any step made it from them.

        Such code may join, sort or copy lists. If it shortened lists from which a step then
        answered, only the remaining documents count.
        """
        state, answers = self._state, self._answers
        own = TrackedList(listed.path, sourced(listed.passages))
        # A list passes through many steps. Check each list once; otherwise an agent's turns would
        # take quadratic time.
        if own.signature in state.united and not answers:
            return
        state.united.add(own.signature)
        # A set does not fit here: its order would depend on addresses in memory.
        inside = documents_in(own.passages).keys()
        parts = [
            each
            for each in self._scope.nearest_of_all(inside)
            if answers or each.documents <= inside
        ]
        equal_list = next((each for each in parts if each.signature == own.signature), None)
        if equal_list is not None:
            # If a tool returned the list, replace only lists of this tool: two tools are two
            # searches, even if one list has all documents of both.
            tool = self._tool_around(equal_list.step)
            equal_list.take(each for each in parts if tool in (None, self._tool_around(each.step)))
            return
        by_hand = bool(parts) and (
            listed.certain or (answers and any(not each.documents <= inside for each in parts))
        )
        from_outside = answers and any(self._step in p.document.sources for p in own.passages)
        if by_hand or (from_outside and not parts):
            united = HandedList(own.passages, self._step, own.path)
            united.take(parts)
            united.unexplained = any(part.unexplained for part in parts)
            self._scope.put(united)

    def _tool_around(self, step: Step) -> Step | None:
        """Return the step if it is a tool, or else the tool that called it, directly or not."""
        steps = (step, *self._state.tree.above(step))
        return next((each for each in steps if each.kind == "tool"), None)
