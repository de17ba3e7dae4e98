"""Pass the spans, events and reports of LlamaIndex's dispatcher to their recorders."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar, Token
from inspect import BoundArguments
from itertools import takewhile
from typing import Any, NamedTuple

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.llm import LLMChatStartEvent, LLMCompletionStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index_instrumentation.span import active_span_id

from fullrecall._util.variables import set_within
from fullrecall.observe import ROOT, brief, on_record
from llama_index.evaluation.fullrecall.recorder import (
    Deliver,
    LlamaIndexRecorder,
    kind_of,
    name_of,
    query_in,
    question_in,
)

_ENGINES = (BaseQueryEngine, BaseChatEngine, BaseRetriever)
"""The classes whose calls in a block each have their own record."""


class _OpenCall(NamedTuple):
    recorder: LlamaIndexRecorder
    token: Token[tuple[LlamaIndexRecorder, ...] | None]
    deliver: tuple[Deliver, ...]


recorders: ContextVar[tuple[LlamaIndexRecorder, ...] | None] = ContextVar(
    "fullrecall_recorders", default=None
)
"""The recorders of the current call, outermost first; None in a context that never had any, such
as a new thread. LlamaIndex passes it to its own threads, tasks and steps."""

_open: set[LlamaIndexRecorder] = set()
_running: dict[str, list[LlamaIndexRecorder]] = {}
_calls: dict[str, _OpenCall] = {}
_lock = threading.RLock()


class _Spans(BaseSpanHandler[BaseSpan]):
    """Passes spans to the recorders of the current call."""

    def span_enter(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: Any = None,
        parent_id: str | None = None,
        tags: Any = None,  # noqa: ARG002
        **_: Any,
    ) -> None:
        """Record the beginning of a span; open a recorder for a call that has its own record."""
        current = recorders.get()
        seen_by = _seen_by()
        arguments = bound_args.arguments
        call = None
        deliver = _delivery(seen_by) if seen_by and isinstance(instance, _ENGINES) else ()
        if deliver and question_in(arguments) is not None:
            call = opened(id_)
            _calls[id_] = _OpenCall(call, recorders.set((*seen_by, call)), deliver)
        if current is None and kind_of(instance) in ("retriever", "reranker"):
            _mark_incomplete(name_of(instance, id_), query_in(arguments))
        if not (seen_by or call):
            return
        _running[id_] = [*seen_by, *([] if call is None else [call])]
        for recorder in _running[id_]:
            try:
                recorder.begin(id_, None if recorder is call else parent_id, instance, arguments)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with the nodes
                recorder.fail(error)

    def span_exit(self, id_: str, *_: Any, result: Any = None, **__: Any) -> None:
        """Record the end of a span, with its result."""
        _end(id_, result, None)

    def span_drop(self, id_: str, *_: Any, err: BaseException | None = None, **__: Any) -> None:
        """Record the end of a span that failed, with its exception."""
        _end(id_, None, err or RuntimeError("no error was reported"))

    def new_span(self, *_: Any, **__: Any) -> None:
        """Do nothing: recorders record the steps."""

    prepare_to_exit_span = prepare_to_drop_span = new_span


class _Events(BaseEventHandler):
    """Passes prompts, and retrievals without a span, to the recorders of the current call."""

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Pass prompts and retrievals to the recorders of the current call; ignore other events."""
        for recorder in _seen_by():
            try:
                if isinstance(event, LLMChatStartEvent):
                    texts = [message.content or "" for message in event.messages]
                    recorder.prompt(event.span_id, texts)
                elif isinstance(event, LLMCompletionStartEvent):
                    recorder.prompt(event.span_id, [event.prompt])
                elif isinstance(event, RetrievalEndEvent):
                    recorder.retrieved(event.span_id, event.str_or_query_bundle, event.nodes)
            except Exception as error:  # noqa: BLE001 - told in the record
                recorder.fail(error)


_spans, _events = _Spans(), _Events()


def _seen_by() -> list[LlamaIndexRecorder]:
    """Return the open recorders of the current call, outermost first."""
    return [each for each in recorders.get() or () if each.is_open]


