"""Build the retrieval of one call from its steps: the contexts retrieved, kept, and in a prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from fullrecall.observe.documents import DocumentText, TrackedDocument
from fullrecall.observe.failures import Failures, failures_of
from fullrecall.observe.flow import follow
from fullrecall.observe.handed import HandedList
from fullrecall.observe.state import FlowState, LinksOf
from fullrecall.observe.step import ITEM, DocumentCopy, Step
from fullrecall.observe.tools import is_empty_list, own_words
from fullrecall.observe.tree import Tree
from fullrecall.samples.calls import Call
from fullrecall.samples.context import Context
from fullrecall.samples.prompts import FoldedPrompt, Read, read_of
from fullrecall.samples.retrieval import FailedCalls, Retrieval

ContextMaker: TypeAlias = Callable[[DocumentCopy, "str | None"], Context]
"""Makes a context from a copy of a document and the document's ID, which the copy may lack."""

_DARK = 100
"""A tool's text may be documents if it has at least this many characters; a number is shorter."""

_ANYWHERE = object()
"""The key in `_parts` of lists made from unrecorded lists; each may be a part of any other list."""

_SURE = 5
"""The fewest contexts whose order alone shows a reordering: chance gives this order once in 120."""

_REORDERING = re.compile("reorder|lost.?in.?the.?middle|transform_documents", re.IGNORECASE)
"""Names of steps that may reorder contexts for the model's attention: `_is_reordering` decides."""

_DEPTH = 100
"""The most levels of replaced lists in a `Call`; lists replaced before those are left out."""


def retrieval_of_one_search(
    steps: Sequence[Step], root: Hashable | None, response: str | None, make: ContextMaker
) -> Retrieval | None:
    """Return the retrieval of a call that only searches once and returns the list, else None.

    The result equals that of `Record`, at a tenth of the cost. Most calls are of this kind.
    """
    steps = [step for step in steps if not step.is_empty]
    if not 0 < len(steps) < 3 or (len(steps) == 2) != (steps[0].id == root):  # noqa: PLR2004
        return None
    search = steps[-1]
    for step in steps:
        if step.given or step.error or step.ended is None or len(step.returned) != 1:
            return None
    ((found,), (returned,)) = search.returned, steps[0].returned
    if not search.retrieves or not found.certain or found.path or returned.path:
        return None
    copies = found.documents
    if returned.documents != copies or len({copy[1:3] for copy in copies}) < len(copies):
        return None
    contexts = tuple([make(copy, copy.id) for copy in copies])
    return Retrieval(
        contexts,
        calls=(Call(search.name, search.query, contexts),),
        response=response,
        retrieved=contexts,
        call_numbers=(1,) * len(contexts),
        seconds=(search.seconds,) * len(contexts),
    )


