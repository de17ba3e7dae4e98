"""Record LangChain's callbacks as steps, without deciding which steps count."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from itertools import count
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers.context import register_configure_hook
from langsmith.run_helpers import get_current_run_tree, trace

from fullrecall.errors import InputError
from fullrecall.observe import ROOT, Step, StepKind, StepLog, brief, on_record
from fullrecall.observe.conventions import FALLBACKS, number_of_task
from fullrecall.observe.messages import AgentMessage, answer_of, question_of
from langchain_fullrecall.outputs import tool_query
from langchain_fullrecall.reader import LangChainReader

_retrieving: ContextVar[Hashable | None] = ContextVar("fullrecall_retrieving", default=None)
"""The open run of a retriever in this context. LangChain does not pass it as the parent of the runs
that the retriever calls."""

_numbers = count()

_TASK = "langgraph_checkpoint_ns"

RETRIED = "retry:attempt:"
"""The tag that LangChain gives to a second or later attempt."""


class LangChainRecorder(BaseCallbackHandler):
    """A callback handler that records each step of the calls that it is passed to.

    `outer` is the recorder of the surrounding block, and gets the same steps. `answered` has the
    answer of each outermost run that succeeded, by the run's ID.
    """

    # This makes LangChain call the handler in the run's own task or thread. Only that task or
    # thread identifies the caller.
    run_inline = True

    def __init__(self, outer: LangChainRecorder | None = None) -> None:
        self.log = StepLog(LangChainReader())
        self.answered: dict[Hashable, str] = {}
        # For each run of `.map()`, the position of each input.
        self._mapped: dict[Hashable | None, dict[str | None, int]] = {}
        self._outer = outer
        self._problem: str | None = None

    def __deepcopy__(self, memo: object) -> LangChainRecorder:
        return self

    def on_chain_start(
        self, serialized: dict[str, Any] | None, inputs: Any, *, run_id: UUID, **fields: Any
    ) -> None:
        """Record the beginning of a chain."""
        query = question_of(inputs) if fields.get("parent_run_id") is None else None
        if type(inputs) is list and all(isinstance(each, str) for each in inputs):
            self._mapped[run_id.int] = {each: position for position, each in enumerate(inputs)}
        self.began("chain", serialized, inputs, run_id, fields, query=query)

    def on_retriever_start(
        self, serialized: dict[str, Any] | None, query: str, *, run_id: UUID, **fields: Any
    ) -> None:
        """Record the beginning of a retriever."""
        self.began("retriever", serialized, None, run_id, fields, query=str(query))
        _retrieving.set(run_id.int)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Record the beginning of a tool."""
        name = (serialized or {}).get("name") or fields.get("name")
        query = tool_query(inputs or input_str) or repr(inputs or input_str)
        self.began(
            "tool", serialized, inputs, run_id, {**fields, "name": name}, query=query, callee=name
        )

    def on_llm_start(
        self, serialized: dict[str, Any], prompts: Any, *, run_id: UUID, **fields: Any
    ) -> None:
        """Record the prompts or the messages sent to a model."""
        self.began("llm", serialized, None, run_id, fields, prompt=prompts)

    on_chat_model_start = on_llm_start  # type: ignore[assignment]

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **fields: Any) -> None:
        """Record the output of a step.

        `fields` has a step's streamed inputs, which are complete only at its end.
        """
        self.ended(run_id, outputs, None, fields.get("inputs"))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **fields: Any) -> None:
        """Record that a step failed, or that it left early without failing.

        If the step passed a `Command` to the outer graph, the `Command` is its output.
        """
        left_early, output = _departure(error)
        reason = None if left_early else brief(error)
        self.ended(run_id, output, reason, fields.get("inputs"))

    on_retriever_end = on_tool_end = on_llm_end = on_chain_end  # type: ignore[assignment]
    on_retriever_error = on_tool_error = on_llm_error = on_chain_error

    def began(
        self,
        kind: StepKind,
        serialized: Mapping[str, Any] | None,
        given: Any,
        run_id: UUID,
        fields: Mapping[str, Any],
        **step_fields: Any,
    ) -> None:
        """Record the beginning of a step; `step_fields` are fields of `Step`."""
        parent_id = fields.get("parent_run_id")
        parent = self._caller(None if parent_id is None else parent_id.int)
        name = str(fields.get("name") or (serialized or {}).get("name") or kind)
        tags = fields.get("tags") or ()
        metadata = fields.get("metadata") or {}
        caller = self.log.step(parent)
        group, branch = branch_of(tags, metadata, caller, fields.get("tool_call_id"))
        position = self._mapped.get(parent, {}).get(step_fields.get("query"))
        if position is not None:
            group, branch = "map", f"{position:09}"
        self.log.begin(
            run_id.int,
            parent,
            kind,
            name,
            given,
            task=graph_task(tags, metadata),
            closed=is_closed(tags, metadata),
            tries=name == FALLBACKS,
            group=group,
            branch=branch,
            labels=(tuple(tags), metadata),
            **step_fields,
        )
        if caller is not None and any(tag.startswith(RETRIED) for tag in tags):
            caller.tries = True
        if self._outer is not None:
            self._outer.began(kind, serialized, given, run_id, fields, **step_fields)

    def reported(self, documents: object, query: str | None) -> None:
        """Record documents that the application reports, also in the surrounding block."""
        try:
            self.log.report(f"record {next(_numbers)}", self._caller(None), documents, query)
        except InputError as error:
            self._problem = f"record() was passed what cannot be read: {error}"
        if self._outer is not None:
            self._outer.reported(documents, query)

    @property
    def partial(self) -> str | None:
        """The reason why this record is incomplete; None if it is complete."""
        return self._problem or self.log.partial

    def ended(self, run_id: UUID, output: Any, error: str | None, given: Any) -> None:
        """Record the end of a step, also in the surrounding block."""
        step = self.log.end(run_id.int, output, error=error, given=given)
        ends_call = step is not None and not step.retrieves and self.log.step(step.parent) is None
        if ends_call and step is not None and step.error is None:
            text = answer_of(output)
            if text is not None:
                self.answered[run_id.int] = text
        if _retrieving.get() == run_id.int:
            above = filter(None, map(self.log.step, self._callers(step)))
            retrieving = (s.id for s in above if s.kind == "retriever" and s.ended is None)
            _retrieving.set(next(retrieving, None))
        if self._outer is not None:
            self._outer.ended(run_id, output, error, given)

    def _caller(self, stated: int | None) -> Hashable | None:
        """Return the true caller of a run, which may be below the `stated` parent.

        LangChain states the caller's parent instead of the caller for fallbacks, for runnables
        wrapped by `with_config`, and for the runs that a retriever calls. Therefore, if an open
        step of this context is below the stated parent, it is taken for the caller.
        """
        config = var_child_runnable_config.get() or {}
        around = getattr(config.get("callbacks"), "parent_run_id", None)
        caller: Hashable | None = stated
        for candidate in (_retrieving.get(), None if around is None else around.int):
            step = self.log.step(candidate)
            if step is not None and step.ended is None and caller in self._callers(step):
                caller = candidate
        return caller

    def _callers(self, step: Step | None) -> Iterator[Hashable | None]:
        """Yield the IDs of a step's caller, of its caller, and so on; None after the outermost."""
        while step is not None:
            yield step.parent
            step = self.log.step(step.parent)


