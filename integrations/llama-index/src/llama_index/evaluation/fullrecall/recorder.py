"""LlamaIndex's spans and events as the steps of a record. Holds no rule about what counts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from functools import lru_cache
from inspect import BoundArguments
from itertools import count, takewhile
from typing import Any, NamedTuple, TypeAlias

from llama_index.core.agent.workflow import AgentWorkflow, BaseWorkflowAgent
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.llm import LLMChatStartEvent, LLMCompletionStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.node_parser import NodeParser
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import QueryBundle
from llama_index.core.tools.types import BaseTool, ToolOutput
from llama_index_instrumentation.span import active_span_id

from fullrecall.observe import ROOT, Step, StepKind, StepLog, brief, on_record
from llama_index.evaluation.fullrecall.reader import NodeValueReader, are_no_documents
from llama_index.evaluation.fullrecall.responses import is_response, response_text

_logger = logging.getLogger(__name__)
_numbers = count(1)

_KINDS: tuple[tuple[type, StepKind], ...] = (
    (BaseRetriever, "retriever"),
    (BaseNodePostprocessor, "reranker"),
    (BaseTool, "tool"),
    (BaseLLM, "llm"),
    (BaseWorkflowAgent, "agent"),
    (AgentWorkflow, "agent"),
)


_ENGINES = (BaseQueryEngine, BaseChatEngine, BaseRetriever)
_SILENT = (BaseLLM, BaseEmbedding, NodeParser)


class _ObjectRole(NamedTuple):
    """What an object of LlamaIndex does in a call, by its class.

    - `is_engine`: it has a record of its own for each of its calls in a block.
    - `is_silent`: it handles texts, and hands no documents on: what models are sent is known from
      events.
    """

    kind: StepKind
    is_engine: bool
    is_silent: bool
    answers: bool
    reorders: bool


def _role_of(instance: object) -> _ObjectRole:
    instance_type: Any = type(instance)
    return _role_of_type(instance_type)


@lru_cache(maxsize=4096)
def _role_of_type(own: Any) -> _ObjectRole:
    return _ObjectRole(
        next((kind for base, kind in _KINDS if issubclass(own, base)), "chain"),
        issubclass(own, _ENGINES),
        issubclass(own, _SILENT),
        issubclass(own, BaseSynthesizer),
        issubclass(own, LongContextReorder),
    )


def _hands_over(tool: Any) -> bool:
    """Return whether a tool is LlamaIndex's own by which an agent hands over to another one."""
    module = getattr(getattr(tool, "async_fn", None), "__module__", None)
    return str(module).startswith("llama_index.core.agent.")


Deliver: TypeAlias = "Callable[[LlamaIndexRecorder, Any, str | None], None]"
"""Takes the record of a call that has ended, and what the call returned; of a block's own record,
also the ID of the step that returned it."""


