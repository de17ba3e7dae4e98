"""The pair of instrumentation handlers: installed once, and idle where nothing is recorded.

The dispatcher swallows whatever a handler raises. So each method notes its own failures in the
recordings, which then say that they are not complete.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import Token
from inspect import BoundArguments
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import QueryBundle
from llama_index.core.tools.types import ToolOutput

from llama_index.evaluation.fullrecall.attaching.callers import is_selecting
from llama_index.evaluation.fullrecall.attaching.recording import (
    Recording,
    open_recordings,
    recordings,
)
from llama_index.evaluation.fullrecall.attaching.registry import Deliver, deliveries
from llama_index.evaluation.fullrecall.attaching.spans import (
    Kind,
    Span,
    copied,
    is_node_list,
    kind_of,
)
from llama_index.evaluation.fullrecall.responses import is_response, response_text, source_nodes

_logger = logging.getLogger(__name__)
_lock = Lock()
_numbers = count()


class _Call(NamedTuple):
    """A call of an attached object that has not ended."""

    recording: Recording
    token: Token[tuple[Recording, ...]]
    deliver: tuple[Deliver, ...]


_running: dict[str, Span] = {}
"""The steps that somebody records and that have not ended, by the key of their span."""

_calls: dict[str, _Call] = {}
"""The calls of attached objects that have not ended, by the key of their span."""


class RetrievalEvents(BaseEventHandler):
    """Notes what retrievals ended with, and rerankers that have no span."""

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Note the nodes of an event that says that a retrieval or a reranking has ended."""
        note = next((note for kind, note in _NOTES.items() if isinstance(event, kind)), None)
        if note is not None and (seen_by := open_recordings()):
            _guarded(seen_by, lambda: note(event, seen_by))


class RetrievalSpans(BaseSpanHandler[BaseSpan]):
    """Notes the steps of calls and how they are nested; opens recordings of attached objects."""

    def span_enter(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: Any = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,  # noqa: ARG002 - LlamaIndex's signature, as below
        **_: Any,
    ) -> None:
        """Note that a step begins, and what nodes it was given."""
        deliver = deliveries(instance)
        seen_by = open_recordings()
        if not deliver and not seen_by:
            return
        kind = kind_of(id_, instance)
        if deliver and kind in (Kind.ENGINE, Kind.RETRIEVAL):
            # Such as `query`, which calls `_query`: one call, though both are steps.
            again = any(recording.owner == id(instance) for recording in seen_by)
            if not again:
                recording = Recording(id(instance), _question(bound_args))
                token = recordings.set((*seen_by, recording))
                _calls[id_] = _Call(recording, token, deliver)
                seen_by.append(recording)
        span = Span(kind, id_, parent_id, type(instance).__name__, id(instance))
        span.cites = isinstance(instance, CitationQueryEngine)
        _guarded(seen_by, lambda: _entered(span, bound_args, seen_by))

    def span_exit(
        self,
        id_: str,
        bound_args: BoundArguments,  # noqa: ARG002
        instance: Any = None,  # noqa: ARG002
        result: Any = None,
        **_: Any,
    ) -> None:
        """Note that a step has ended, and what it handed on."""
        span = _running.pop(id_, None)
        if span is not None:
            _guarded(open_recordings(), lambda: _ended(span, result))
        call = _calls.pop(id_, None)
        if call is not None:
            call.recording.answer = _answer(result)
            _finish(call, result)

    def span_drop(
        self,
        id_: str,
        bound_args: BoundArguments,  # noqa: ARG002
        instance: Any = None,  # noqa: ARG002
        err: BaseException | None = None,
        **_: Any,
    ) -> None:
        """Note that a step has failed."""
        error = f"{type(err).__name__}: {err}"
        span = _running.pop(id_, None)
        if span is not None:
            span.error = error
        call = _calls.pop(id_, None)
        if call is not None:
            call.recording.error = error
            _finish(call, None)

    def new_span(self, *_: Any, **__: Any) -> None:
        """Make nothing: steps are noted in recordings."""

    def prepare_to_exit_span(self, *_: Any, **__: Any) -> None:
        """Do nothing: steps are noted in recordings."""

    def prepare_to_drop_span(self, *_: Any, **__: Any) -> None:
        """Do nothing: steps are noted in recordings."""


_events = RetrievalEvents()
_spans = RetrievalSpans()


