"""What each stage of a LangChain retrieval handed on, seen in the very call that is measured.

Nested retrievers report themselves by callbacks, whatever nests them. What fires none, the steps of
a pipeline of compressors and the chunks that a multi-vector retriever searches, is watched by
observers on a copy of the retriever: the user's own object stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, Callbacks
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable

from fullrecall import Context, InputError, Stage
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.rebuilding import rebuilt

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

T = TypeVar("T")

_SEQUENCE, _CHILD = "seq:step:", "retriever_"
"""Tags by which LangChain numbers the steps of a sequence and the children of an ensemble."""

_PASS_ON = ("RunnableWithFallbacks", "RunnableBranch")
"""Runs that return what one run below them returned."""

_SEARCHES = frozenset(
    f"{a}{search}"
    for a in ("", "a")
    for search in (
        "similarity_search",
        "max_marginal_relevance_search",
        "similarity_search_with_score",
        "similarity_search_with_relevance_scores",
    )
)


@dataclass(eq=False)
class _Run:
    """One run of the framework, or one step that an observer saw inside of it.

    `contexts` are what it returned, as neutral snapshots (the ID is `Document.id`); None where it
    failed, goes on still, or returned something else. `asked` is its input. `chunk_key` is where
    the chunks of a multi-vector retriever hold the ID of their document. `outer` is the retriever
    run that went on when this one started.
    """

    name: str
    tags: Sequence[str] = ()
    kind: str = "chain"
    children: list[_Run] = field(default_factory=list)
    contexts: list[Context] | None = None
    failed: bool = False
    chunk_key: str | None = None
    asked: Any = None
    parent: _Run | None = None
    outer: _Run | None = None
    ended: bool = False

    @property
    def maps(self) -> bool:
        """Whether this asks the same retriever one question after the other: `.map()`."""
        return self.name.startswith("RunnableEach") and isinstance(self.asked, list)

    def stands_below(self, other: _Run) -> bool:
        """Return whether this run was called by another one, however far above."""
        above = self.parent
        while above is not None and above is not other:
            above = above.parent
        return above is other

    def number(self, tag: str) -> int | None:
        """Return the number behind a tag of LangChain's, None where the run has no such tag."""
        numbers = (name.removeprefix(tag) for name in self.tags if name.startswith(tag))
        return next((int(number) for number in numbers if number.isdigit()), None)


_inside: ContextVar[_Run | None] = ContextVar("inside", default=None)
"""The retriever run that started last here: what observers see belongs to it, or, where it has
ended, to the one that went on around it. (LangChain tells of an end in a task of its own, from
where this cannot be set back.)"""


def _going_on() -> _Run | None:
    run = _inside.get()
    while run is not None and run.ended:
        run = run.outer
    return run


