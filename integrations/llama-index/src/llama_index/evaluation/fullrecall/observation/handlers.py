"""The pair of instrumentation handlers: installed once, and idle where nothing is recorded.

The dispatcher swallows whatever a handler raises. So each method notes its own failures in the
recordings, which then say that they are not complete.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextvars import Token
from functools import lru_cache
from inspect import BoundArguments
from itertools import count
from threading import Lock
from typing import Any, NamedTuple, cast

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.llm import LLMChatStartEvent, LLMCompletionStartEvent
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.tools.types import BaseTool, ToolOutput

from llama_index.evaluation.fullrecall.observation.kin import recordings_beside
from llama_index.evaluation.fullrecall.observation.recording import (
    Recording,
    is_any_open,
    open_recordings,
    recordings,
)
from llama_index.evaluation.fullrecall.observation.registry import Entry, attached
from llama_index.evaluation.fullrecall.observation.snapshots import Nodes, is_node_list
from llama_index.evaluation.fullrecall.observation.steps import INNER, Kind, Prompt, Step, kind_of
from llama_index.evaluation.fullrecall.responses import is_response, response_text, source_nodes

# An enumeration's member takes as long to look up as all else that a check does.
_OTHER, _RETRIEVAL, _POSTPROCESSING = Kind.OTHER, Kind.RETRIEVAL, Kind.POSTPROCESSING
_SYNTHESIS, _ENGINE, _TOOL = Kind.SYNTHESIS, Kind.ENGINE, Kind.TOOL

_logger = logging.getLogger(__name__)
_lock = Lock()
_moments = count(1)
"""What steps and prompts are counted by, in the order in which they happen."""


class _Call(NamedTuple):
    """A call of an attached object that has not ended; a stray one, where it is of none."""

    recording: Recording
    token: Token[tuple[Recording, ...] | None]
    entry: Entry | None


_running: dict[str, tuple[Step, list[Recording]]] = {}
"""The steps that somebody records and that have not ended, by the key of their span."""

_calls: dict[str, _Call] = {}
"""The calls of attached objects that have not ended, by the key of their span."""


class RetrievalEvents(BaseEventHandler):
    """Notes what retrievals ended with, and rerankers that have no span."""

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Note the nodes of an event that says that a retrieval or a reranking has ended."""
        if not recordings.get():
            return
        note = _note_of(type(event))
        if note is not None and (seen_by := open_recordings()):
            try:
                note(event, seen_by)
            except Exception as error:  # noqa: BLE001 - told in the record
                _failed(error, seen_by)


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
        entry = attached(instance)
        current = recordings.get()
        # It may be a step of a recording of another context, where this one never had any.
        is_bare = current is None and is_any_open()
        if entry is None and not current and not is_bare:
            return
        kind, role = kind_of(id_, instance)
        seen_by = [recording for recording in current or () if not recording.ended]
        begins = entry is not None and _begins_call(kind, instance, seen_by, entry)
        beside = (
            recordings_beside(
                kind,
                instance,
                _question(bound_args),
                is_recorded=begins,
                is_inside=parent_id is not None,
            )
            if is_bare and (entry is None or entry.is_part)
            else []
        )
        if begins or beside:
            root = instance if begins else None
            recording = Recording(root, _question(bound_args), is_stray=not begins)
            token = recordings.set((*seen_by, recording))
            _calls[id_] = _Call(recording, token, entry if begins else None)
            seen_by.append(recording)
            for one in beside:
                one.add_stray(recording)
        if not seen_by:
            return
        owner = None if instance is None else id(instance)
        name = type(instance).__name__
        step = Step(kind, role, id_, parent_id, name, owner, next(_moments))
        for recording in seen_by:
            recording.add(step, instance)
        if kind is not _OTHER:
            _running[id_] = step, seen_by
            try:
                _entered(step, instance, bound_args, seen_by)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with the nodes
                _failed(error, seen_by)

    def span_exit(
        self,
        id_: str,
        bound_args: BoundArguments,  # noqa: ARG002
        instance: Any = None,  # noqa: ARG002
        result: Any = None,
        **_: Any,
    ) -> None:
        """Note that a step has ended, and what it handed on."""
        running = _running.pop(id_, None)
        if running is None:
            return  # Those who record it have it; a call is a step too.
        step, seen_by = running
        now = next(_moments)
        try:
            _ended(step, result, [one for one in seen_by if not one.ended])
        except Exception as error:  # noqa: BLE001 - told in the record
            _failed(error, seen_by)
        step.ended = now
        call = _calls.pop(id_, None)
        if call is not None:
            call.recording.answer = step.answer if step.answer is not None else _answer(result)
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
        running = _running.pop(id_, None)
        if running is None:
            return
        step = running[0]
        step.error, step.ended = f"{type(err).__name__}: {err}", next(_moments)
        call = _calls.pop(id_, None)
        if call is not None:
            call.recording.error = step.error
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