class Record:
    """Computes which contexts one call retrieved, kept, and sent to a model, from its steps."""

    def __init__(
        self,
        steps: Iterable[Step],
        root: Hashable | None,
        *,
        make: ContextMaker,
        links_of: LinksOf,
        answering: Hashable | None = None,
        other_tools: Collection[str] = (),
    ) -> None:
        """Follow the steps; `make` is called once for each text of a document.

        If `answering` is the ID of a step, only the lists from which it answered count.
        """
        self._tree = tree = Tree(steps, root)
        self._idle = own_words(tree) | {
            step.id for step in tree.steps if step.kind == "tool" and step.name in other_tools
        }
        self._failures = failures_of(tree, other_tools)
        self._flow, self._prompts = follow(tree, self._failures.lost, self._idle, links_of)
        self._make = make
        self._contexts: dict[int, Context] = {}
        kept = [
            each
            for each in self._flow.outermost.lists
            if (not each.replaced if answering is None else answering in each.answered_in)
        ]
        self._parts: dict[Hashable, list[HandedList]] = {}
        for each in kept:
            if not each.step.retrieves:
                beside = _ANYWHERE if each.unexplained else each.step.id
                self._parts.setdefault(beside, []).append(each)
        self._kept = self._in_order(each for each in kept if not self._is_unread(each))

    def retrieval(self, response: str | None, error: str | None) -> Retrieval:
        """Return the record; `error` is the reason why it cannot be scored, or None."""
        calls = self._calls()
        if not self._kept:
            return Retrieval(calls=[c for _, c in calls], response=response, error=error)
        passages, ranks = _united(list(map(self._ranked, self._kept, self._kept_calls)))
        contexts = [self._context(passage) for passage in passages]
        numbered = _Calls(self._tree, self._flow, self._failures)
        if all(numbered.is_call(handed.step) for handed in self._kept):
            shown = {step.id for step, _ in calls}
            calls += [(step, _empty_call(step)) for step in numbered.empty if step.id not in shown]
            calls.sort(key=lambda each: self._tree.positions[each[0].id])
        origins = [numbered.of(passage) for passage in passages]
        return Retrieval(
            contexts,
            calls=[call for _, call in calls],
            ranks=ranks,
            response=response,
            read=self._read(passages, contexts),
            error=error,
            retrieved=[self._context(each) for each in numbered.in_order(self._flow.retrieved)],
            call_numbers=[number for number, _ in origins],
            seconds=[second for _, second in origins],
            other_ids=self._ids_by_document(_other_ids),
            part_ids=self._ids_by_document(_part_ids),
        )

    def _ids_by_document(
        self, ids_of: Callable[[TrackedDocument], tuple[str, ...]]
    ) -> dict[str, tuple[str, ...]]:
        """Map the ID of each document that is a context to the IDs that `ids_of` returns for it."""
        passages = map(self._flow.documents.passages.__getitem__, self._contexts)
        shown = dict.fromkeys(passage.document for passage in passages)
        ids = ((document.id, ids_of(document)) for document in shown)
        return {own: others for own, others in ids if own is not None and others}

    def _in_order(self, lists: Iterable[HandedList]) -> list[HandedList]:
        positions = self._tree.positions
        return sorted(lists, key=lambda handed: positions[handed.step.id])

    @cached_property
    def _kept_calls(self) -> list[Call]:
        return [self._call(handed) for handed in self._kept]

    def _calls(self) -> list[tuple[Step, Call]]:
        steps_kept = (handed.step for handed in self._kept)
        calls = list(zip(steps_kept, self._kept_calls, strict=True))
        failures = self._failures
        for steps, recovered in ((failures.counting, False), (failures.recovered, True)):
            for step in steps:
                failed = Call(step.name, step.query, None, step.error, recovered=recovered)
                calls.append((step, failed))
        positions = self._tree.positions
        return sorted(calls, key=lambda each: positions[each[0].id])

    def problem(self, failed_calls: FailedCalls, unseen: str) -> str | None:
        """Return the reason why the sample cannot be scored; None if it can."""
        counting = self._failures.counting
        if counting and (failed_calls == "unscored" or not self._kept):
            return self._failed(counting)
        unknown = self._unknown() or self._flow.doubt
        if unknown is not None:
            return unknown
        dark = self._dark_tools()
        if dark:
            names = ", ".join(map(repr, dark[:3]))
            return (
                f"tools returned text of which no document is known: {names}. Record their "
                "retrievers, return documents, or pass other_tools if they retrieve nothing"
            )
        if not self._kept:
            return unseen
        return self._ambiguous()

    def _unknown(self) -> str | None:
        """Return the reason why some retrieved documents are unknown; None if all are known."""
        for step in self._tree.steps:
            if step.id in self._failures.lost or not step.retrieves or step.returned:
                continue
            if step.ended is None:
                return f"{step.name} has not ended"
            around = [*self._tree.above(step), *self._tree.below(step)]
            if not any(each.returned for each in around if each is not self._tree.root):
                return f"{step.name} returned nothing that can be read as documents"
        return None

    def _parts_of(self, whole: HandedList) -> Iterator[HandedList]:
        """Yield the kept lists that have only some documents of `whole`.

        It is unclear whether they replace `whole`: the same step returned them beside it, or a step
        made them from lists that are not in the record.
        """
        for beside in (whole.step.id, _ANYWHERE):
            for part in self._parts.get(beside, ()):
                if part.documents < whole.documents:
                    yield part

    def _is_unread(self, whole: HandedList) -> bool:
        """Return whether models read documents of a list, but only those in one of its parts."""
        return any(
            any(document.read_in for document in part.documents)
            and not any(document.read_in for document in whole.documents - part.documents)
            for part in self._parts_of(whole)
        )

    def _ambiguous(self) -> str | None:
        """Return the reason why it is unknown which documents were used; None if it is known."""
        for whole in self._kept:
            if whole.unsaid and self._prompts.last_began < whole.step.began:
                return (
                    f"{whole.step.name} was given each document, and returned nothing: whether it "
                    "refused them is unknown, unless it returns an empty list"
                )
            if whole.unquoted_by and not all(document.read_in for document in whole.documents):
                return (
                    f"{whole.unquoted_by.name} returned a text without the documents that it "
                    "retrieved: whether any of them was used is unknown"
                )
            for part in self._parts_of(whole):
                if part.documents and not any(d.read_in for d in part.documents):
                    keys = " and ".join(sorted({_key(part), _key(whole)}))
                    return (
                        f"{part.step.name} returned some documents of a list beside the list "
                        f"({keys}): name the one that counts, or return it alone"
                    )
        return None

    def _failed(self, counting: Sequence[Step]) -> str:
        if not self._kept:
            alone = len({step.name for step in counting}) == 1 and not self._failures.recovered
            errors = [step.error or "" if alone else _failure(step) for step in counting]
            return "; ".join(dict.fromkeys(errors))
        number = sum(1 for _, call in self._calls() for _ in call.walk())
        reasons = "; ".join(dict.fromkeys(map(_failure, counting)))
        return (
            f"{len(counting)} of {number} calls failed ({reasons}): failed_calls='score' scores "
            "what the others returned"
        )

    def _dark_tools(self) -> list[str]:
        return list(
            dict.fromkeys(
                step.name
                for step in self._tree.steps
                if step.kind == "tool"
                and step.id not in self._failures.lost
                and step.id not in self._idle
                and step.id not in self._flow.touched
                and sum(map(len, step.texts)) >= _DARK
                and not self._flow.shown_in(step.texts)
            )
        )

    def _read(
        self, passages: Sequence[DocumentText], contexts: Sequence[Context]
    ) -> list[Read | None] | None:
        if not self._prompts.seen:
            return None
        folded = {piece: FoldedPrompt(piece) for piece in self._prompts.answering_pieces()}
        return [
            read_of(context, [folded[p] for p in passage.document.read_in if p in folded])
            for passage, context in zip(passages, contexts, strict=True)
        ]

    def _context(self, passage: DocumentText) -> Context:
        context = self._contexts.get(passage.number)
        if context is None:
            context = self._contexts[passage.number] = self._make(passage.copy, passage.document.id)
        return context

    def _call(self, handed: HandedList, depth: int = 0) -> Call:
        contexts = tuple(map(self._context, handed.passages))
        # A graph with a loop replaces its own list many times: bound the recursion.
        taken_lists = self._in_order(handed.taken) if depth < _DEPTH else []
        children = tuple(self._call(each, depth + 1) for each in taken_lists)
        step = handed.step
        reorders = self._reorders(handed)
        return Call(step.name, step.query, contexts, children=children, reorders=reorders)

    def _reorders(self, handed: HandedList) -> bool:
        """Return whether a step only reordered a list for the model's attention."""
        if len(handed.taken) != 1 or handed.step.reorders:
            return len(handed.taken) == 1
        lists = (handed.taken[0], handed)
        before, after = ([self._context(p) for p in each.passages] for each in lists)
        is_named = _REORDERING.search(handed.step.name) is not None
        return (is_named or len(after) >= _SURE) and _is_reordering(before, after)

    def _ranked(self, handed: HandedList, call: Call) -> Sequence[DocumentText]:
        """Return the passages of a call's contexts by rank."""
        passages = {id(self._context(passage)): passage for passage in handed.passages}
        return [passages[id(context)] for context in call.ranked or ()]


