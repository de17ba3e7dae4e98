"""How documents flow from step to step: which lists are made, carried on, and replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, KeysView, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fullrecall.observe.documents import (
    DocumentText,
    StepDocuments,
    TrackedDocument,
    TrackedDocuments,
    documents_in,
    is_made,
)
from fullrecall.observe.handed import Bucket, HandedList, Scope, Signature, signature_of
from fullrecall.observe.step import HITS, ITEM, ROWS, DocumentCopy, DocumentList, Path, Step
from fullrecall.observe.tree import Tree
from fullrecall.observe.words import PassageIndex

_SOURCES = ("retriever", "reranker", "tool")
"""Kinds of steps that return documents of their own, whatever they are given."""


@dataclass(frozen=True, slots=True)
class _TrackedList:
    """A list in a step's input or output, its copies told apart; see `DocumentList`.

    `stored_again` says that a search returned texts that were retrieved before, under new IDs.
    """

    path: Path
    passages: tuple[DocumentText, ...]
    certain: bool = True
    stored_again: bool = False

    @property
    def signature(self) -> Signature:
        return signature_of(self.passages)


@dataclass(slots=True)
class _Opened:
    """A step that has begun: what it was given, and what was made inside of it until now."""

    given: list[_TrackedList]
    bucket: Bucket = field(default_factory=Bucket)


@dataclass(slots=True)
class _Asked:
    """What a model was sent by one step that answers, or in one prompt."""

    answers: bool
    documents: dict[TrackedDocument, None]
    pieces: dict[str, None]


class DocumentFlow:
    """Follows documents through the steps of a record, event by event.

    - `bucket`: every list that was handed out of the outermost steps, replaced ones too.
    - `retrieved`: the passages that sources returned, in the order in which they came.
    - `touched`: the IDs of the steps that documents passed through.
    - `doubt`: why it is unknown which documents some step had; None where there is no doubt.
    - `prompts_seen`: whether a model was asked, other than by a retriever.
    """

    def __init__(
        self,
        tree: Tree,
        lost: frozenset[Hashable],
        idle: Collection[Hashable],
        links_of: Callable[[DocumentCopy], Collection[str]],
    ) -> None:
        self.bucket = Bucket()
        self.retrieved: list[DocumentText] = []
        self.touched: set[Hashable] = set()
        self.prompts_seen = False
        self.doubt: str | None = None
        self.tree = tree
        self._lost = lost
        self._idle = idle
        self._links_of = links_of
        self._documents = TrackedDocuments()
        self._index = PassageIndex()
        self._opened: dict[Hashable, _Opened] = {}
        self._asked: dict[Hashable, _Asked] = {}
        self._stores = False
        self._attempts: dict[Hashable, list[HandedList]] = {}
        self.signatures: set[Signature] = set()
        self._united: set[Signature] = set()
        self._known_lists: dict[int, tuple[DocumentList, tuple[DocumentText, ...]]] = {}

    @property
    def passages(self) -> list[DocumentText]:
        """Every passage of the record, by its number."""
        return self._documents.passages

    def follow(self) -> None:
        """Follow all steps; what the still open ones hold is handed on as it is."""
        events = [(step.began, 0, step) for step in self.tree.steps]
        events += [(step.ended, 1, step) for step in self.tree.steps if step.ended is not None]
        for _, ends, step in sorted(events, key=lambda event: event[:2]):
            if ends:
                self._end(step)
            else:
                self._begin(step)
        for opened in self._opened.values():
            self.bucket.take_over(opened.bucket)

    def _scope(self, step: Step) -> Scope:
        opened = (self._opened.get(over.id) for over in self.tree.above(step))
        return Scope([*(each.bucket for each in opened if each is not None), self.bucket])

    # What a step is given

    def _begin(self, step: Step) -> None:
        scope = self._scope(step)
        if step.task is not None:
            # An attempt that stopped midway, for a human to answer, begins anew with nothing.
            for handed in self._attempts.pop(step.task, ()):
                handed.replaced = True
        # Generators: few steps are given a copy that needs a view, and agents have many lists.
        in_use = (handed for handed in scope.lists() if not handed.replaced)
        before = StepDocuments(_passages(in_use), StepDocuments(_passages(scope.lists())))
        certain = StepDocuments(_passages(scope.lists()), certain=True)
        answers = step.answers and not any(over.answers for over in self.tree.above(step))
        groups = [
            _TrackedList(each.path, passages, each.certain)
            for each in step.given
            if (passages := self._given(each, step, before, certain, answers=answers)) is not None
        ]
        if step.closed:
            self._find_unseen(groups, step, scope)
        for group in groups:
            # A model that a retriever or a reranker asks is not the reader.
            if answers and group.certain and not any(o.retrieves for o in self.tree.above(step)):
                self._note_outside(step, group.passages, scope)
            self._unite(group, step, scope, answers=answers)
            if answers:
                for handed in scope.nearest_of_all(documents_in(_sourced(group.passages))):
                    handed.answered_in.append(step.id)
        self._opened[step.id] = _Opened(groups)
        self._stores = self._stores or step.stores
        # A model that a retriever or a reranker asks is not the reader.
        if step.prompt and not any(over.retrieves for over in self.tree.above(step)):
            self.prompts_seen = True
            self._read(step, scope)

    def _note_outside(self, step: Step, passages: Sequence[DocumentText], scope: Scope) -> None:
        """Note documents that are answered from and that no step returned: a store had them."""
        new = [passage for passage in passages if passage.document.origin is None]
        if len(new) == len(passages):
            self._doubt_renewed(step, new, _passages(scope.lists()))
        for passage in new:
            passage.document.origin = step
            passage.document.sources.append(step)
            self.retrieved.append(passage)

    def _doubt_all_new(
        self, step: Step, passages: Sequence[DocumentText], view: StepDocuments
    ) -> bool:
        """Doubt a list that holds new documents alone; return whether it holds any."""
        new = [p for p in passages if p.document.origin is None and not p.document.from_outside]
        if len(new) == len(passages) and step.kind != "llm":
            self._doubt_renewed(step, new, view.passages)
        return bool(new)

    def _doubt_renewed(
        self, step: Step, new: Sequence[DocumentText], before: Iterable[DocumentText]
    ) -> None:
        """Doubt documents that may be others with new IDs and words: which, is unknown.

        Not those with the ID of a store, nor those that name a document before them or are named
        by one, as a summary names the chunk that it leads to.
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
            self.doubt = self.doubt or (
                f"{step.name} had documents with new IDs and other texts: which of those that were "
                "retrieved they are is unknown"
            )

    def _given(
        self,
        listed: DocumentList,
        step: Step,
        before: StepDocuments,
        certain: StepDocuments,
        *,
        answers: bool,
    ) -> tuple[DocumentText, ...] | None:
        # The same list object: a message that is sent again at each turn was read once.
        known_list = self._known_lists.get(id(listed))
        if known_list is not None:
            return known_list[1]
        if not (
            listed.certain
            or self._known_texts(listed)
            or (answers and all(certain.overlapping(copy.text) for copy in listed.documents))
        ):
            return None
        passages = tuple(
            passage
            for copy, nth in self._numbered(listed, step, before)
            for passage in self._documents.passages_of(
                copy, before if copy.id is None else certain, nth
            )
        )
        for passage in passages:
            passage.document.from_outside = passage.document.origin is None
        self._known_lists[id(listed)] = (listed, passages)
        return passages

    def _numbered(
        self, listed: DocumentList, step: Step, view: StepDocuments
    ) -> Iterator[tuple[DocumentCopy, int]]:
        """Yield copies, each with the number of those before it that have its text and no ID.

        Where there are fewer of them than documents of this text, which ones they are is unknown.
        """
        counts = Counter(copy.text for copy in listed.documents if copy.id is None)
        numbers: Counter[str] = Counter()
        for copy in listed.documents:
            if copy.id is not None or not listed.certain:
                yield copy, 0
                continue
            if not self._documents.is_known(copy):
                ids = {document.id for document in view.of_text(copy.text)}
                if len(ids) > counts[copy.text]:
                    self.doubt = self.doubt or (
                        f"{step.name} had documents without IDs, of whose texts there are "
                        "several: which of them they are is unknown"
                    )
            yield copy, numbers[copy.text]
            numbers[copy.text] += 1

    def _known_texts(self, listed: DocumentList) -> bool:
        return bool(listed.documents) and all(
            self._documents.with_text(copy.text) for copy in listed.documents
        )

    def _unite(self, group: _TrackedList, step: Step, scope: Scope, *, answers: bool) -> None:
        """Note a list that was put together, sorted or copied by hand: it takes its parts' place.

        Nor does anything else count of lists that were cut by hand before they were answered from.
        """
        passages = _sourced(group.passages)
        signature = signature_of(passages)
        # A list passes many steps: it is looked at once, or an agent's turns would be quadratic.
        if not passages or (signature in self._united and not answers):
            return
        self._united.add(signature)
        # Never a set where lists are looked up: its order is that of addresses in memory.
        inside = documents_in(passages).keys()
        parts = [
            each for each in scope.nearest_of_all(inside) if answers or each.documents <= inside
        ]
        equal_list = next((each for each in parts if each.signature == signature), None)
        if equal_list is not None:
            # What two tools returned are two searches, even if one has all that the other has.
            tool = self._tool_around(equal_list.step)
            equal_list.take(each for each in parts if tool in (None, self._tool_around(each.step)))
            return
        by_hand = bool(parts) and (
            group.certain or (answers and any(not each.documents <= inside for each in parts))
        )
        from_outside = answers and any(step in p.document.sources for p in passages)
        if (
            by_hand
            or (from_outside and not parts)
            or len(parts) > 1
            or (parts and len(passages) > len(parts[0].passages))
        ):
            united = HandedList(passages, step, group.path)
            united.take(parts)
            self.put(united, scope.buckets[0])

    def _find_unseen(self, groups: Iterable[_TrackedList], step: Step, scope: Scope) -> None:
        """Note lists that a step of the same caller made, of which no event tells: a cached one."""
        caller = self.tree.parent(step)
        opened = None if caller is None else self._opened.get(caller.id)
        if caller is None or opened is None:
            return
        given = {passage.document for passage in _passages(opened.given)}
        for group in groups:
            documents = {passage.document for passage in group.passages}
            if any(each.origin is not None or each in given for each in documents):
                continue
            for passage in group.passages:
                if passage.document.origin is None:
                    passage.document.origin = caller
                    passage.document.sources.append(caller)
                    self.retrieved.append(passage)
            if group.passages:
                self.put(HandedList(group.passages, caller, group.path), scope.buckets[0])

    def put(self, handed: HandedList, bucket: Bucket) -> None:
        """Lay down a list that was made now."""
        self.signatures.add(handed.signature)
        bucket.put(handed)

    def _tool_around(self, step: Step) -> Step | None:
        """Return the tool that a step is, or that called it."""
        steps = (step, *self.tree.above(step))
        return next((each for each in steps if each.kind == "tool"), None)

    def answering_pieces(self) -> dict[str, None]:
        """Return the pieces of the prompts that the answer was made from.

        Where the last prompt shows documents again that others have shown before, those others
        served to choose: of them only the prompts of answering steps count.
        """
        units = list(self._asked.values())
        before = {document for unit in units[:-1] for document in unit.documents}
        chose = bool(units[-1].documents) and units[-1].documents.keys() <= before
        counting = (unit for unit in units if not chose or unit.answers or unit is units[-1])
        return {piece: None for unit in counting for piece in unit.pieces}

    def _read(self, step: Step, scope: Scope) -> None:
        """Note which documents a model is sent: a replaced list that it is sent is in use again."""
        shown = self._shown_in_prompt(step.prompt or ())
        answering = [over for over in self.tree.above(step) if over.answers]
        unit = (answering or [step])[-1]
        asked = self._asked.setdefault(unit.id, _Asked(bool(answering), {}, {}))
        asked.documents |= shown
        asked.pieces |= dict.fromkeys(step.prompt or ())
        for document in shown:
            for handed in reversed(scope.nearest(document)):
                if handed.read:
                    break
                handed.read = True
        replaced = [d for d in shown if not scope.nearest(d)]
        candidates = {
            handed: bucket
            for bucket in scope.buckets
            for document in replaced
            for handed in bucket.replaced(document)
        }
        missing = set(replaced)
        for handed in sorted(candidates, key=lambda each: -_share(each, shown)):
            if not missing.isdisjoint(handed.documents):
                candidates[handed].revive(handed)
                handed.read = True
                missing -= handed.documents

    def _shown_in_prompt(self, prompt: Sequence[str]) -> dict[TrackedDocument, None]:
        shown: dict[TrackedDocument, None] = {}
        for index, piece in enumerate(prompt):
            # A conversation grows at its end: what was looked through stays as it is.
            for document in self._standing_in(piece, again=index == len(prompt) - 1):
                if document.origin is not None:
                    shown[document] = None
                    document.read_in[piece] = None
        return shown

    def shown_in(self, texts: Iterable[str]) -> KeysView[TrackedDocument]:
        """Return the documents that stand in any of these texts."""
        standing = (document for text in texts for document in self._standing_in(text))
        return dict.fromkeys(standing).keys()

    def _standing_in(self, text: str, *, again: bool = True) -> Iterator[TrackedDocument]:
        passages = self._documents.passages
        for passage in passages[len(self._index) :]:
            self._index.add(passage.text)
        return (passages[number].document for number in self._index.found_in(text, again=again))

    # What a step returns

    def _end(self, step: Step) -> None:
        opened = self._opened.pop(step.id)
        scope = self._scope(step)
        if opened.bucket.lists:
            self.touched.add(step.id)
        if step.task is not None:
            self._attempts[step.task] = list(opened.bucket.lists)
        if step.id in self._lost:
            for handed in opened.bucket.lists:
                handed.replaced = True
        else:
            groups = self._returned(step, opened, scope)
            _HandingOn(self, step, opened, groups, scope).settle()
        scope.buckets[0].take_over(opened.bucket)

    def _returned(self, step: Step, opened: _Opened, scope: Scope) -> list[_TrackedList]:
        if not step.returned:
            return []
        given_passages = list(_passages(opened.given))
        inside = list(_passages(opened.bucket.lists))
        view = StepDocuments([*given_passages, *inside])
        given_documents = {*documents_in(given_passages)}
        handled = given_documents.union(documents_in(inside))
        # Texts that were retrieved before may have been stored again, and got new IDs there.
        stored = StepDocuments(_passages(scope.lists()), whole=True)
        is_search = self._stores and step.retrieves and not view.passages
        groups = []
        for listed in step.returned:
            if listed.path == HITS and step.id in self._idle:
                continue
            rows = None if listed.certain else self._known_rows(listed, view)
            if rows is None and not (listed.certain or self._are_documents(step, listed, view)):
                continue
            path, copies = ((), rows) if rows else (listed.path, self._numbered(listed, step, view))
            passages = tuple(
                passage
                for copy, nth in copies
                for passage in self._documents.passages_of(
                    copy, stored if is_search and is_made(copy) else view, nth
                )
            )
            is_new = self._doubt_all_new(step, passages, view)
            for passage in passages:
                self._note_source(step, passage, given_documents)
                if step.kind in ("retriever", "tool") and passage.document not in handled:
                    passage.document.sources.append(step)
                if view.passages and passage.document.origin is step and not passage.text:
                    self.doubt = self.doubt or (
                        f"{step.name} returned documents under new IDs and without texts: which "
                        "of those that it was given they are is unknown"
                    )
            passages = _sourced(passages)
            stored_again = is_search and bool(passages) and not is_new
            lists = _answers(passages, opened.bucket) if listed.hits else [passages]
            groups += [
                _TrackedList(path, each, stored_again=stored_again)
                for each in lists
                if each or not listed.documents
            ]
            if passages:
                self.touched.add(step.id)
        return groups

    def _note_source(
        self, step: Step, passage: DocumentText, given_documents: set[TrackedDocument]
    ) -> None:
        """Note where a document comes from, unless it came in from outside of the record."""
        document = passage.document
        if document.origin is None and (
            not document.from_outside
            or (document not in given_documents and not self.tree.calls_others(step))
        ):
            document.origin = step
            document.sources.append(step)
            self.retrieved.append(passage)

    def _known_rows(
        self, listed: DocumentList, view: StepDocuments
    ) -> list[tuple[DocumentCopy, int]] | None:
        """Return all that a call returned as known documents, None if one is not known.

        One is known by its text, or by an ID of a document in view, even if the ID is all of it.
        """
        if listed.path not in ((), ROWS):
            return None
        rows = []
        for copy in listed.documents:
            known = copy
            if not (copy.text and self._documents.with_text(copy.text)):
                known = DocumentCopy(0, copy.id or copy.text, "")
                if view.with_id(known.id) is None:
                    return None
            rows.append((known, 0))
        return rows or None

    def _are_documents(self, step: Step, listed: DocumentList, view: StepDocuments) -> bool:
        """Return whether bare texts are documents: known ones, or all that the call returned."""
        if self._known_texts(listed):
            return True
        if not listed.documents or listed.path != ():
            return False
        if step is self.tree.root and not self.retrieved:
            return True
        return all(
            self._documents.with_text(copy.text) or view.overlapping(copy.text)
            for copy in listed.documents
        )


