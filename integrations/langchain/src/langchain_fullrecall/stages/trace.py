"""The callbacks of one call of a retriever, followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document

from fullrecall.retrieval import Stage
from langchain_fullrecall.calls import snapshot
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.stages.pipeline import stages_of
from langchain_fullrecall.stages.run import Run, enter, going_on


class RetrievalTrace(BaseCallbackHandler):
    """A callback handler that follows one call of a retriever, and knows its stages afterwards."""

    # Called where the run itself goes on, not in a task or thread beside it: the run that
    # is entered here is the one that observers find there.
    run_inline = True
    ignore_llm = True
    ignore_chat_model = True

    def __init__(self) -> None:
        self._runs: dict[UUID, Run] = {}
        self._first: Run | None = None

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
        run.asked = query
        enter(run)

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
        return [] if self._first is None else stages_of(self._first, reader)

    def _started(
        self,
        kind: str,
        run_id: UUID,
        parent: UUID | None,
        tags: Sequence[str] | None,
        fields: dict[str, Any],
    ) -> Run:
        run = self._runs[run_id] = Run(fields.get("name") or kind, tuple(tags or ()), kind)
        if self._first is None:
            self._first = run
            return run
        # `with_fallbacks` calls what it wraps with no parent to tell of.
        told = self._first if parent is None else self._runs.get(parent, self._first)
        # `with_config` tells of what stands around the retriever that calls it.
        inside = going_on()
        run.parent = inside if inside is not None and inside.stands_below(told) else told
        run.parent.children.append(run)
        return run

    def _ended(self, run_id: UUID, documents: Any) -> None:
        if run_id in self._runs:
            run = self._runs[run_id]
            run.contexts, run.ended = snapshot(documents)[0], True

    def _failed(self, run_id: UUID) -> None:
        if run_id in self._runs:
            run = self._runs[run_id]
            run.failed = run.ended = True
