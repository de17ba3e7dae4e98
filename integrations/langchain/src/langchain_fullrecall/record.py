"""Make the record of a retrieval from the steps that LangChain reported."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from fullrecall import Context, Retrieval
from fullrecall._util.parameters import check_choice
from fullrecall.errors import ParameterError
from fullrecall.observe import DocumentCopy, Step, StepReading, ValueReader
from fullrecall.observe.failures import failures_of
from fullrecall.observe.tree import Tree
from fullrecall.observe.turns import of_turn
from fullrecall.samples.context import known_context
from langchain_fullrecall.documents import DocumentReader, Original
from langchain_fullrecall.outputs import declared

Level: TypeAlias = Literal["outermost", "innermost"]
"""The nested retriever calls that count: the outermost ones, whose documents are already merged or
reranked, or those without further calls inside.
"""


@dataclass(frozen=True, kw_only=True)
class LangChainReading(DocumentReader, StepReading):
    """How runs are read: the options that the evaluator, `observed` and captures share."""

    which: Level = "outermost"
    name: str | Sequence[str] = ()
    documents_key: str | None = None

    def __post_init__(self) -> None:
        DocumentReader.__post_init__(self)
        StepReading.__post_init__(self)
        check_choice(self.which, "which", get_args(Level))
        if not all(isinstance(each, str) and each for each in self.names):
            raise ParameterError(f"must be a str or several, got {self.name!r}", "name")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the calls that count; if empty, all calls count."""
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
        """Return the record of the retrieval in steps; `output` is the output of the step `root`.

        With `name` or `which="innermost"`, only the selected calls count. `unseen` is the error of
        a record without retrieval. Raises `InputError` for documents that cannot be read.
        """
        error = final = None
        steps = of_turn(steps, question, root)
        if isinstance(output, Mapping):
            error = output.get("retrieval_error")
            alone = all(step.id == root for step in steps)
            final = declared(output, self, self.documents_key, alone=alone)
        if self.label and self.documents_key is None:
            chosen = _selected(self.which, self.names, steps)
            unseen = _missing(self.names, steps) if self.names else unseen
            steps, root = chosen, None
        elif final is not None and root is not None:
            lists = ValueReader().read(final).lists
            steps = [
                replace(step, returned=lists, texts=()) if step.id == root else step
                for step in steps
            ]
        retrieval = self.record_of(
            steps, root=root, response=response, partial=partial, unseen=unseen
        )
        if isinstance(error, str) and not final:
            return Retrieval(calls=retrieval.calls, error=error, response=response)
        return retrieval.collapsed() if self.collapse else retrieval

    @property
    def label(self) -> str:
        """The selected calls, as a score's name shows them; "" if all outermost calls count."""
        return ",".join([*self.names, *(["innermost"] if self.which == "innermost" else [])])

    @property
    def changes_documents(self) -> bool:
        """Whether `id_key` gives documents other IDs than their own."""
        return self.id_key is not None

    def documents_of(self, copy: DocumentCopy, rank: int) -> tuple[DocumentCopy]:  # noqa: ARG002
        """Return a document, alone in a tuple, with the ID that `id_key` names."""
        own = copy.detail
        if isinstance(own, Original):
            return (copy._replace(id=self.id_of(copy.text, own)),)
        # A tool's hit is a `Context`. It keeps its own ID, unless `id_key` names one of its fields.
        metadata = dict(own.metadata) if isinstance(own, Context) else {}
        fields = Original(copy.id, metadata=metadata)
        named = None if callable(self.id_key) else self.id_of(copy.text, fields)
        return (copy if named is None else copy._replace(id=named),)

    def context_of(self, copy: DocumentCopy, id: str | None) -> Context:  # noqa: A002
        """Return a document as a context with the ID `id`."""
        own = copy.detail
        if isinstance(own, Original):
            if own.place or type(copy.text) is not str:
                return self.context(copy.text, id, own)
            return known_context(copy.text, id or None, own.score, own.metadata)
        return super().context_of(copy, id)


def _selected(level: Level, names: Sequence[str], steps: Sequence[Step]) -> list[Step]:
    """Return the selected calls of retrievers and tools, as steps without `parent` and `given`.

    Failed calls are included, unless a retry or a fallback succeeded. `level` chooses among nested
    calls. `names` are the names of the calls that count; if there are none, all calls count.
    """
    tree = Tree(steps)
    good = failures_of(tree).recovered
    gone = {below.id for step in good for below in tree.below(step)}
    calls = [s for s in _calls(steps) if s.id not in gone and (s.error or s.returned)]
    meant = [step for step in calls if not names or step.name in names]
    meant_ids = {step.id for step in meant}
    if level == "outermost":
        nested = {s.id for s in meant if any(over.id in meant_ids for over in tree.above(s))}
    else:
        nested = {over.id for step in meant for over in tree.above(step)}
    return [replace(s, parent=None, given=()) for s in meant if s.id not in nested]


def _missing(names: Sequence[str], steps: Sequence[Step]) -> str:
    """Return the reason why no call is selected: no retriever was called, or none has the name."""
    called_names = dict.fromkeys(step.name for step in _calls(steps))
    if not called_names:
        return "no retriever was called"
    chosen = " or ".join(map(repr, names))
    return f"no retriever is named {chosen}: choose one of {', '.join(map(repr, called_names))}"


def _calls(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.kind in ("retriever", "tool")]
