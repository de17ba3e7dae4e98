"""Make the record of a retrieval from the steps that LangChain reported."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

from fullrecall import Context, Retrieval
from fullrecall._util.parameters import check_choice
from fullrecall.errors import InputError, ParameterError
from fullrecall.observe import DocumentCopy, Step, StepReading, ValueReader, brief
from fullrecall.observe.turns import of_turn
from langchain_fullrecall.documents import DocumentIdKey, DocumentReader, Original
from langchain_fullrecall.outputs import declared, declared_error
from langchain_fullrecall.selection import Level, missing, selected


@dataclass(frozen=True, kw_only=True)
class LangChainReading(StepReading):
    """How runs are read: the options that the evaluator, `observed` and captures share."""

    id_key: DocumentIdKey = None
    collapse: bool = False
    which: Level = "outermost"
    name: str | Sequence[str] = ()
    documents_key: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.which, "which", get_args(Level))
        if not all(isinstance(each, str) and each for each in self.names):
            raise ParameterError(f"must be a str or several, got {self.name!r}", "name")
        assert self.reader  # noqa: S101 - made now, so that a wrong id_key raises

    @cached_property
    def reader(self) -> DocumentReader:
        """How a document is read as a context."""
        return DocumentReader(self.id_key, self.collapse)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the calls that count; without names all count."""
        return (self.name,) if isinstance(self.name, str) else tuple(self.name)

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
        """Return the record of the retrieval in steps and the output of their root.

        With `name` or `which="innermost"`, only the selected calls count. `unseen` is the error of
        a record without retrieval. Raises `InputError` for documents that cannot be read.
        """
        error = final = None
        steps = of_turn(steps, question, root)
        if isinstance(output, Mapping):
            error = declared_error(output)
            alone = all(step.id == root for step in steps)
            final = declared(output, self.reader, self.documents_key, alone=alone)
        if self.label and self.documents_key is None:
            chosen = selected(self.which, self.names, steps)
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
        """The selection of calls, for the name of a score: empty for all outermost calls."""
        return ",".join([*self.names, *(["innermost"] if self.which == "innermost" else [])])

    @property
    def changes_documents(self) -> bool:
        """Whether `id_key` gives documents other IDs than their own."""
        return self.reader.id_key is not None

    def documents_of(self, copy: DocumentCopy, rank: int) -> tuple[DocumentCopy]:  # noqa: ARG002
        """Return a document with the ID that `id_key` names."""
        own = copy.detail
        if isinstance(own, Original):
            return (copy._replace(id=self.reader.id_of(copy.text, own)),)
        # A context has the ID of its maker; a tool's hit may have the key among its fields.
        metadata = dict(own.metadata) if isinstance(own, Context) else {}
        fields = Original(copy.id, None, metadata, {})
        named = None if callable(self.id_key) else self.reader.id_of(copy.text, fields)
        return (copy if named is None else copy._replace(id=named),)

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
    """Return the root step with only the contexts that its output declares."""
    reader = ValueReader()
    return replace(root, returned=reader.read(list(contexts)).lists, texts=())


def reason(error: Exception) -> str:
    """Return an error as a reason: the message of an `InputError`, any other with its type."""
    return str(error) if isinstance(error, InputError) else brief(error)