def conversation(messages: Sequence[AgentMessage], log: StepLog) -> None:
    """Record the tools' messages of a turn as steps."""
    queries = {call.get("id"): call.get("args") for each in messages for call in each.calls}
    for number, message in enumerate(messages):
        if message.role != "tool":
            continue
        query = tool_query(queries.get(message.call_id))
        name = message.name or "tool"
        log.begin(("message", number), ROOT, "tool", name, query=query, callee=name)
        output = {"content": message.text, "artifact": message.artifact}
        log.end(("message", number), output, error=message.failure)


def graph_task(tags: Any, metadata: Mapping[str, Any]) -> Hashable | None:
    """Return the LangGraph task that this step is an attempt of, or None."""
    task: Hashable | None = metadata.get(_TASK)
    if task is None:
        return None
    return task if any(str(tag).startswith("graph:step:") for tag in tags) else None


def is_closed(tags: Any, metadata: Mapping[str, Any]) -> bool:
    """Return whether a step is a task of a graph without a thread ID, so without earlier state."""
    return graph_task(tags, metadata) is not None and metadata.get("thread_id") is None


def branch_of(
    tags: Any,
    metadata: Mapping[str, Any],
    caller: Step | None,
    call_id: str | None = None,
) -> tuple[Hashable | None, str]:
    """Return the parallel group that a step belongs to, and the name of its branch.

    Groups are the branches of a `RunnableParallel`, the retrievers of an ensemble, the tasks of one
    graph step, and a model's tool calls, whose branch is "". Returns (None, "") for other steps.
    """
    for tag in map(str, tags):
        if tag.startswith("graph:step:"):
            return tag, number_of_task(metadata.get("langgraph_path"))
        for construct in ("map:key:", "retriever_"):
            if tag.startswith(construct):
                return construct, tag
    if caller is not None and metadata.get(_TASK) not in (None, caller.labels[1].get(_TASK)):
        # This is a task of the functional API.
        return "tasks", number_of_task(metadata.get("langgraph_path"))
    return (None if call_id is None else "tool calls"), ""


def _departure(error: BaseException) -> tuple[bool, Any]:
    """Return whether a step left early without failing, and its output.

    These steps leave early: a stream that is not read to its end, a graph node that waits for a
    human, and a node that passes a `Command` (its output) to the outer graph. LangGraph raises an
    exception for the last two.
    """
    errors = sys.modules.get("langgraph.errors")
    if errors is None or not isinstance(error, errors.GraphBubbleUp):
        return isinstance(error, GeneratorExit), None
    return True, error.args[0] if isinstance(error, errors.ParentCommand) else None


@on_record
def _take_report(documents: object, query: str | None) -> None:
    callbacks: Any = (var_child_runnable_config.get() or {}).get("callbacks")
    handlers = getattr(callbacks, "handlers", callbacks) or ()
    reached = (*handlers, *(hook.get() for hook in hooks))
    # A recorder may be reached both as a handler of the call and by its context variable.
    for recorder in dict.fromkeys(r for r in reached if isinstance(r, LangChainRecorder)):
        recorder.reported(documents, query)
    if get_current_run_tree() is not None:
        _trace(documents, query)


def _trace(documents: object, query: str | None) -> None:
    """Add reported documents to the trace that LangSmith keeps."""
    with suppress(InputError):
        stored = [
            {
                "id": copy.id,
                "page_content": copy.text,
                "metadata": dict(copy.detail.metadata),
                "type": "Document",
            }
            for copy in LangChainReader().read_documents(documents).documents
        ]
        with trace("record", "retriever", inputs={"query": query}) as run:
            run.end(outputs={"documents": stored})


capturing: ContextVar[LangChainRecorder | None] = ContextVar("fullrecall_capture", default=None)
hooks: list[Any] = [capturing]
"""Context variables, and similar objects, whose `get` returns a context's recorder."""
# Registered once, since LangChain never removes a hook and calls all of them at every call.
register_configure_hook(capturing, inheritable=True)