class LlamaIndexRecorder:
    """Writes down the steps of one call or block until `close`; safe under threads.

    - `root`: the ID of the step that is the call itself, None for a block.
    - `log`: where they are written down; a call that is no span begins and ends there.
    - `deliver`: of a block: takes the record of each call in it that has ended, and its result.
    """

    def __init__(self, root: str | None = None, deliver: Deliver | None = None) -> None:
        self.root = root
        self.deliver = deliver
        self.thread = threading.get_ident()
        self.is_open = True
        self.partial: str | None = None
        self.error: str | None = None
        self.reader = NodeValueReader()
        self.log = StepLog(self.reader)
        self._steps: list[Step] = []
        self._same: dict[str, tuple[object, str]] = {}
        self._inner: dict[str, tuple[int, ...]] = {}
        self._threads: dict[str | None, int] = {}
        self._silent: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "log": None, "reader": None, "deliver": None, "is_open": False}

    @property
    def steps(self) -> list[Step]:
        """The steps until now."""
        return self.log.steps if self.is_open else self._steps

    @property
    def problem(self) -> str | None:
        """Why the record is known to be partial."""
        return self.partial or (self.log.partial if self.is_open else None)

    def begin(
        self, id_: str, parent: str | None, instance: Any, arguments: Mapping[str, Any]
    ) -> None:
        """Write down that a span began.

        What an object calls of itself, as `retrieve` calls `_retrieve`, is no step of its own.
        """
        kind, _, is_silent, answers, reorders = _role_of(instance)
        if kind == "tool" and _hands_over(instance):
            kind = "chain"
        around = self._same.get(parent or "")
        if kind in ("retriever", "reranker", "tool"):
            if around is not None and around[0] is instance:
                self._same[id_] = around
                return
            self._same[id_] = instance, id_
        caller = parent if around is None else around[1]
        if is_silent:
            self._silent.add(id_)
        query = None if is_silent else _query(arguments)
        here = self._threads[id_] = threading.get_ident()
        is_beside = self._threads.get(caller, self.thread) != here
        self.log.begin(
            id_,
            caller,
            kind,
            _name(instance, id_),
            None if is_silent else arguments,
            query=query,
            callee=None if query is None else self.log.reader.identities(instance) or None,
            group="threads" if is_beside else None,
            answers=answers and "nodes" in arguments,
            stores=isinstance(instance, NodeParser) and id_.partition("-")[0].endswith("__call__"),
            reorders=reorders,
        )

    def end(self, id_: str, output: Any = None, error: BaseException | None = None) -> None:
        """Write down that a span ended."""
        outer = self._same.get(id_, (None, id_))[1]
        if outer != id_:
            # `retrieve` copies the very list that `_retrieve` returned.
            self._inner[outer] = self.log.reader.identities(output)
            return
        failure = None if error is None else brief(error)
        if isinstance(output, ToolOutput) and output.is_error:
            failure = brief(output.content or "the tool failed")
        silent = id_ in self._silent
        answers = self.reader.answers
        if is_response(output) and (answer := response_text(output)):
            answers.setdefault(answer.strip(), list(output.source_nodes or ()))
        step = self.log.end(id_, written_by(output) if silent else output, error=failure)
        if step is None:
            return
        if step.kind == "retriever" and are_no_documents(output, answers):
            step.kind = "chain"  # it looks up tools, answers, rows or earlier messages
        step.outputs += self._inner.pop(id_, ())
        if step.answers:
            step.outputs = ()  # engines return it: that makes no earlier failure good
        if self.deliver is not None and (step.answers or id_.partition("-")[0].endswith(".run")):
            self.deliver(self, output, id_)

    def prompt(self, span: str | None, texts: list[str]) -> None:
        """Write down what a model was sent."""
        self._event(span, "llm", "model", prompt=texts)

    def retrieved(self, span: str | None, query: Any, nodes: Any) -> None:
        """Write down a retrieval that code of another kind than a retriever reports."""
        step = self.log.step(self._caller(span))
        if step is None or step.kind != "retriever":
            self._event(span, "retriever", "retrieval", nodes, query=question_text(query))

    def reported(self, span: str | None, documents: object, query: str | None) -> None:
        """Write down documents that the application itself reports."""
        self.log.report(f"event {next(_numbers)}", self._caller(span), documents, query)

    def fail(self, error: Exception) -> None:
        """Note that something could not be written down."""
        _logger.error("a step of a retrieval was not recorded", exc_info=error)
        self.partial = f"the call was not recorded completely: {brief(error)}"

    def close(self) -> None:
        """Write down nothing any more, and let go of all objects but the copies."""
        if not self.is_open:
            return
        self._steps = self.log.steps
        self.partial = self.partial or self.log.partial
        self.is_open = False
        self.deliver = None
        self.reader = NodeValueReader()
        self.log = StepLog(self.reader)
        self._same = {}

    def _caller(self, span: str | None) -> str | None:
        return self._same.get(span or "", (None, span))[1]

    def _event(
        self, span: str | None, kind: StepKind, name: str, output: Any = None, **fields: Any
    ) -> None:
        id_ = f"event {next(_numbers)}"
        self.log.begin(id_, self._caller(span), kind, name, **fields)
        self.log.end(id_, output)


class _OpenCall(NamedTuple):
    recorder: LlamaIndexRecorder
    token: Token[tuple[LlamaIndexRecorder, ...] | None]
    deliver: tuple[Deliver, ...]


recorders: ContextVar[tuple[LlamaIndexRecorder, ...] | None] = ContextVar(
    "fullrecall_recorders", default=None
)
"""The recorders that the current call belongs to, outermost first; None in a context that never
had any, as in a new thread. LlamaIndex hands it on to its own threads, tasks and steps."""

_open: set[LlamaIndexRecorder] = set()
_running: dict[str, list[LlamaIndexRecorder]] = {}
_calls: dict[str, _OpenCall] = {}
_lock = threading.RLock()


class _Spans(BaseSpanHandler[BaseSpan]):
    """Hands spans on to the recorders of the current call."""

    def span_enter(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: Any = None,
        parent_id: str | None = None,
        tags: Any = None,  # noqa: ARG002
        **_: Any,
    ) -> None:
        """Note that a span begins."""
        current = recorders.get()
        seen_by = [each for each in current or () if each.is_open]
        arguments = bound_args.arguments
        call = None
        deliver = _delivery(seen_by) if seen_by and _role_of(instance).is_engine else ()
        if deliver and _question(arguments) is not None:
            call = opened(id_)
            _calls[id_] = _OpenCall(call, recorders.set((*seen_by, call)), deliver)
        if current is None and _role_of(instance).kind in ("retriever", "reranker"):
            _note_beside(_name(instance, id_), _query(arguments))
        if not (seen_by or call):
            return
        _running[id_] = [*seen_by, *([] if call is None else [call])]
        for recorder in _running[id_]:
            try:
                recorder.begin(id_, None if recorder is call else parent_id, instance, arguments)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with the nodes
                recorder.fail(error)

    def span_exit(
        self,
        id_: str,
        bound_args: BoundArguments,  # noqa: ARG002
        instance: Any = None,  # noqa: ARG002
        result: Any = None,
        **_: Any,
    ) -> None:
        """Note that a span has ended."""
        _end(id_, result, None)

    def span_drop(
        self,
        id_: str,
        bound_args: BoundArguments,  # noqa: ARG002
        instance: Any = None,  # noqa: ARG002
        err: BaseException | None = None,
        **_: Any,
    ) -> None:
        """Note that a span has failed."""
        _end(id_, None, err or RuntimeError("no error was reported"))

    def new_span(self, *_: Any, **__: Any) -> None:
        """Make nothing: steps are noted in recorders."""

    def prepare_to_exit_span(self, *_: Any, **__: Any) -> None:
        """Do nothing: steps are noted in recorders."""

    def prepare_to_drop_span(self, *_: Any, **__: Any) -> None:
        """Do nothing: steps are noted in recorders."""