def _end(id_: str, output: Any, error: BaseException | None) -> None:
    for recorder in _running.pop(id_, ()):
        if not recorder.is_open:
            continue
        try:
            recorder.end(id_, output, error)
        except Exception as problem:  # noqa: BLE001 - told in the record
            recorder.fail(problem)
    call = _calls.pop(id_, None)
    if call is None:
        return
    call.recorder.error = None if error is None else brief(error)
    closed(call.recorder)
    with suppress(ValueError):  # A call may end in a different context.
        recorders.reset(call.token)
    for deliver in call.deliver:
        deliver(call.recorder, output, None)


def _mark_incomplete(name: str, query: str | None) -> None:
    """Mark the open recorders that may lack a retrieval which no recorder observed.

    The recorder of a block is always marked, since a block may ask any question. The recorder of an
    engine's call is marked only if the retrieval has the call's question and ran in another thread.
    """
    here = threading.get_ident()
    for recorder in list(_open):
        if not recorder.is_open:
            continue
        if recorder.root is not None and recorder.root != ROOT:
            first = recorder.steps[:1]
            if recorder.thread == here or not first or first[0].query != query:
                continue
        recorder.partial = recorder.partial or (
            f"the call was not recorded completely: {name} was asked in a "
            "thread without the call's context, or in a task without it, which cannot be "
            "recorded: start a thread with contextvars.copy_context().run or "
            "asyncio.to_thread, start the task inside the call, and let one task alone "
            "advance a generator that holds a block open"
        )


@on_record
def _take_report(documents: object, query: str | None) -> None:
    if recorders.get() is None:
        _mark_incomplete("record()", query)
    for recorder in _seen_by():
        try:
            recorder.reported(active_span_id.get(), documents, query)
        except Exception as error:  # noqa: BLE001 - told in the record
            recorder.fail(error)


def _delivery(seen_by: Sequence[LlamaIndexRecorder]) -> tuple[Deliver, ...]:
    """Return the functions to which the record of a new call is delivered.

    These are the functions of all open blocks. But if the new call is made inside other recorded
    calls, only the blocks that were opened inside the innermost of those calls count.
    """
    blocks = [*takewhile(lambda each: each.root is None, reversed(seen_by))]
    return tuple(each.deliver for each in reversed(blocks) if each.deliver is not None)


def opened(root: str | None = None, deliver: Deliver | None = None) -> LlamaIndexRecorder:
    """Return an open recorder, which gets all steps from now on."""
    recorder = LlamaIndexRecorder(root, deliver)
    with _lock:
        _open.add(recorder)
        _listen()
    return recorder


def closed(recorder: LlamaIndexRecorder) -> None:
    """Close a recorder, so that it gets no more steps."""
    recorder.close()
    with _lock:
        _open.discard(recorder)
        _listen()


def _listen() -> None:
    """Add the handlers above to LlamaIndex's dispatcher if a recorder is open; else remove them."""
    dispatcher = get_dispatcher()
    is_listening = bool(_open)
    lists: list[tuple[list[Any], object]] = [
        (dispatcher.span_handlers, _spans),
        (dispatcher.event_handlers, _events),
    ]
    for handlers, own in lists:
        # Find the handler by identity: Pydantic compares by value, so that another program's
        # handler may be equal to it.
        position = next((n for n, each in enumerate(handlers) if each is own), None)
        if is_listening and position is None:
            handlers.append(own)
        elif not is_listening and position is not None:
            del handlers[position]
    if not is_listening:
        _running.clear()


@contextmanager
def recording(
    root: str | None = None, deliver: Deliver | None = None
) -> Iterator[LlamaIndexRecorder]:
    """Record the steps in the block; with a root, the block is one call."""
    recorder = opened(root, deliver)
    try:
        with set_within(recorders, (*_seen_by(), recorder)):
            yield recorder
    except BaseException as error:
        recorder.error = brief(error)
        raise
    finally:
        closed(recorder)


def unrecorded() -> AbstractContextManager[None]:
    """Stop recording in this block: a judge's requests are not the application's."""
    return set_within(recorders, ())