def _failed(error: Exception, seen_by: list[Recording]) -> None:
    _logger.error("a step of a retrieval was not recorded", exc_info=error)
    for recording in seen_by:
        recording.problems.append(f"{type(error).__name__}: {error}")


def _begins_call(kind: Kind, instance: object, seen_by: list[Recording], entry: Entry) -> bool:
    """Return whether a call of an attached object begins, or of a part of one on its own."""
    if entry.is_part:
        return not seen_by and kind in _READING
    # Such as `query`, which calls `_query`: one call, though both are steps.
    if kind is not _ENGINE and kind is not _RETRIEVAL:
        return False
    return all(recording.root is not instance for recording in seen_by)


def _entered(
    step: Step, instance: object, bound_args: BoundArguments, seen_by: list[Recording]
) -> None:
    if step.kind is _TOOL:
        step.name = str(cast("BaseTool", instance).metadata.name)
    step.question = _question(bound_args)
    if step.kind in _READING:
        nodes = bound_args.arguments.get("nodes")
        step.given = None if nodes is None else _seen(nodes, seen_by)


def _ended(step: Step, result: object, seen_by: list[Recording]) -> None:
    if step.kind in (_ENGINE, _SYNTHESIS):
        step.answer = _answer(result)
        # What a synthesizer was given tells more than the sources that its engine names.
        names = step.kind is _ENGINE and is_response(result) and not _was_read(step, seen_by)
        result = source_nodes(result) if names else None  # type: ignore[arg-type]
    if step.kind is _TOOL:
        result = result.raw_output if isinstance(result, ToolOutput) else result
        named = source_nodes(result) if is_response(result) else result
        if seen_by and is_node_list(named):
            step.returned = tuple(map(id, named))
            for recording in seen_by:
                recording.known.hold(tuple(named))
    if seen_by and is_node_list(result):
        step.handed = _seen(result, seen_by)


def _seen(nodes: Sequence[NodeWithScore], seen_by: list[Recording]) -> Nodes:
    """Return nodes as they are now; all recordings hold their objects."""
    found = seen_by[0].known.nodes(nodes)
    for recording in seen_by[1:]:
        recording.known.hold(tuple(nodes))
    return found


def _was_read(engine: Step, seen_by: list[Recording]) -> bool:
    """Return whether a synthesizer was given nodes in an engine, and not in an engine inside."""
    if not seen_by:
        return False
    steps = seen_by[0].steps
    for step in reversed(list(steps.values())):
        if step is engine:
            return False
        if step.kind is not _SYNTHESIS or not (step.given and step.given.items):
            continue
        above = steps.get(step.parent or "")
        while above is not None and (above.kind is _OTHER or above.owner == engine.owner):
            if above is engine:
                return True
            above = steps.get(above.parent or "")
    return False


def _prompted(text: str, span: str | None, seen_by: list[Recording]) -> None:
    prompt = Prompt(text, span, next(_moments))
    for recording in seen_by:
        recording.prompts.append(prompt)


def _completing(event: LLMCompletionStartEvent, seen_by: list[Recording]) -> None:
    _prompted(event.prompt, event.span_id, seen_by)


