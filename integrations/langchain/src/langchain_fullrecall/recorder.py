"""What happens while an application runs, seen by callbacks and written down at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import count
from threading import Lock
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tracers.context import register_configure_hook

from fullrecall import Context
from langchain_fullrecall.messages import artifact_documents, text_of, turn_of
from langchain_fullrecall.outputs import answer, question
from langchain_fullrecall.tree import Node, documents_of, enter, going_on, snapshot, tool_query

_moments = count(1)
"""What starts and ends are counted by, in the order in which they happen."""


class Recorder(BaseCallbackHandler):
    """A callback handler that builds the tree of the runs below it, copying what they return.

    `whole` says that one call is followed: what has no known caller belongs to its first run,
    and observers report to its retrievers. Otherwise such a run is a root of its own.
    """

    # Called where the run itself goes on, not in a task or thread beside it: the run that
    # is entered here is the one that observers find there.
    run_inline = True

    def __init__(self, *, whole: bool = False, outer: Recorder | None = None) -> None:
        self._whole = whole
        self._outer = outer
        self._lock = Lock()
        self._nodes: dict[UUID, Node] = {}
        self._roots: list[Node] = []

    @property
    def roots(self) -> tuple[Node, ...]:
        """The outermost runs until now, in the order in which they started."""
        with self._lock:
            return tuple(self._roots)

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note where a chain stands among the runs, and what it was asked."""
        given = list(inputs) if isinstance(inputs, list) else None
        asked = question(inputs)
        self._started("chain", serialized, run_id, parent_run_id, kwargs, query=asked, asked=given)
        if self._outer is not None:
            self._outer.on_chain_start(
                serialized, inputs, run_id=run_id, parent_run_id=parent_run_id, **kwargs
            )

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Note what a chain returned, if that is documents, or an answer."""
        found = documents_of(outputs)
        turn = turn_of(outputs)
        said = answer(outputs) if turn is None else turn.answer
        self._ended(run_id, None if found is None else snapshot(found), said)
        if self._outer is not None:
            self._outer.on_chain_end(outputs, run_id=run_id, **kwargs)

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a retriever and what it is asked."""
        node = self._started("retriever", serialized, run_id, parent_run_id, kwargs, query=query)
        if self._whole:
            enter(node)
        if self._outer is not None:
            self._outer.on_retriever_start(
                serialized, query, run_id=run_id, parent_run_id=parent_run_id, **kwargs
            )

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Copy what a retriever returned."""
        self._ended(run_id, snapshot(documents))
        if self._outer is not None:
            self._outer.on_retriever_end(documents, run_id=run_id, **kwargs)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a tool and what it is asked."""
        asked = tool_query(inputs or input_str)
        self._started("tool", serialized, run_id, parent_run_id, kwargs, query=asked)
        if self._outer is not None:
            self._outer.on_tool_start(
                serialized, input_str, run_id=run_id, parent_run_id=parent_run_id, inputs=inputs,
                **kwargs,
            )  # fmt: skip

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Copy the documents that a tool returned, in its artifact or as they are."""
        self._ended(run_id, tool_snapshot(output))
        if self._outer is not None:
            self._outer.on_tool_end(output, run_id=run_id, **kwargs)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a chat model is sent."""
        prompts = [text_of(message.content) for batch in messages for message in batch]
        self._started("llm", serialized, run_id, parent_run_id, kwargs, prompts=tuple(prompts))
        if self._outer is not None:
            self._outer.on_chat_model_start(
                serialized, messages, run_id=run_id, parent_run_id=parent_run_id, **kwargs
            )

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a model is sent."""
        self._started("llm", serialized, run_id, parent_run_id, kwargs, prompts=tuple(prompts))
        if self._outer is not None:
            self._outer.on_llm_start(
                serialized, prompts, run_id=run_id, parent_run_id=parent_run_id, **kwargs
            )

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Note that a run failed."""
        with self._lock:
            node = self._nodes.get(run_id)
            if node is not None:
                node.error, node.ended, node.over = brief(error), True, next(_moments)
        if self._outer is not None:
            self._outer.on_retriever_error(error, run_id=run_id, **kwargs)

    on_chain_error = on_tool_error = on_retriever_error

    def _started(
        self,
        kind: str,
        serialized: Mapping[str, Any] | None,
        run_id: UUID,
        parent_id: UUID | None,
        given: Mapping[str, Any],
        **fields: Any,
    ) -> Node:
        name = given.get("name") or (serialized or {}).get("name") or kind
        tags, metadata = given.get("tags") or (), given.get("metadata") or {}
        node = Node(str(name), kind, tuple(tags), dict(metadata), began=next(_moments), **fields)
        with self._lock:
            if run_id in self._nodes:  # it was handed this handler twice
                return self._nodes[run_id]
            self._nodes[run_id] = node
            node.parent = self._caller(parent_id)
            (self._roots if node.parent is None else node.parent.children).append(node)
        return node

    def _caller(self, parent_id: UUID | None) -> Node | None:
        known = None if parent_id is None else self._nodes.get(parent_id)
        if not self._whole or not self._roots:
            return known
        # Some wrappers call what they wrap with no parent to tell of.
        told = self._roots[0] if known is None else known
        # `with_config` tells of what stands around the retriever that calls it.
        inside = going_on()
        return inside if inside is not None and inside.stands_below(told) else told

    def _ended(
        self,
        run_id: UUID,
        found: tuple[tuple[Context, ...] | None, str | None] | None,
        response: str | None = None,
    ) -> None:
        with self._lock:
            node = self._nodes.get(run_id)
            if node is None:
                return
            node.contexts, node.problem = found or (None, None)
            node.response, node.ended, node.over = response, True, next(_moments)


