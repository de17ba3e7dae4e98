"""The options for reading recorded steps, which all entry points of an adapter share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, get_args

from fullrecall._util.parameters import check_choice
from fullrecall._util.parameters import listed as as_listed
from fullrecall.errors import InputError, ParameterError
from fullrecall.observe.failures import brief
from fullrecall.observe.record import Record, retrieval_of_one_search
from fullrecall.observe.step import ARTIFACT, DocumentCopy, DocumentList, Step
from fullrecall.observe.tree import Tree
from fullrecall.observe.turns import of_turn
from fullrecall.observe.values import ValueReader
from fullrecall.samples.context import Context
from fullrecall.samples.retrieval import FailedCalls, Retrieval

ToolDocuments: TypeAlias = Mapping[str, Callable[[Any], object]] | None
"""Functions by the name of a tool; each returns the documents in the tool's result."""


@dataclass(frozen=True, kw_only=True)
class StepReading:
    """The options for reading recorded steps.

    An adapter may override `documents_of` and `context_of`.

    - `failed_calls`: "unscored" (default) leaves a sample unscored where a call failed and no
      retry or fallback succeeded; "score" scores the contexts of the other calls, with a note.
    - `other_tools`: names of tools that return text but retrieve nothing. Any other tool that
      returns a long text without a known document leaves its sample unscored.
    - `tool_documents`: by the name of a tool, a function that returns the documents in its result,
      in any form that a retriever function may return.

    Raises `ParameterError`, which names the option, for an invalid value.
    """

    failed_calls: FailedCalls = "unscored"
    other_tools: Collection[str] = ()
    tool_documents: ToolDocuments = None

    def __post_init__(self) -> None:
        check_choice(self.failed_calls, "failed_calls", get_args(FailedCalls))
        functions = self.tool_documents or {}
        if not isinstance(functions, Mapping) or not all(map(callable, functions.values())):
            raise ParameterError(
                f"must be functions by the names of tools, got {self.tool_documents!r}",
                "tool_documents",
            )
        if isinstance(self.other_tools, str):
            raise ParameterError(
                f"must be several names, got {self.other_tools!r}: wrap it", "other_tools"
            )

    @property
    def changes_documents(self) -> bool:
        """Whether `documents_of` may return anything but the copy itself."""
        return False

    def documents_of(self, copy: DocumentCopy, rank: int) -> Iterable[DocumentCopy]:  # noqa: ARG002
        """Return the documents that replace this one: a copy with another ID, or its parts.

        `rank` is the document's 1-based position in the list.
        """
        return (copy,)

    def context_of(self, copy: DocumentCopy, id: str | None) -> Context:  # noqa: A002
        """Return a document as a context with this ID.

        A `Context` is only changed if its ID differs.
        """
        if isinstance(copy.detail, Context):
            own = copy.detail
            return own if own.id == id else replace(own, id=id)
        return Context(copy.text or (None if id else ""), id=id)

    def links_of(self, copy: DocumentCopy) -> Collection[str]:
        """Return the IDs in a document's metadata that may name other documents."""
        metadata = copy.detail.metadata if isinstance(copy.detail, Context) else {}
        return [value for value in metadata.values() if isinstance(value, str)]

    def record_of(
        self,
        steps: Iterable[Step],
        *,
        root: Hashable | None = None,
        question: str | None = None,
        part: Hashable | None = None,
        response: str | None = None,
        partial: str | None = None,
        unseen: str = "no retrieval was observed",
    ) -> Retrieval:
        """Return the retrieval of one call from its steps, in time linear in the steps.

        - `root`: the ID of the step that is the call itself; None for a block of calls.
        - `question`: the call's question; steps of the turns before it do not count.
        - `part`: the ID of a step; only this step and the steps that it called count. If it
          answers (`Step.answers`), the lists that it answered from count instead.
        - `response`: the application's answer.
        - `partial`: the reason why the record is incomplete; the sample is then unscored.
        - `unseen`: the error if no step returned documents.

        Raises `InputError` for documents that cannot be read, naming the step.
        """
        steps = of_turn(as_listed(steps, "steps", Step, "steps"), question, root)
        if self.tool_documents:
            steps = [self._with_hits(step) for step in steps]
        if self.changes_documents:
            steps = self._with_documents(steps)
        answering = None
        if part is not None:
            tree = Tree(steps, root)
            (step,) = (each for each in tree.steps if each.id == part)
            answering = part if step.answers else None
            before = (each for each in steps if each.began <= (step.ended or step.began))
            steps = list(tree.below(step) if answering is None else before)
        quick = (
            retrieval_of_one_search(steps, root, response, self.context_of)
            if partial is None
            else None
        )
        if quick is not None:
            return quick
        record = Record(
            steps,
            root,
            make=self.context_of,
            links_of=self.links_of,
            answering=answering,
            other_tools=self.other_tools,
        )
        error = partial or record.problem(self.failed_calls, unseen)
        return record.retrieval(response, error)

    def _with_hits(self, step: Step) -> Step:
        """Return a tool's step with the documents that the user's function finds in its result."""
        functions = self.tool_documents or {}
        read = functions.get(step.name) if step.kind == "tool" else None
        if read is None or step.error is not None or step.ended is None:
            return step
        try:
            documents = ValueReader().read_documents(read(step.result))
        except Exception as error:
            message = f"tool_documents[{step.name!r}]: {brief(error)}"
            raise InputError(message, field="retrieved_contexts") from error
        return replace(step, returned=(documents._replace(path=ARTIFACT),))

    def _with_documents(self, steps: Iterable[Step]) -> list[Step]:
        """Return steps in which `documents_of` has replaced each document; read each list once."""
        kept = list(steps)  # lists are identified by `id()`, so keep them alive
        lists: dict[int, DocumentList] = {}
        copies: dict[int, tuple[DocumentCopy, ...]] = {}
        for step in kept:
            for listed in (*step.given, *step.returned):
                if id(listed) not in lists:
                    lists[id(listed)] = self._changed(listed, step, copies)
        return [
            replace(
                step,
                given=tuple(lists[id(listed)] for listed in step.given),
                returned=tuple(lists[id(listed)] for listed in step.returned),
            )
            for step in kept
        ]

    def _changed(
        self, listed: DocumentList, step: Step, copies: dict[int, tuple[DocumentCopy, ...]]
    ) -> DocumentList:
        documents: list[DocumentCopy] = []
        for rank, copy in enumerate(listed.documents, start=1):
            if id(copy) not in copies:
                try:
                    copies[id(copy)] = tuple(self.documents_of(copy, rank))
                except InputError as error:
                    message = f"{step.kind} {step.name!r}: {error}"
                    raise InputError(message, field="retrieved_contexts") from error.__cause__
            documents += copies[id(copy)]
        return listed._replace(documents=tuple(documents))
