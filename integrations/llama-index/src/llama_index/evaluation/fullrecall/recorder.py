"""Record LlamaIndex's spans and events as steps, without deciding which steps count."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import count
from typing import Any, TypeAlias

from llama_index.core.agent.workflow import AgentWorkflow, BaseWorkflowAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.node_parser import NodeParser
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import QueryBundle
from llama_index.core.tools.types import BaseTool, ToolOutput
from llama_index.core.workflow import Event

from fullrecall.observe import Step, StepKind, StepLog, brief
from llama_index.evaluation.fullrecall.nodes import are_nodes
from llama_index.evaluation.fullrecall.reader import NodeValueReader
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


_SILENT = (BaseLLM, BaseEmbedding, NodeParser)
"""Classes whose inputs and outputs have no documents; events report the models' prompts."""


def kind_of(instance: object) -> StepKind:
    """Return the kind of step of a LlamaIndex object, by its class."""
    return _kind_of_class(type(instance))  # type: ignore[arg-type]


@lru_cache(maxsize=1000)
def _kind_of_class(own: type) -> StepKind:
    return next((kind for base, kind in _KINDS if issubclass(own, base)), "chain")


def _hands_over(tool: Any) -> bool:
    """Return whether a tool is LlamaIndex's own hand-off to another agent."""
    module = getattr(getattr(tool, "async_fn", None), "__module__", None)
    return str(module).startswith("llama_index.core.agent.")


Deliver: TypeAlias = "Callable[[LlamaIndexRecorder, Any, str | None], None]"
"""A function that receives the record of a call that has ended and the call's output; for a block's
own record, also the ID of the step with this output.
"""


class LlamaIndexRecorder:
    """Records the steps of one call or block until `close`; thread-safe.

    - `root`: the ID of the step that is the call itself, None for a block.
    - `log`: the recorded steps. For a call without a LlamaIndex span, the code that opened the
      recorder adds the beginning and end of the call.
    - `deliver`: for a `with` block, called with the record and output of each ended call.
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
        self._attempts: dict[tuple[str, int] | None, tuple[Event, str]] = {}
        self._attempted: dict[str, tuple[str, int]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "log": None, "reader": None, "deliver": None, "is_open": False}

    @property
    def steps(self) -> list[Step]:
        """The steps so far."""
        return self.log.steps if self.is_open else self._steps

    @property
    def problem(self) -> str | None:
        """The reason why the record is incomplete; None if it is complete."""
        return self.partial or (self.log.partial if self.is_open else None)

    def begin(
        self, id_: str, parent: str | None, instance: Any, arguments: Mapping[str, Any]
    ) -> None:
        """Record the beginning of a span.

        Calls of an object's own methods, as when `retrieve` calls `_retrieve`, are not new steps.
        """
        kind, is_silent = kind_of(instance), isinstance(instance, _SILENT)
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
        query = None if is_silent else query_in(arguments)
        here = self._threads[id_] = threading.get_ident()
        is_beside = self._threads.get(caller, self.thread) != here
        self.log.begin(
            id_,
            caller,
            kind,
            name_of(instance, id_),
            None if is_silent or kind == "retriever" else arguments,
            query=query,
            callee=None if query is None else self.log.reader.identities(instance) or None,
            group="threads" if is_beside else None,
            answers=isinstance(instance, BaseSynthesizer) and "nodes" in arguments,
            stores=isinstance(instance, NodeParser) and id_.partition("-")[0].endswith("__call__"),
            task=self._task(id_, arguments) if instance is None else None,
            reorders=isinstance(instance, LongContextReorder),
        )

    def end(self, id_: str, output: Any = None, error: BaseException | None = None) -> None:
        """Record the end of a span."""
        outer = self._same.get(id_, (None, id_))[1]
        if outer != id_:
            # `retrieve` copies the list that `_retrieve` returned: note both as the step's output.
            self._inner[outer] = self.log.reader.identities(output)
            return
        if output is not None:
            self._attempts.pop(self._attempted.pop(id_, None), None)
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
        if step.kind == "retriever" and not step.returned and are_nodes(output):
            step.kind = "chain"  # This retriever looks up tools, answers, rows or earlier messages.
        step.outputs += self._inner.pop(id_, ())
        if step.answers:
            # A step that returns the same object as an inner call may have repaired a failure. But
            # an engine always returns its synthesizer's object, so equal objects prove no repair.
            step.outputs = ()
        if self.deliver is not None and (step.answers or id_.partition("-")[0].endswith(".run")):
            self.deliver(self, output, id_)

    def prompt(self, span: str | None, texts: list[str]) -> None:
        """Record the prompts sent to a model."""
        self._event(span, "llm", "model", prompt=texts)

    def retrieved(self, span: str | None, query: Any, nodes: Any) -> None:
        """Record a retrieval that is reported outside of a retriever."""
        step = self.log.step(self._caller(span))
        if step is None or step.kind != "retriever":
            self._event(span, "retriever", "retrieval", nodes, query=question_text(query))

    def reported(self, span: str | None, documents: object, query: str | None) -> None:
        """Record documents that the application reports."""
        self.log.report(f"event {next(_numbers)}", self._caller(span), documents, query)

    def fail(self, error: Exception) -> None:
        """Log an error in recording, and mark the record as incomplete."""
        _logger.error("a step of a retrieval was not recorded", exc_info=error)
        self.partial = f"the call was not recorded completely: {brief(error)}"

    def close(self) -> None:
        """Stop recording; keep the steps with their copies, and release all other objects."""
        if not self.is_open:
            return
        self._steps, self.partial = self.steps, self.problem
        self.is_open = False
        self.deliver = None
        self.reader.forget()
        self._same = {}
        self._attempts = {}

    def _task(self, id_: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the ID of the first attempt at a workflow's step; None if no argument is an event.

        A step that must wait, for example for a human, ends with the output None. Later it starts
        again with the same event, as another attempt.
        """
        event = next((each for each in arguments.values() if isinstance(each, Event)), None)
        if event is None:
            return None
        key = self._attempted[id_] = id_.partition("-")[0], id(event)
        _, first = self._attempts.setdefault(key, (event, id_))
        return first

    def _caller(self, span: str | None) -> str | None:
        return self._same.get(span or "", (None, span))[1]

    def _event(
        self, span: str | None, kind: StepKind, name: str, output: Any = None, **fields: Any
    ) -> None:
        id_ = f"event {next(_numbers)}"
        self.log.begin(id_, self._caller(span), kind, name, **fields)
        self.log.end(id_, output)