class RetrievalTrace(BaseCallbackHandler):
    """A callback handler that follows one call of a retriever, and knows its stages afterwards."""

    # Called where the run itself goes on, not in a task or thread beside it: what `_inside` is
    # set to here is what observers find there.
    run_inline = True
    ignore_llm = True
    ignore_chat_model = True

    def __init__(self) -> None:
        self._runs: dict[UUID, _Run] = {}
        self._first: _Run | None = None

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,  # noqa: ARG002 - LangChain's signature
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note where a chain stands among the runs."""
        self._started("chain", run_id, parent_run_id, tags, kwargs).asked = inputs

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a chain returned, if that may be documents."""
        if isinstance(outputs, list) and all(isinstance(item, Document) for item in outputs):
            self._ended(run_id, outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Note that a chain failed."""
        self._failed(run_id)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,  # noqa: ARG002
        input_str: str,  # noqa: ARG002
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note where a tool stands among the runs."""
        self._started("tool", run_id, parent_run_id, tags, kwargs)

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,  # noqa: ARG002
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note where a retriever stands among the runs."""
        run = self._started("retriever", run_id, parent_run_id, tags, kwargs)
        run.asked, run.outer = query, _going_on()
        _inside.set(run)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a retriever brought."""
        self._ended(run_id, documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Note that a retriever failed."""
        self._failed(run_id)

    def stages(self, reader: DocumentReader) -> list[Stage]:
        """Return what each stage handed on, in the order of the pipeline, read by `reader`.

        A stage is a retriever that another one or a chain made use of, a step of a sequence that
        turned documents into documents, a step of a pipeline of compressors, or the search for
        the chunks of a multi-vector retriever. It is called by its run's name: that of its class,
        unless it was given a name. Where several of one name are called by one retriever,

        - those of a multi-query retriever (or `.map()`) are "… query 1", "… query 2";
        - those of an ensemble or a merger are "EnsembleRetriever[0]", "EnsembleRetriever[1]";
        - any others, and steps of one kind, get a number from the second one on.

        What returned the final list is no stage. Raises `InputError` as `reader` does.
        """
        if self._first is None:
            return []
        plan = _Plan(_ends(self._first))
        plan.follow(self._first, _Place())
        return [
            Stage(name, tuple(_reader_of(run, reader).contexts(run.contexts or ())), into)
            for name, run, into in plan.named()
        ]

    def _started(
        self,
        kind: str,
        run_id: UUID,
        parent: UUID | None,
        tags: Sequence[str] | None,
        fields: dict[str, Any],
    ) -> _Run:
        run = self._runs[run_id] = _Run(fields.get("name") or kind, tuple(tags or ()), kind)
        if self._first is None:
            self._first = run
            return run
        # `with_fallbacks` calls what it wraps with no parent to tell of.
        told = self._first if parent is None else self._runs.get(parent, self._first)
        # `with_config` tells of what stands around the retriever that calls it.
        inside = _going_on()
        run.parent = inside if inside is not None and inside.stands_below(told) else told
        run.parent.children.append(run)
        return run

    def _ended(self, run_id: UUID, documents: Any) -> None:
        if run_id in self._runs:
            run = self._runs[run_id]
            run.contexts, run.ended = _snapshot(documents), True

    def _failed(self, run_id: UUID) -> None:
        if run_id in self._runs:
            run = self._runs[run_id]
            run.failed = run.ended = True


class _Place(NamedTuple):
    """Where a stage stands: below which retriever, as which of its children, as one of its queries.

    `above` is None below a chain that no retriever called.
    """

    above: _Run | None = None
    number: int | None = None
    query: bool = False


class _Plan:
    """The stages of one call in the order of the pipeline, each with where its documents went."""

    def __init__(self, ends: Sequence[_Run]) -> None:
        self._ends = ends
        self._order: list[tuple[_Run, _Place]] = []
        self._into: dict[int, _Run] = {}

    def follow(self, run: _Run, place: _Place, *, after: bool = False) -> list[_Run]:
        """Return the stages whose documents a run hands on: itself, or what stands open below it.

        `after` is whether the run follows a retriever in a sequence, so that a list of documents
        which it returns was made of documents.
        """
        below = _Place(run, query="MultiQuery" in run.name) if run.kind == "retriever" else place
        opened: list[_Run] = []
        for child in _ordered(run):
            serial = child.kind == "step" or _step_number(run, child) is not None
            number = child.number(_CHILD)
            found = self.follow(
                child,
                below._replace(
                    number=below.number if number is None else number,
                    query=below.query or run.maps,
                ),
                after=serial and bool(opened),
            )
            if serial and found == [child]:
                self._hand_on(opened, child)
                opened = found
            else:
                opened += found
        if any(run is end for end in self._ends) or not _is_stage(run, after=after):
            return opened
        self._hand_on(opened, run)
        self._order.append((run, place))
        return [run]

    def named(self) -> list[tuple[str, _Run, str | None]]:
        """Return each stage's name, run, and the name of the stage that its documents went into."""
        names: dict[int, str] = {}
        counts = Counter((id(place.above), run.name) for run, place in self._order)
        seen: Counter[tuple[int, str]] = Counter()
        for run, place in self._order:
            kind = (id(place.above), run.name)
            seen[kind] += 1
            name = run.name
            if place.query and run.kind == "retriever":
                name = f"{run.name} query {seen[kind]}"
            elif counts[kind] > 1 and place.number is not None and place.above is not None:
                name = f"{place.above.name}[{place.number - 1}]"
            elif seen[kind] > 1:
                name = f"{run.name} {seen[kind]}"
            names[id(run)] = name
        self._distinguish(names)
        return [
            (names[id(run)], run, names[id(self._into[id(run)])] if id(run) in self._into else None)
            for run, _ in self._order
        ]

    def _distinguish(self, names: dict[int, str]) -> None:
        """Put the name of what is around it before a name that two stages have."""
        taken: set[str] = set()
        for run, (above, *_) in self._order:
            name = names[id(run)]
            if name in taken and above is not None:
                name = f"{names.get(id(above), above.name)} / {name}"
            base, nth = name, 1
            while name in taken:
                nth += 1
                name = f"{base} {nth}"
            taken.add(name)
            names[id(run)] = name

    def _hand_on(self, opened: Sequence[_Run], into: _Run) -> None:
        for run in opened:
            self._into[id(run)] = into


def _is_stage(run: _Run, *, after: bool) -> bool:
    if run.contexts is None or run.failed:
        return False
    return run.kind in ("retriever", "step") or (after and run.kind == "chain")


def _step_number(run: _Run, child: _Run) -> int | None:
    """Return which step of a sequence a run below `run` is, None where that is no sequence.

    A retriever in a sequence may hand its own tag on to what it asks.
    """
    return child.number(_SEQUENCE) if run.kind == "chain" else None


def _ordered(run: _Run) -> list[_Run]:
    """Return the runs below one that did not fail, in their order in the pipeline.

    That of their tags or questions, else that in which they started: children of an ensemble are
    asked at the same time. Steps that observers saw come behind the retriever whose documents they
    take.
    """

    def place(child: _Run) -> tuple[bool, int]:
        numbers = (_step_number(run, child), child.number(_CHILD))
        asked = run.asked.index(child.asked) if run.maps and child.asked in run.asked else 0
        return child.kind == "step", next((n for n in numbers if n is not None), asked)

    return sorted((child for child in run.children if not child.failed), key=place)


def _ends(run: _Run) -> list[_Run]:
    """Return the runs whose output is the final list: the first, and what it passes on as it is."""
    ends = [run]
    while below := _ordered(ends[-1]):
        end, last = ends[-1], below[-1]
        sequence = all(_step_number(end, child) is not None for child in below)
        # A retry has the name of what it tries.
        passed_on = end.name in _PASS_ON or (end.kind == "chain" and end.name == last.name)
        if not (sequence or passed_on):
            break
        ends.append(last)
    return ends


def _snapshot(documents: Any) -> list[Context] | None:
    """Return documents as contexts: the list itself is alive, and may change any time."""
    try:
        return DocumentReader().contexts(
            item[0] if isinstance(item, tuple) else item for item in documents
        )
    except (InputError, TypeError):
        return None


def _reader_of(run: _Run, reader: DocumentReader) -> DocumentReader:
    # The ID of a chunk is never that of its document: the key of the docstore is the nearest.
    if run.chunk_key is None or reader.id_key is not None:
        return reader
    return replace(reader, id_key=run.chunk_key)


def observed(retriever: Runnable[str, T]) -> Runnable[str, T]:
    """Return a retriever that does the same, with observers where no callback tells of a stage.

    Retrievers are found where `rebuilt` looks for them: in fields of others and in chains, however
    deep, and not in functions.
    """
    return rebuilt(retriever, _exchanged)


def _exchanged(value: Any, name: str | None, owner: Any) -> Any:
    if isinstance(owner, BaseRetriever) and name == "base_compressor":
        return _steps_observed(value)
    if isinstance(owner, BaseRetriever) and name == "vectorstore" and hasattr(owner, "docstore"):
        return _ObservedStore(value, getattr(owner, "id_key", None) or "doc_id")
    return value


def _steps_observed(compressor: Any) -> Any:
    """Return a pipeline of compressors with all of its steps observed but the last one.

    What the last one returns is what the retriever returns.
    """
    steps = getattr(compressor, "transformers", None)
    if not isinstance(compressor, BaseDocumentCompressor) or not isinstance(steps, list):
        return compressor
    inner = [_steps_observed(step) for step in steps]
    watched = [_step_observed(step, type(step).__name__) for step in inner[:-1]]
    return compressor.model_copy(update={"transformers": [*watched, *inner[-1:]]})


def _step_observed(step: Any, name: str) -> Any:
    if isinstance(step, BaseDocumentCompressor):
        return _CompressorStep.model_construct(inner=step, called=name)
    return _TransformerStep(step, name)


class _CompressorStep(BaseDocumentCompressor):
    """A compressor whose output is noted."""

    inner: Any
    called: str

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        compress = self.inner.compress_documents
        given = {"callbacks": callbacks} if _takes_callbacks(compress) else {}
        return _noted(compress(documents, query, **given), self.called)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        compress = self.inner.acompress_documents
        given = {"callbacks": callbacks} if _takes_callbacks(compress) else {}
        return _noted(await compress(documents, query, **given), self.called)


class _TransformerStep(BaseDocumentTransformer):
    """A transformer of documents whose output is noted."""

    def __init__(self, inner: BaseDocumentTransformer, called: str) -> None:
        self._inner = inner
        self._called = called

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        return _noted(self._inner.transform_documents(documents, **kwargs), self._called)

    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        return _noted(await self._inner.atransform_documents(documents, **kwargs), self._called)


class _ObservedStore:
    """A vector store whose searches are noted; everything else is the store's own."""

    def __init__(self, store: VectorStore, chunk_key: str) -> None:
        self._store = store
        self._chunk_key = chunk_key

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return _watched(found, self._chunk_key) if name in _SEARCHES else found


def _watched(search: Callable[..., Any], chunk_key: str) -> Callable[..., Any]:
    if iscoroutinefunction(search):

        @wraps(search)
        async def asearched(*args: Any, **kwargs: Any) -> Any:
            return _noted(await search(*args, **kwargs), "chunks", chunk_key)

        return asearched

    @wraps(search)
    def searched(*args: Any, **kwargs: Any) -> Any:
        return _noted(search(*args, **kwargs), "chunks", chunk_key)

    return searched


def _noted(documents: T, name: str, chunk_key: str | None = None) -> T:
    """Return `documents`, and tell the retriever run that is going on of them."""
    run = _going_on()
    if run is None:
        return documents
    if chunk_key is not None:
        # A search may be made of another one: the last to end is the one that was asked for.
        run.children = [child for child in run.children if child.chunk_key is None]
        name = f"{run.name} {name}"
    contexts = _snapshot(documents)
    run.children.append(_Run(name, kind="step", chunk_key=chunk_key, contexts=contexts))
    return documents


def _takes_callbacks(compress: Callable[..., Any]) -> bool:
    return "callbacks" in signature(compress).parameters
