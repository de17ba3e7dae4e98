"""What retrievers bring while an application runs, seen by callbacks: no tracing is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

import fullrecall
from fullrecall import Context, Sample
from langchain_fullrecall.calls import RetrieverCall, snapshot
from langchain_fullrecall.documents import DocumentReader, IdKey
from langchain_fullrecall.retrieval import Retrieval, brief
from langchain_fullrecall.selection import Level, Selection, as_selection


@dataclass(slots=True)
class _Seen:
    """A retriever run while it runs."""

    name: str
    query: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    contexts: tuple[Context, ...] | None = None
    error: str | None = None
    problem: str | None = None
    below: list[UUID] = field(default_factory=list)


class RetrievalHandler(BaseCallbackHandler):
    """A LangChain callback handler that keeps what every retriever below it brought.

    `chain.invoke(question, {"callbacks": [handler]})`, or `capture_retrievals()` without any
    change of the application. One handler sees one question: of a `batch` give each input its
    own, `chain.batch(questions, [{"callbacks": [handler]} for handler in handlers])`.

    IDs, texts and metadata are copied at the moment at which the retriever returns. `id_key`,
    `source_key` and `collapse` say how documents are read, as in `contexts`; `which` says which
    of several and of nested calls count: a level or a `Selection`. Safe under threads.
    """

    run_inline = True  # an async manager would otherwise call it from a thread, some time later

    def __init__(
        self,
        *,
        id_key: IdKey = None,
        source_key: str | None = None,
        collapse: bool = False,
        which: Level | Selection = "outermost",
    ) -> None:
        self._reader = DocumentReader(id_key, source_key, collapse)
        self._selection = as_selection(which)
        self._lock = Lock()
        self._seen: dict[UUID, _Seen] = {}
        self._roots: list[UUID] = []
        self._above: dict[UUID, UUID | None] = {}
        self._outer: RetrievalHandler | None = None

    @property
    def ignore_llm(self) -> bool:
        """Whether language models are no concern of this handler: they are none."""
        return True

    @property
    def ignore_chat_model(self) -> bool:
        """Whether chat models are no concern of this handler: they are none."""
        return True

    @property
    def calls(self) -> tuple[RetrieverCall, ...]:
        """The outermost calls until now, each with those below it, in the order of their start."""
        with self._lock:
            return tuple(map(self._call, self._roots))

    def retrieval(self) -> Retrieval:
        """Return what counts of what was seen, or why there is nothing."""
        return self._selection.retrieval(self.calls, self._reader)

    def contexts(self) -> list[Context] | None:
        """Return what was retrieved, best first: an empty list where that was nothing.

        None where no retriever was called or all calls failed: `sample` keeps the reason. Raises
        `InputError` for what cannot be read as documents.
        """
        contexts = self.retrieval().contexts
        return None if contexts is None else list(contexts)

    def sample(self, sample: Sample | Mapping[str, Any] | None = None, /, **fields: Any) -> Sample:
        """Return a sample, or the one with these fields, with what was retrieved.

        Where nothing can be measured its `retrieval_error` says why. `response` and all other
        fields are those of `Sample`. Raises `InputError` for what makes no sample.
        """
        given = sample if isinstance(sample, Sample) else Sample(**{**(sample or {}), **fields})
        if isinstance(sample, Sample) and fields:
            given = Sample(**{**sample.to_dict(), **fields})
        seen = self.retrieval()
        return given.with_retrieval(
            fullrecall.Retrieval(seen.contexts, error=seen.error or seen.unseen)
        )

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a call. A retriever of the user's own may be called by no name."""
        name = kwargs.get("name") or (serialized or {}).get("name") or "retriever"
        call = _Seen(name, query, tuple(tags or ()), dict(metadata or {}))
        with self._lock:
            if run_id in self._seen:  # it was handed this handler twice
                return
            self._above[run_id] = parent_run_id
            self._seen[run_id] = call
            caller = self._caller(parent_run_id)
            (self._roots if caller is None else self._seen[caller].below).append(run_id)
        if self._outer is not None:
            self._outer.on_retriever_start(
                serialized, query, run_id=run_id, parent_run_id=parent_run_id,
                tags=tags, metadata=metadata, **kwargs,
            )  # fmt: skip

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Copy what a call brought."""
        contexts, problem = snapshot(documents)
        with self._lock:
            call = self._seen.get(run_id)
            if call is not None:
                call.contexts, call.problem = contexts, problem
        if self._outer is not None:
            self._outer.on_retriever_end(documents, run_id=run_id, **kwargs)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Note that a call failed."""
        with self._lock:
            call = self._seen.get(run_id)
            if call is not None:
                call.error = brief(error)
        if self._outer is not None:
            self._outer.on_retriever_error(error, run_id=run_id, **kwargs)

    def on_chain_start(
        self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Note what stands between a retriever and the one that called it."""
        with self._lock:
            self._above[run_id] = parent_run_id
        if self._outer is not None:
            self._outer.on_chain_start(*args, run_id=run_id, parent_run_id=parent_run_id, **kwargs)

    on_tool_start = on_chain_start

    def _caller(self, run_id: UUID | None) -> UUID | None:
        """Return the retriever run that a run stands in, None for none."""
        while run_id is not None and run_id not in self._seen:
            run_id = self._above.get(run_id)
        return run_id

    def _call(self, run_id: UUID) -> RetrieverCall:
        seen = self._seen[run_id]
        return RetrieverCall(
            seen.name,
            seen.query,
            seen.contexts,
            seen.error,
            seen.problem,
            seen.tags,
            seen.metadata,
            tuple(map(self._call, seen.below)),
        )


_capturing: ContextVar[RetrievalHandler | None] = ContextVar("fullrecall_capture", default=None)
# Registered once: LangChain keeps every hook for good, and asks all of them at every call.
register_configure_hook(_capturing, inheritable=True)


@contextmanager
def capture_retrievals(
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    which: Level | Selection = "outermost",
) -> Iterator[RetrievalHandler]:
    """Keep what LangChain's retrievers bring within the block, however deep they are called.

        with capture_retrievals() as seen:
            answer = chain.invoke(question)
        sample = seen.sample(user_input=question, reference_context_ids=["d1"])

    Works with `invoke`, `ainvoke`, `batch`, streams that are read within the block, tools and
    graphs, with tracing on or off. Blocks in concurrent tasks and threads each see their own
    calls; a block within a block sees its own, and the outer one sees both. Threads that the
    application starts see the block only where they are handed its context: LangChain's own and
    `asyncio.to_thread` do, a plain `ThreadPoolExecutor` does not
    (`executor.submit(contextvars.copy_context().run, search, question)` does it).

    Not seen is what is no LangChain retriever: `vectorstore.similarity_search`, or a function
    under `@traceable(run_type="retriever")`. Parameters are those of `RetrievalHandler`.
    """
    seen = RetrievalHandler(id_key=id_key, source_key=source_key, collapse=collapse, which=which)
    seen._outer = _capturing.get()  # noqa: SLF001 - one module, one mechanism
    token = _capturing.set(seen)
    try:
        yield seen
    finally:
        # An abandoned async generator is closed in another context, where nothing was set.
        with suppress(ValueError):
            _capturing.reset(token)