def install() -> None:
    """Install the handlers at LlamaIndex's root dispatcher, unless they are there.

    They are never removed: the dispatcher has no way to, and a list's `remove` would take away
    another handler that equals them. Where nothing is recorded they return at once.
    """
    root = get_dispatcher()
    with _lock:
        if not any(handler is _events for handler in root.event_handlers):
            root.add_event_handler(_events)
        if not any(handler is _spans for handler in root.span_handlers):
            root.add_span_handler(_spans)


def _guarded(seen_by: list[Recording], note: Callable[[], None]) -> None:
    try:
        note()
    except Exception as error:
        _logger.exception("a step of a retrieval was not recorded")
        for recording in seen_by:
            recording.problems.append(f"{type(error).__name__}: {error}")


def _entered(span: Span, bound_args: BoundArguments, seen_by: list[Recording]) -> None:
    for recording in seen_by:
        recording.spans[span.key] = span
    if span.kind is not Kind.OTHER:
        span.question = _question(bound_args)
        _running[span.key] = span
    if span.kind in (Kind.RETRIEVAL, Kind.POSTPROCESSING):
        span.selects = is_selecting()
    if span.kind in (Kind.POSTPROCESSING, Kind.SYNTHESIS):
        span.given = copied(bound_args.arguments["nodes"])


def _ended(span: Span, result: object) -> None:
    if span.kind is Kind.ENGINE:
        span.answer = _answer(result)
        result = source_nodes(result) if is_response(result) else None
    if span.kind is Kind.TOOL and isinstance(result, ToolOutput):
        result = result.raw_output
    if is_node_list(result):
        span.handed = copied(result)


def _retrieved(event: RetrievalEndEvent, seen_by: list[Recording]) -> None:
    span = _running.get(event.span_id or "")
    if span is not None and span.kind is Kind.RETRIEVAL:
        return  # It has a span, which ends with what it hands on.
    # Told by code that is no retriever of LlamaIndex's: a step of its own, without a span.
    own = Span(Kind.RETRIEVAL, _new_key(), event.span_id, "retrieval", 0)
    own.question = _text(event.str_or_query_bundle)
    own.handed = copied(event.nodes)
    for recording in seen_by:
        recording.spans[own.key] = own


def _reranking(event: ReRankStartEvent, seen_by: list[Recording]) -> None:
    span = _running.get(event.span_id or "")
    if span is not None and span.kind is Kind.POSTPROCESSING:
        return  # It has a span, which tells more.
    # The event does not tell the class, nor the object: two of other settings are two objects.
    owner = hash((event.model_name, event.top_n))
    own = Span(Kind.POSTPROCESSING, _new_key(), event.span_id, "reranker", owner)
    own.given = copied(event.nodes)
    for recording in seen_by:
        recording.spans[own.key] = own


def _reranked(event: ReRankEndEvent, seen_by: list[Recording]) -> None:
    handed = copied(event.nodes)
    begun = (
        span
        for recording in seen_by
        for span in reversed(recording.spans.values())
        if span.key.startswith(_EVENT) and span.kind is Kind.POSTPROCESSING
        if span.parent == event.span_id and span.handed is None and span.given is not None
        if handed.ids <= span.given.ids
    )
    if (own := next(begun, None)) is not None:
        own.handed = handed


_NOTES: dict[type[BaseEvent], Callable[[Any, list[Recording]], None]] = {
    RetrievalEndEvent: _retrieved,
    ReRankStartEvent: _reranking,
    ReRankEndEvent: _reranked,
}
"""What is noted of which event."""

_EVENT = "event-"


def _new_key() -> str:
    """Return the key of a step that has no span of its own."""
    return f"{_EVENT}{next(_numbers)}"


def _finish(call: _Call, result: object) -> None:
    call.recording.ended = True
    try:
        recordings.reset(call.token)
    except ValueError:
        # Ended in another context than it began in: the recording has ended there too.
        _logger.debug("a call ended in another context")
    for deliver in call.deliver:
        _guarded([call.recording], lambda deliver=deliver: deliver(call.recording, result))  # type: ignore[misc]


def _question(bound_args: BoundArguments) -> str | None:
    """Return the text of the first argument that may be a question."""
    for name in ("str_or_query_bundle", "query_bundle", "query", "message"):
        if name in bound_args.arguments:
            return _text(bound_args.arguments[name])
    return None


def _text(question: object) -> str | None:
    if isinstance(question, QueryBundle):
        return question.query_str
    return question if isinstance(question, str) else None


def _answer(result: object) -> str | None:
    if isinstance(result, str):
        return result
    return response_text(result) if is_response(result) else None