def name_of(instance: Any, id_: str) -> str:
    """Return the name of a span's object, or of its function if it has no object."""
    if isinstance(instance, BaseTool):
        return str(instance.metadata.name)
    return id_.partition("-")[0] if instance is None else type(instance).__name__


_QUESTIONS = ("str_or_query_bundle", "query_bundle", "query", "message", "query_str")


def question_in(arguments: Mapping[str, Any]) -> str | None:
    """Return the text of the first argument that may be a question, or None."""
    for name in _QUESTIONS:
        if name in arguments:
            return question_text(arguments[name])
    # A model chooses a tool's arguments: a single text among them is the question.
    texts = [
        *arguments.get("args", ()),
        *arguments.get("kwargs", {}).values(),
        arguments.get("input"),
    ]
    texts = [each for each in texts if isinstance(each, str)]
    return texts[0] if len(texts) == 1 else None


def query_in(arguments: Mapping[str, Any]) -> str | None:
    """Return the question among arguments, or all arguments of a tool as text, or None."""
    question = question_in(arguments)
    if question is None and ("kwargs" in arguments or "args" in arguments):
        return repr((arguments.get("args", ()), arguments.get("kwargs", {})))
    return question


def written_by(output: object) -> str | None:
    """Return the text that a model wrote; None for a stream, and for any other value."""
    if isinstance(output, ChatResponse):
        return output.message.content
    if isinstance(output, CompletionResponse):
        return output.text
    return output if isinstance(output, str) else None


def question_text(question: object) -> str | None:
    """Return the text of a question; None if it is neither a text nor a `QueryBundle`."""
    if isinstance(question, QueryBundle):
        return question.query_str
    return question if isinstance(question, str) else None
