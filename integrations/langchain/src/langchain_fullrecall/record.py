"""From the steps that LangChain reported to the record of a retrieval."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullrecall import Context, Retrieval
from fullrecall.errors import InputError
from fullrecall.retrieval import FailedCalls
from fullrecall.steps import (
    DocumentCopy,
    DocumentList,
    Step,
    ValueReader,
    plain_context,
    retrieval_of,
)
from langchain_fullrecall.documents import DocumentReader, Original
from langchain_fullrecall.outputs import declared, declared_error, declares_nothing
from langchain_fullrecall.recorder import brief
from langchain_fullrecall.selection import OUTERMOST, Selection, missing, selected


@dataclass(frozen=True)
class Reading:
    """How runs are read: the options that the evaluator, `observed` and captures share."""

    reader: DocumentReader
    selection: Selection = OUTERMOST
    failed_calls: FailedCalls = "unscored"
    other_tools: Collection[str] = ()
    documents_key: str | None = None

    def retrieval(
        self,
        steps: Sequence[Step],
        output: Any = None,
        *,
        root: Hashable | None = None,
        response: str | None = None,
        partial: str | None = None,
        unseen: str = "no retriever was called",
    ) -> Retrieval:
        """Return what steps and the output of their root say was retrieved.

        A selection other than that of all outermost calls asks for these calls alone. `unseen` is
        the error where nothing was retrieved. Raises `InputError` for documents that cannot be
        read.
        """
        error = declared_error(output)
        alone = all(step.id == root for step in steps)
        final = declared(output, self.reader, self.documents_key, alone=alone)
        if self.selection != OUTERMOST and self.documents_key is None:
            chosen = selected(self.selection, steps)
            unseen = missing(self.selection, steps) if self.selection.filters else unseen
            steps, root = chosen, None
        elif final is not None and root is not None:
            steps = [_declaring(step, final) if step.id == root else step for step in steps]
        found = retrieval_of(
            identified(steps, self.reader),
            root=root,
            response=response,
            context=self._context,
            failed_calls=self.failed_calls,
            other_tools=self.other_tools,
            partial=partial,
            unseen=unseen,
        )
        if error is not None and not final:
            return Retrieval(calls=found.calls, error=error, response=response)
        if found.error == unseen and declares_nothing(output):
            return Retrieval((), response=response)
        return self._collapsed(found)

    def _context(self, copy: DocumentCopy, id: str | None) -> Context:  # noqa: A002
        if isinstance(copy.detail, Original):
            return self.reader.context(copy.text, id, copy.detail)
        return plain_context(copy, id)

    def _collapsed(self, found: Retrieval) -> Retrieval:
        """Return a retrieval in which each ID counts once, if this reading collapses them."""
        if not self.reader.collapse or found.contexts is None:
            return found
        contexts = self.reader.collapsed(found.contexts)
        if len(contexts) == len(found.contexts):
            return found
        first: dict[object, int] = {}
        for place, context in enumerate(found.contexts):
            first.setdefault(place if context.id is None else context.id, place)

        def kept(values: Sequence[Any] | None) -> list[Any] | None:
            return None if values is None else [values[place] for place in first.values()]

        return Retrieval(
            contexts,
            calls=found.calls,
            ranks=kept(found.ranks),
            response=found.response,
            read=kept(found.read),
            error=found.error,
            retrieved=found.retrieved,
            call_numbers=kept(found.call_numbers),
            seconds=kept(found.seconds),
        )


def identified(steps: Iterable[Step], reader: DocumentReader) -> list[Step]:
    """Return steps whose documents have the IDs that `id_key` names.

    Raises `InputError`, naming the step, where it names none.
    """
    if reader.id_key is None:
        return list(steps)
    lists: dict[int, DocumentList] = {}
    copies: dict[int, DocumentCopy] = {}

    def named(copy: DocumentCopy) -> DocumentCopy:
        known = copies.get(id(copy))
        if known is None:
            known = copies[id(copy)] = copy._replace(id=_id(copy, reader))
        return known

    def renamed(given: tuple[DocumentList, ...]) -> tuple[DocumentList, ...]:
        for each in given:
            if id(each) not in lists:
                lists[id(each)] = each._replace(documents=tuple(map(named, each.documents)))
        return tuple(lists[id(each)] for each in given)

    found = []
    for step in steps:
        try:
            found.append(replace(step, given=renamed(step.given), returned=renamed(step.returned)))
        except InputError as error:
            message = f"{step.kind} {step.name!r}: {error}"
            raise InputError(message, field="retrieved_contexts") from None
    return found


def _id(copy: DocumentCopy, reader: DocumentReader) -> str | None:
    if isinstance(copy.detail, Original):
        return reader.id_of(copy.text, copy.detail)
    return copy.id  # a context has the ID that whoever made it gave it


def _declaring(root: Step, contexts: Sequence[Context]) -> Step:
    """Return the call itself with the list that its output declares in the place of all others."""
    reader = ValueReader()
    return replace(root, returned=reader.read(list(contexts)).lists, texts=())


def reason(error: Exception) -> str:
    """Return why something cannot be read: input errors speak for themselves, others are named."""
    return str(error) if isinstance(error, InputError) else brief(error)