def tool_snapshot(output: Any) -> tuple[tuple[Context, ...] | None, str | None] | None:
    """Return copies of the documents that a tool returned; None where it returned none."""
    if isinstance(output, ToolMessage):
        documents = artifact_documents(output.artifact)
    elif isinstance(output, Mapping) and "artifact" in output:
        documents = artifact_documents(output["artifact"])
    else:
        documents = documents_of(output)
    return None if documents is None else snapshot(documents)


def brief(error: BaseException | str, limit: int = 200) -> str:
    """Return an error as one line: of an exception its type and message, without a traceback."""
    if isinstance(error, BaseException):
        error = f"{type(error).__name__}: {error}"
    # A run's `error` is the exception's repr with the traceback right behind it.
    line = " ".join(error.partition("Traceback (most recent call last)")[0].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


_KEPT = 20_000
"""Runs whose documents are kept until an evaluator asks for them: the latest, in this process."""


class Snapshots(BaseCallbackHandler):
    """Copies what retrievers, tools and chains of documents return, for who reads the trace later.

    A trace that is still in the process holds the application's own lists, which may have changed
    by the time at which an evaluator sees them.
    """

    run_inline = True
    ignore_llm = True
    ignore_chat_model = True

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[UUID, tuple[tuple[Context, ...] | None, str | None]] = OrderedDict()

    def __deepcopy__(self, memo: object) -> Snapshots:
        return self

    def get(self, run_id: UUID) -> tuple[tuple[Context, ...] | None, str | None] | None:
        """Return what a run returned at its end; None where that was not seen, or long ago."""
        with self._lock:
            return self._kept.get(run_id)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Copy what a retriever returned."""
        self.keep(run_id, snapshot(documents))

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Copy what a tool returned."""
        self.keep(run_id, tool_snapshot(output))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Copy what a chain returned, if that is documents."""
        found = documents_of(outputs)
        self.keep(run_id, None if found is None else snapshot(found))

    def keep(
        self, run_id: UUID, found: tuple[tuple[Context, ...] | None, str | None] | None
    ) -> None:
        """Keep what a run returned; the oldest makes room."""
        if found is None:
            return
        with self._lock:
            self._kept[run_id] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)


SNAPSHOTS = Snapshots()
_watching: ContextVar[Snapshots | None] = ContextVar("fullrecall_snapshots", default=SNAPSHOTS)
_registered: list[bool] = []
_registering = Lock()


def watch() -> None:
    """Have what runs return copied from now on, in every thread of this process."""
    with _registering:
        if not _registered:
            register_configure_hook(_watching, inheritable=True)
            _registered.append(True)


capturing: ContextVar[Recorder | None] = ContextVar("fullrecall_capture", default=None)
# Registered once: LangChain keeps every hook for good, and asks all of them at every call.
register_configure_hook(capturing, inheritable=True)


def texts_of(messages: Sequence[object]) -> list[str]:
    """Return the texts of stored messages, as a prompt has them."""
    from langchain_fullrecall.messages import message_of

    found = [message_of(item) for item in messages]
    return [one.text for one in found if one is not None]