class _Calls:
    """The calls that retrieve, numbered from 1: of nested calls, only the outermost ones.

    Failed calls and searches without results are numbered too, since they also cost.
    """

    def __init__(self, tree: Tree, flow: FlowState, failures: Failures) -> None:
        self._tree = tree
        self._outermost: dict[Hashable, Step] = {}
        retrievers = [step for step in tree.steps if step.kind == "retriever"]
        sources = [step for passage in flow.retrieved for step in passage.document.sources]
        empty = [each.step for each in flow.outermost.lists if not each.passages]
        searches = [step for step in empty if step.kind == "tool"]
        steps = [*sources, *retrievers, *searches, *failures.counting, *failures.recovered]
        calls = {call.id: call for call in map(self._call, steps)}
        searching = {call.name for call in calls.values() if call.kind == "tool"}
        # Add the other calls of these tools: they had no readable results, but they cost too.
        calls |= {
            call.id: call
            for call in (self._call(step) for step in tree.steps if step.kind == "tool")
            if call.name in searching
        }
        self.empty = [
            call
            for call in calls.values()
            if call.kind == "tool" and call.id not in flow.touched and call.error is None
        ]
        """The calls of tools that neither returned documents nor failed."""
        ordered = sorted(calls, key=tree.positions.__getitem__)
        self._numbers = {call: number for number, call in enumerate(ordered, start=1)}

    def of(self, passage: DocumentText) -> tuple[int, float | None]:
        """Return the number of the first call that returned a document, and when the call ended."""
        calls = map(self._call, passage.document.sources)
        first = min(calls, key=lambda call: self._numbers[call.id])
        return self._numbers[first.id], first.seconds

    def is_call(self, step: Step) -> bool:
        """Return whether a step is, or is below, one of the numbered calls."""
        return self._call(step).id in self._numbers

    def in_order(self, passages: Iterable[DocumentText]) -> list[DocumentText]:
        """Return retrieved passages in the order of their calls."""
        positions = self._tree.positions
        return sorted(
            passages,
            key=lambda each: (self.of(each)[0], positions[each.document.sources[0].id]),
        )

    def _call(self, step: Step) -> Step:
        if step.id not in self._outermost:
            above = (over for over in self._tree.above(step) if over is not self._tree.root)
            calls = [over for over in above if over.kind in ("retriever", "tool")]
            self._outermost[step.id] = calls[-1] if calls else step
        return self._outermost[step.id]