class _Events(BaseEventHandler):
    """Hands prompts, and retrievals without a span, on to the recorders of the current call."""

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Note an event."""
        for recorder in recorders.get() or ():
            if not recorder.is_open:
                continue
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
    with suppress(ValueError):  # it may end in another context than it began in
        recorders.reset(call.token)
    for deliver in call.deliver:
        deliver(call.recorder, output, None)


def _note_beside(name: str, query: str | None) -> None:
    """Note a retrieval in a context without recorders in those that it may belong to.

    A call of an engine is asked one question; a block may ask anything.
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
    current = recorders.get()
    if current is None:
        _note_beside("record()", query)
    for recorder in current or ():
        if recorder.is_open:
            try:
                recorder.reported(active_span_id.get(), documents, query)
            except Exception as error:  # noqa: BLE001 - told in the record
                recorder.fail(error)


def _delivery(seen_by: Sequence[LlamaIndexRecorder]) -> tuple[Deliver, ...]:
    """Return who gets the record of a call: the blocks around it, up to the call around them."""
    blocks = [*takewhile(lambda each: each.root is None, reversed(seen_by))]
    return tuple(each.deliver for each in reversed(blocks) if each.deliver is not None)


def opened(root: str | None = None, deliver: Deliver | None = None) -> LlamaIndexRecorder:
    """Return a recorder that sees what happens from now on."""
    recorder = LlamaIndexRecorder(root, deliver)
    with _lock:
        _open.add(recorder)
        _listen()
    return recorder


def closed(recorder: LlamaIndexRecorder) -> None:
    """End a recorder."""
    recorder.close()
    with _lock:
        _open.discard(recorder)
        _listen()


def _listen() -> None:
    """Have LlamaIndex tell us of steps while anybody records, and no longer."""
    dispatcher = get_dispatcher()
    is_listening = bool(_open)
    lists: list[tuple[list[Any], object]] = [
        (dispatcher.span_handlers, _spans),
        (dispatcher.event_handlers, _events),
    ]
    for handlers, own in lists:
        # By identity: Pydantic takes equal handlers of another user for the same.
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
    """Record what happens in the block; with a root, the block is one call."""
    recorder = opened(root, deliver)
    around = tuple(each for each in recorders.get() or () if each.is_open)
    token = recorders.set((*around, recorder))
    try:
        yield recorder
    except BaseException as error:
        recorder.error = brief(error)
        raise
    finally:
        closed(recorder)
        # Another task may end an async generator than the one that began it, in its own context.
        with suppress(ValueError):
            recorders.reset(token)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Record nothing in the block: a judge's requests are none of the application's."""
    token = recorders.set(())
    try:
        yield
    finally:
        recorders.reset(token)


def _name(instance: Any, id_: str) -> str:
    if isinstance(instance, BaseTool):
        return str(instance.metadata.name)
    return id_.partition("-")[0] if instance is None else type(instance).__name__


_QUESTIONS = ("str_or_query_bundle", "query_bundle", "query", "message", "query_str")


def _question(arguments: Mapping[str, Any]) -> str | None:
    """Return the text of the first argument that may be a question."""
    for name in _QUESTIONS:
        if name in arguments:
            return question_text(arguments[name])
    # A tool is called with whatever the model chose: one text is the question.
    texts = [
        *arguments.get("args", ()),
        *arguments.get("kwargs", {}).values(),
        arguments.get("input"),
    ]
    texts = [each for each in texts if isinstance(each, str)]
    return texts[0] if len(texts) == 1 else None


def _query(arguments: Mapping[str, Any]) -> str | None:
    question = _question(arguments)
    if question is None and ("kwargs" in arguments or "args" in arguments):
        return repr((arguments.get("args", ()), arguments.get("kwargs", {})))
    return question


def written_by(output: object) -> str | None:
    """Return what a model wrote; None for a stream, and for anything else."""
    if isinstance(output, ChatResponse):
        return output.message.content
    if isinstance(output, CompletionResponse):
        return output.text
    return output if isinstance(output, str) else None


def question_text(question: object) -> str | None:
    """Return a question as a text."""
    if isinstance(question, QueryBundle):
        return question.query_str
    return question if isinstance(question, str) else None
