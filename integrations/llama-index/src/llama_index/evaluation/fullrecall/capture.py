"""What calls of engines and blocks of code retrieved, without wrapping anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.core.storage.docstore.types import BaseDocumentStore

from fullrecall import Retrieval
from fullrecall.observe import Step
from fullrecall.observe.captured import Captured
from fullrecall.samples.hits import IdKey
from fullrecall.samples.retrieval import FailedCalls
from llama_index.evaluation.fullrecall.record import UNSEEN, LlamaIndexReading, nodes_in, reading_of
from llama_index.evaluation.fullrecall.recorder import LlamaIndexRecorder, recording
from llama_index.evaluation.fullrecall.responses import AnyResponse, is_response, response_text
from llama_index.evaluation.fullrecall.selfcheck import broken


class LlamaIndexCapture(Captured):
    """What was seen of one block of code, or of one call of an engine or a retriever in it.

    Nodes stand as they were when they were returned; nothing that happens later changes them.
    `answer` is the text that an engine returned (None for a stream and for a block). It can be
    read at any time; what has not ended by then is not in it.
    """

    def __init__(
        self,
        recorder: LlamaIndexRecorder,
        reading: LlamaIndexReading,
        answer: str | None = None,
        calls: Sequence[LlamaIndexCapture] = (),
    ) -> None:
        self._recorder = recorder
        self._reading = reading
        self._calls = calls
        self.answer = answer

    @property
    def calls(self) -> tuple[LlamaIndexCapture, ...]:
        """Of a block: each call of an engine or a retriever that no other such call made.

        In the order in which they ended; failed ones too.
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
        """What the engine or retriever was asked."""
        steps = self.steps
        return steps[0].query if steps and self._recorder.root is not None else None

    @property
    def error(self) -> str | None:
        """What the call raised, as "TimeoutError: …"."""
        return self._recorder.error

    def retrieval(self) -> Retrieval:
        """Return the record of the call: what was retrieved, kept, and read by the model.

        Where nothing was observed its `error` says so. Raises `InputError` for nodes that the
        options cannot read.
        """
        return self.read(self._reading)

    def read(self, reading: LlamaIndexReading) -> Retrieval:
        """Return the record, read by other options."""
        return reading.record_of(
            self.steps,
            root=self._recorder.root,
            response=self.answer,
            partial=self.error or broken() or self._recorder.problem,
            unseen=UNSEEN,
        )

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
) -> Iterator[LlamaIndexCapture]:
    """Capture what is retrieved in the block, by whatever engine, retriever, agent or workflow.

        with capture_retrievals() as capture:
            response = engine.query(question)
        evaluator.evaluate_response(question, response, expected_ids=["d1"])

    Nothing is wrapped or replaced. Each call of a query engine, a chat engine or a retriever has a
    record of its own, in `capture.calls`; the response of an engine carries it, streams included,
    and `RecallEvaluator` scores it. The capture itself is the record of the whole block.

    The block stands around awaited calls too: tasks and threads that LlamaIndex starts in it
    belong to it. A thread starts with an empty context: use `contextvars.copy_context().run`, or
    `asyncio.to_thread`. What others retrieve meanwhile, with no record of their own, may be the
    block's too (a worker's task, a later task that advances a generator): its sample is unscored
    unless the block's steps handled those nodes. What begins after the block is not captured, so
    await a workflow's handler inside. The options are those of `observed`; the evaluator reads
    captures by its own.
    """
    reading = reading_of(
        id_key=id_key,
        metadata_mode=metadata_mode,
        expand=expand,
        failed_calls=failed_calls,
        other_tools=other_tools,
    )
    calls: list[LlamaIndexCapture] = []

    def deliver(recorder: LlamaIndexRecorder, returned: Any) -> None:
        answer = response_text(returned) if is_response(returned) else returned
        capture = LlamaIndexCapture(recorder, reading, answer if isinstance(answer, str) else None)
        calls.append(capture)
        if is_response(returned):
            _carry(returned, capture)

    with recording(deliver=deliver) as recorder:
        yield LlamaIndexCapture(recorder, reading, calls=calls)


class _SourceNodes(list[NodeWithScore]):
    """A response's source nodes, with the capture of its call.

    The list goes wherever the response's nodes go: to `get_response()` of a stream, to copies of
    the response, and to `dataclasses.replace`.
    """

    capture: LlamaIndexCapture


def _carry(response: AnyResponse, capture: LlamaIndexCapture) -> None:
    nodes = _SourceNodes(response.source_nodes or ())
    nodes.capture = capture
    response.source_nodes = nodes


def capture_of(response: object) -> LlamaIndexCapture | None:
    """Return what the call retrieved that returned `response`, None if it was not captured."""
    # Not getattr: a PydanticResponse claims to have every attribute.
    nodes = getattr(response, "__dict__", {}).get("source_nodes")
    return nodes.capture if isinstance(nodes, _SourceNodes) else None
