"""From the steps that LangChain reported to the record of a retrieval."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from fullrecall import Context, Retrieval
from fullrecall._util.parameters import check_choice
from fullrecall.errors import InputError, ParameterError
from fullrecall.observe import DocumentCopy, Step, StepReading, ToolDocuments, ValueReader, brief
from fullrecall.observe.turns import of_turn
from fullrecall.samples.retrieval import FailedCalls
from langchain_fullrecall.documents import DocumentIdKey, DocumentReader, Original
from langchain_fullrecall.outputs import declared, declared_error
from langchain_fullrecall.selection import Level, missing, selected


def reading_of(
    *,
    id_key: DocumentIdKey = None,
    collapse: bool = False,
    which: Level = "outermost",
    name: str | Sequence[str] = (),
    failed_calls: FailedCalls = "unscored",
    other_tools: Collection[str] = (),
    tool_documents: ToolDocuments = None,
    documents_key: str | None = None,
) -> LangChainReading:
    """Return options as one value; raise `ParameterError`, naming the option, for a wrong one."""
    check_choice(which, "which", get_args(Level))
    names = (name,) if isinstance(name, str) else tuple(name)
    if not all(isinstance(each, str) and each for each in names):
        raise ParameterError(f"must be a str or several, got {name!r}", "name")
    return LangChainReading(
        reader=DocumentReader(id_key, collapse),
        level=which,
        names=names,
        failed_calls=failed_calls,
        other_tools=other_tools,
        tool_documents=tool_documents or {},
        documents_key=documents_key,
    )


@dataclass(frozen=True, kw_only=True)
class LangChainReading(StepReading):
    """How runs are read: the options that the evaluator, `observed` and captures share."""

    reader: DocumentReader
    level: Level = "outermost"
    names: tuple[str, ...] = ()
    documents_key: str | None = None

    def retrieval(
        self,
        steps: Sequence[Step],
        output: Any = None,
        *,
        root: Hashable | None = None,
        question: str | None = None,
        response: str | None = None,
        partial: str | None = None,
        unseen: str = "no retriever was called",
    ) -> Retrieval:
        """Return what steps and the output of their root say was retrieved.

        A selection other than that of all outermost calls asks for these calls alone. `unseen` is
        the error where nothing was retrieved. Raises `InputError` for documents that cannot be
        read.
        """
        error = final = None
        steps = of_turn(steps, question, root)
        if isinstance(output, Mapping):
            error = declared_error(output)
            alone = all(step.id == root for step in steps)
            final = declared(output, self.reader, self.documents_key, alone=alone)
        if self.label and self.documents_key is None:
            chosen = selected(self.level, self.names, steps)
            unseen = missing(self.names, steps) if self.names else unseen
            steps, root = chosen, None
        elif final is not None and root is not None:
            steps = [_declaring(step, final) if step.id == root else step for step in steps]
        retrieval = self.record_of(
            steps, root=root, response=response, partial=partial, unseen=unseen
        )
        if error is not None and not final:
            return Retrieval(calls=retrieval.calls, error=error, response=response)
        return self._collapsed(retrieval)

    @property
    def label(self) -> str:
        """What tells a score of selected calls from others: empty for all outermost calls."""
        return ",".join([*self.names, *(["innermost"] if self.level == "innermost" else [])])

    @property
    def changes_documents(self) -> bool:
        """Whether documents get other IDs than their own."""
        return self.reader.id_key is not None

    def documents_of(self, copy: DocumentCopy, rank: int) -> tuple[DocumentCopy]:  # noqa: ARG002
        """Return a document with the ID that `id_key` names."""
        if isinstance(copy.detail, Original):
            copy = copy._replace(id=self.reader.id_of(copy.text, copy.detail))
        return (copy,)  # a context has the ID that whoever made it gave it

    def context_of(self, copy: DocumentCopy, id: str | None) -> Context:  # noqa: A002
        """Return a document as a context of this ID."""
        own = copy.detail
        if isinstance(own, Original):
            return self.reader.context(copy.text, id, own)
        return super().context_of(copy, id)

    def _collapsed(self, retrieval: Retrieval) -> Retrieval:
        """Return a retrieval in which each ID counts once, if this reading collapses them."""
        return retrieval.collapsed() if self.reader.collapse else retrieval


def _declaring(root: Step, contexts: Sequence[Context]) -> Step:
    """Return the call itself with the list that its output declares in the place of all others."""
    reader = ValueReader()
    return replace(root, returned=reader.read(list(contexts)).lists, texts=())


def reason(error: Exception) -> str:
    """Return why something cannot be read: input errors speak for themselves, others are named."""
    return str(error) if isinstance(error, InputError) else brief(error)