def _chatting(event: LLMChatStartEvent, seen_by: list[Recording]) -> None:
    texts = [message.content or "" for message in event.messages]
    _prompted("\n\n".join(texts), event.span_id, seen_by)


def _runs(span: str | None, kind: Kind) -> bool:
    running = _running.get(span or "")
    return running is not None and running[0].kind is kind


def _retrieved(event: RetrievalEndEvent, seen_by: list[Recording]) -> None:
    if _runs(event.span_id, _RETRIEVAL):
        return  # It has a span, which ends with what it returns.
    # Told by code that is no retriever of LlamaIndex's: a step of its own, without a span.
    own = _own_step(_RETRIEVAL, event.span_id, "retrieval")
    own.question = _text(event.str_or_query_bundle)
    own.handed = _seen(event.nodes, seen_by)
    own.ended = next(_moments)
    for recording in seen_by:
        recording.add(own)


def _reranking(event: ReRankStartEvent, seen_by: list[Recording]) -> None:
    if _runs(event.span_id, _POSTPROCESSING):
        return  # It has a span, which tells more.
    own = _own_step(_POSTPROCESSING, event.span_id, "reranker")
    own.given = _seen(event.nodes, seen_by)
    for recording in seen_by:
        recording.add(own)


def _reranked(event: ReRankEndEvent, seen_by: list[Recording]) -> None:
    handed = _seen(event.nodes, seen_by)
    begun = (
        step
        for recording in seen_by
        for step in reversed(list(recording.steps.values()))
        if step.key.startswith(_EVENT) and step.kind is _POSTPROCESSING
        if step.parent == event.span_id and step.handed is None and step.given is not None
        if handed.ids <= step.given.ids
    )
    if (own := next(begun, None)) is not None:
        own.handed, own.ended = handed, next(_moments)


_NOTES: dict[type[BaseEvent], Callable[[Any, list[Recording]], None]] = {
    RetrievalEndEvent: _retrieved,
    LLMChatStartEvent: _chatting,
    LLMCompletionStartEvent: _completing,
    ReRankStartEvent: _reranking,
    ReRankEndEvent: _reranked,
}
"""What is noted of which event."""


@lru_cache(maxsize=256)
def _note_of(kind: type[BaseEvent]) -> Callable[[Any, list[Recording]], None] | None:
    return next((note for known, note in _NOTES.items() if issubclass(kind, known)), None)


_EVENT = "event-"

_READING = (*INNER, _SYNTHESIS)
"""The steps that are given lists."""


def _own_step(kind: Kind, parent: str | None, name: str) -> Step:
    """Return a step that has no span of its own."""
    began = next(_moments)
    return Step(kind, None, f"{_EVENT}{began}", parent, name, None, began)


def _finish(call: _Call, result: object) -> None:
    deliver = () if call.entry is None else call.entry.deliver
    if call.entry is not None and not call.entry.is_part:
        call.recording.end()
    try:
        recordings.reset(call.token)
    except ValueError:
        # Ended in another context than it began in: the recording has ended there too.
        _logger.debug("a call ended in another context")
    for one in deliver:
        try:
            one.take(call.recording, result)
        except Exception as error:  # noqa: BLE001 - told in the record
            _failed(error, [call.recording])


def _question(bound_args: BoundArguments) -> str | None:
    """Return the text of the first argument that may be a question."""
    given = bound_args.arguments
    for name in ("str_or_query_bundle", "query_bundle", "query", "message"):
        if name in given:
            return _text(given[name])
    # A tool is called with whatever the model chose: one text is the question.
    texts = [*given.get("args", ()), *given.get("kwargs", {}).values(), given.get("input")]
    texts = [one for one in texts if isinstance(one, str)]
    return texts[0] if len(texts) == 1 else None


def _text(question: object) -> str | None:
    if isinstance(question, QueryBundle):
        return question.query_str
    return question if isinstance(question, str) else None


def _answer(result: object) -> str | None:
    if isinstance(result, str):
        return result
    return response_text(result) if is_response(result) else None