def _empty_call(step: Step) -> Call:
    """Return a search without documents as a `Call`.

    Its contexts are () if the search returned an empty list, else None.
    """
    lists = [listed.documents for listed in step.returned]
    has_list = is_empty_list(step.result) or not all(lists)
    return Call(step.name, step.query, () if has_list else None)


def _other_ids(document: TrackedDocument) -> tuple[str, ...]:
    return tuple(own for own in document.ids if own != document.id)


def _part_ids(document: TrackedDocument) -> tuple[str, ...]:
    return tuple(own for part in document.parts for own in part.ids if own != document.id)


def _key(handed: HandedList) -> str:
    return ".".join(str(part) for part in handed.path if part is not ITEM) or "the output"


def _failure(step: Step) -> str:
    return f"{step.name}: {step.error}"


def _united(kept: Sequence[Sequence[DocumentText]]) -> tuple[list[DocumentText], list[int] | None]:
    """Return the passages of all lists, each document once at its best rank, and their ranks.

    For a single list, the ranks are None, since its order is the ranking.
    """
    if len(kept) == 1:
        return list(kept[0]), None
    # Separate calls have no common order: rank 1 of each call comes before rank 2 of any call.
    ranked = [
        (rank, number, passage)
        for number, passages in enumerate(kept)
        for rank, passage in enumerate(passages, start=1)
    ]
    first: dict[object, tuple[int, DocumentText]] = {}
    for rank, _, passage in sorted(ranked, key=lambda each: each[:2]):
        first.setdefault(passage.document, (rank, passage))
    return [passage for _, passage in first.values()], [rank for rank, _ in first.values()]


def _is_reordering(before: Sequence[Context], after: Sequence[Context]) -> bool:
    """Return whether a step only put the best contexts at both ends and the worst in the middle.

    LangChain's LongContextReorder does so for the model's attention: its order is not a ranking.
    """
    ordered: list[Context] = []
    for index, context in enumerate(reversed(before)):
        ordered.insert(len(ordered) if index % 2 else 0, context)
    return list(after) == ordered
