"""Capture the retrievals of engines' calls and of blocks of code, without wrapping objects."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.core.storage.docstore.types import BaseDocumentStore
from llama_index.core.workflow import StopEvent

from fullrecall import Retrieval
from fullrecall.observe import DocumentCopy, Step, ToolDocuments
from fullrecall.observe.captured import Captured
from fullrecall.observe.documents import is_made
from fullrecall.samples.id_keys import IdKey
from fullrecall.samples.retrieval import FailedCalls
from llama_index.evaluation.fullrecall.listening import recording
from llama_index.evaluation.fullrecall.record import UNSEEN, LlamaIndexReading, nodes_in
from llama_index.evaluation.fullrecall.recorder import LlamaIndexRecorder
from llama_index.evaluation.fullrecall.responses import is_response, response_text
from llama_index.evaluation.fullrecall.selfcheck import broken


class LlamaIndexCapture(Captured):
    """The captured steps of one block of code, or of one call of an engine or retriever in it.

    Nodes are copied as they were returned, so later changes do not reach them. `answer` is the
    text that an engine returned (None for a stream and for a block). A capture can be read at any
    time, with the steps that have ended by then.
    """

    def __init__(
        self,
        recorder: LlamaIndexRecorder,
        reading: LlamaIndexReading,
        answer: str | None = None,
        *,
        calls: Sequence[LlamaIndexCapture] = (),
        part: str | None = None,
        before: Mapping[str, DocumentCopy] | None = None,
    ) -> None:
        self._recorder = recorder
        self._reading = reading
        self._calls = calls
        self._part = part
        self._before = before or {}
        self.answer = answer

    @property
    def calls(self) -> tuple[LlamaIndexCapture, ...]:
        """A block's outermost calls of engines and retrievers, in the order in which they ended.

        Failed calls are included. The capture of a call has none.
        """
        return tuple(self._calls)

    @property
    def steps(self) -> list[Step]:
        """The steps of the call, in the order in which they began."""
        return self._recorder.steps

    @property
    def nodes(self) -> list[NodeWithScore]:
        """All nodes that any step returned."""
        return nodes_in(self.steps)

    @property
    def question(self) -> str | None:
        """The question to the engine or retriever, None for a block."""
        steps = self.steps
        return steps[0].query if steps and self._recorder.root is not None else None

    @property
    def error(self) -> str | None:
        """The exception that the call raised, as "TimeoutError: …", or None."""
        return self._recorder.error

    def retrieval(self, reading: LlamaIndexReading | None = None) -> Retrieval:
        """Return the record of the call: the contexts retrieved, kept, and in the model's prompt.

        `reading` are the options, by default those of the block. A call without an observed
        retrieval gives a record with an `error`. Raises `InputError` for nodes that the options
        cannot read.
        """
        reading = reading or self._reading
        record = reading.record_of(
            self.steps,
            root=self._recorder.root,
            part=self._part,
            response=self.answer,
            partial=self.error or broken() or self._recorder.problem,
            unseen=UNSEEN,
        )
        return self._with_earlier_ids(record, reading) if self._before else record

    def _with_earlier_ids(self, record: Retrieval, reading: LlamaIndexReading) -> Retrieval:
        """Return a call's record with further IDs: those that its texts had earlier in the block.

        They are added only to contexts with an ID that a framework generated.
        """
        others = dict(record.other_ids)
        for context in record.contexts or ():
            first = self._before.get(context.text or "")
            if first is None or context.id is None or not is_made(DocumentCopy(0, context.id, "")):
                continue
            own_ids = [each.id for each in reading.documents_of(first, 1) if each.id is not None]
            others[context.id] = (*others.get(context.id, ()), *own_ids)
        return replace(record, other_ids=others)

    def __repr__(self) -> str:
        retrieval = self.retrieval()
        summary = retrieval.error or f"{len(retrieval.contexts or ())} contexts"
        return f"<Capture of {self.question!r}: {summary}>"


@contextmanager
def capture_retrievals(
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    expand: BaseDocumentStore | None = None,
    failed_calls: FailedCalls = "unscored",
    other_tools: Collection[str] = (),
    tool_documents: ToolDocuments = None,
) -> Iterator[LlamaIndexCapture]:
    """Capture every retrieval in the block, by engines, retrievers, agents or workflows.

        with capture_retrievals() as capture:
            response = engine.query(question)
        evaluator.evaluate_response(question, response, expected_ids=["d1"])

    The block does not wrap or replace objects. Each call of a query engine, a chat engine or a
    retriever has a record of its own, in `capture.calls`; the response of an engine carries it,
    streams included, and `RecallEvaluator` scores it. The capture itself is the record of the
    whole block.

    Awaited calls belong to the block, and so do the tasks and threads that LlamaIndex starts in it.
    Your own thread starts with an empty context: use `contextvars.copy_context().run`, or
    `asyncio.to_thread`. A retrieval in a context without a record (a worker's task, a later task
    that advances a generator) may belong to the block. If it happens during the block, the sample
    is unscored, unless the block's steps handled its nodes. Await a workflow's handler inside the
    block, because calls that begin after it are not captured. The options are those of `observed`;
    the evaluator reads captures by its own options.
    """
    reading = LlamaIndexReading(
        id_key=id_key,
        metadata_mode=metadata_mode,
        expand=expand,
        failed_calls=failed_calls,
        other_tools=other_tools,
        tool_documents=tool_documents,
    )
    calls: list[LlamaIndexCapture] = []

    def deliver(recorder: LlamaIndexRecorder, returned: Any, part: str | None) -> None:
        if isinstance(returned, StopEvent):
            returned = returned.result
        before = block.reader.first_copies if part is None else None
        answer = answer_text(returned)
        capture = LlamaIndexCapture(recorder, reading, answer, part=part, before=before)
        if part is None:
            calls.append(capture)
        _carry(returned, capture)

    with recording(deliver=deliver) as block:
        yield LlamaIndexCapture(block, reading, calls=calls)


class _CarriedList(list[Any]):
    """A response's source nodes, or an agent's tool calls, with the capture of the call.

    The list takes the capture along into the result of a stream's `get_response()`, into copies of
    the response, and through `dataclasses.replace`.
    """

    capture: LlamaIndexCapture


def _field(returned: object) -> str | None:
    """Return the name of the list field that carries an answer's capture; None for other values."""
    if isinstance(returned, AgentOutput):
        return "tool_calls"
    return "source_nodes" if is_response(returned) else None


def _carry(returned: Any, capture: LlamaIndexCapture) -> None:
    field = _field(returned)
    if field is not None:
        carried = _CarriedList(getattr(returned, field) or ())
        carried.capture = capture
        setattr(returned, field, carried)


def capture_in(answer: object) -> LlamaIndexCapture | None:
    """Return a capture itself, or the capture of the call that returned `answer`, or None."""
    if isinstance(answer, LlamaIndexCapture):
        return answer
    # `getattr` does not fit here: a PydanticResponse claims to have every attribute.
    carried = getattr(answer, "__dict__", {}).get(_field(answer))
    return carried.capture if isinstance(carried, _CarriedList) else None


def answer_text(answer: object) -> str | None:
    """Return the text of an application's answer, or None for an answer without one."""
    if isinstance(answer, LlamaIndexCapture):
        return answer.answer
    if isinstance(answer, AgentOutput):
        return answer.response.content
    if is_response(answer):
        return response_text(answer)
    return answer if isinstance(answer, str) else None