class _HandingOn:
    """What stays in use after a step: the lists that it returned replace those that it handled."""

    def __init__(
        self,
        flow: DocumentFlow,
        step: Step,
        opened: _Opened,
        groups: list[_TrackedList],
        scope: Scope,
    ) -> None:
        self._flow = flow
        self._step = step
        self._bucket = opened.bucket
        self._groups = groups
        self._scope = scope
        self._inside = [handed for handed in opened.bucket.lists if not handed.replaced]
        self._given = [_TrackedList(g.path, _sourced(g.passages)) for g in opened.given]

    def settle(self) -> None:
        if not self._groups:
            is_model = self._step.kind == "llm"  # it is given none to hand on
            self._cut_by_text(self._inside or ([] if is_model else self._whole_lists_given()))
            return
        fresh, passed = self._new_and_passed_on()
        for handed in self._inside:
            if handed.signature in passed:
                handed.beside = self._step.id
        handed_lists = [HandedList(g.passages, self._step, g.path) for g in fresh]
        replaced = self._replaced_outside(handed_lists)
        self._set_aside_others(handed_lists)
        if any(group.stored_again for group in fresh):
            replaced += self._scope.nearest_of_all(documents_in(_passages(fresh)))
        if passed or handed_lists:
            replaced += self._unused_inside(handed_lists, passed)
        else:
            self._cut_by_text(self._inside)
        self._replace(replaced, handed_lists)

    def _new_and_passed_on(self) -> tuple[list[_TrackedList], set[Signature]]:
        """Return the lists that are new here, and those that a step inside returned as they are."""
        signatures = {group.signature for group in self._given}
        inside = {handed.signature for handed in self._inside}
        fresh: dict[Signature, _TrackedList] = {}
        replaced_before: dict[Signature, _TrackedList] = {}
        passed: set[Signature] = set()
        carried = False
        for group in self._groups:
            signature = group.signature
            if signature in inside and not self._step.retrieves:
                passed.add(signature)  # no stage of its own: a chain around a retriever
            elif not signature:
                if self._is_a_result(group):
                    fresh[signature] = group
            elif signature in inside:
                fresh[signature] = group  # a retriever of retrievers is a stage of its own
            elif signature in signatures and signature in self._flow.signatures:
                carried = True  # a graph's state: a node returns keys that it did not touch
                self._scope.take_up([group.passages[0].document], signature)
            elif signature in self._flow.signatures:
                if self._is_in_use(group):
                    carried = True  # it went past the record, as in a state that steps share
                else:
                    replaced_before[signature] = group
            else:
                fresh[signature] = group
        if replaced_before and not (fresh or passed or carried):
            fresh = replaced_before  # nothing newer stands beside it
        return list(fresh.values()), passed

    def _is_in_use(self, group: _TrackedList) -> bool:
        """Return whether a step that retrieves nothing itself returned a list still in use."""
        if self._step.kind in _SOURCES:
            return False
        in_use = self._scope.nearest(group.passages[0].document)
        return any(handed.signature == group.signature for handed in in_use)

    def _is_a_result(self, empty: _TrackedList) -> bool:
        """Return whether an empty list says that nothing is left: where documents were expected."""
        # LangGraph puts empty lists into first states, at keys that nothing has filled yet.
        return (
            self._step.retrieves
            or (self._step.kind == "tool" and empty.path in (HITS, ("artifact",)))
            or empty.path in self._keys()
            or (empty.path == () and (bool(self._inside) or self._step is self._flow.tree.root))
        )

    def _keys(self) -> set[Path]:
        """Return the keys at which documents were given; items of lists have none."""
        # What stands in a list of messages takes nothing's place: messages only become more.
        return {g.path for g in self._given if g.passages and ITEM not in g.path}

    def _replaced_outside(self, new_lists: list[HandedList]) -> list[HandedList]:
        """Return the lists among what was given whose place another one takes.

        Another list stands at the same key now, or holds some of the same documents.
        """
        as_given = {(group.path, group.signature) for group in self._given}
        empty_counts = any(not handed.passages for handed in new_lists)
        placed = {
            group.path
            for group in self._groups
            if (group.passages or empty_counts) and (group.path, group.signature) not in as_given
        }
        keys = self._keys()
        if not new_lists and not placed & keys:
            return []
        returned = {group.signature for group in self._groups}
        used = {document for handed in new_lists for document in handed.documents}
        documents_by_path = [(g.path, {*documents_in(g.passages)}) for g in self._given]
        replaced = []
        for handed in self._whole_lists_given():
            own_keys = {
                path for path, documents in documents_by_path if handed.documents <= documents
            }
            displaced = not own_keys.isdisjoint(placed & keys) and handed.signature not in returned
            if displaced or not used.isdisjoint(handed.documents):
                replaced.append(handed)
        return replaced

    def _unused_inside(
        self, new_lists: list[HandedList], passed: set[Signature]
    ) -> list[HandedList]:
        """Return the lists from inside that the step did not hand on: neither listed nor told."""
        used = {document for handed in new_lists for document in handed.documents}
        # A list is all that there is; a mapping may tell of more in its texts.
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
        return self._flow.shown_in(self._step.texts)

    def _whole_lists_given(self) -> list[HandedList]:
        """Return the lists of which this step was given all."""
        documents = documents_in(_passages(self._given)).keys()
        nearest = self._scope.nearest_of_all(documents)
        return [handed for handed in nearest if handed.documents <= documents]

    def _set_aside_others(self, new_lists: list[HandedList]) -> None:
        """Set aside what a step was given and did not return, if one list is all it returned."""
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
        """Keep of lists what stands in the text that the step returned.

        Not where a model read them: then the text is an answer.
        """
        if any(handed.answered_in for handed in lists):
            self._set_aside_unanswered(lists)
        if not self._step.texts or not lists or any(handed.read for handed in lists):
            return
        quoted = self._quoted
        self._scope.take_up(quoted)
        if all(quoted.isdisjoint(handed.documents) for handed in lists):
            return
        for handed in lists:
            left = [passage for passage in handed.passages if passage.document in quoted]
            if len(left) == len(handed.passages):
                continue
            if not left and handed not in self._inside:
                handed.replaced = handed.set_aside = True
                continue
            rest = HandedList(tuple(left), self._step, ())
            rest.take([handed])
            if left:
                self._flow.put(rest, self._bucket)

    def _set_aside_unanswered(self, lists: list[HandedList]) -> None:
        """Set aside what nobody was given, if the answer was made from other lists."""
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
            handed.unexplained = not (handed.taken or handed.step.kind in _SOURCES)
            self._flow.put(handed, self._bucket)
        gone = set(replaced)
        heirs = new_lists or [
            each for each in self._inside if not each.replaced and each not in gone
        ]
        for handed in replaced:
            if heirs:
                heirs[0].take([handed])
            handed.replaced = True


def _passages(lists: Iterable[_TrackedList | HandedList]) -> Iterator[DocumentText]:
    return (passage for each in lists for passage in each.passages)


def _answers(hits: tuple[DocumentText, ...], bucket: Bucket) -> Sequence[tuple[DocumentText, ...]]:
    """Return hits as one list; each alone if each was returned so, for several queries."""
    returned = {handed.signature for handed in bucket.lists}
    return [(hit,) for hit in hits] if {(hit.number,) for hit in hits} <= returned else [hits]


def _sourced(passages: Iterable[DocumentText]) -> tuple[DocumentText, ...]:
    """Return the passages of documents that were retrieved in this record."""
    return tuple(passage for passage in passages if passage.document.origin is not None)


def _share(handed: HandedList, documents: Iterable[TrackedDocument]) -> float:
    inside = sum(document in handed.documents for document in documents)
    return inside / max(1, len(handed.documents))
