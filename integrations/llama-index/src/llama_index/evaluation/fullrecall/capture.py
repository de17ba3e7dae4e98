"""What calls of engines and blocks of code retrieved, without wrapping anything."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeAlias, Unpack

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.schema import NodeWithScore

from fullrecall import Context, Retrieval, Sample
from fullrecall.errors import ParameterError
from fullrecall.parameters import check_k
from fullrecall.steps import Step
from llama_index.evaluation.fullrecall.messages import got
from llama_index.evaluation.fullrecall.record import UNSEEN, Options, Reading, nodes_in, reading_of
from llama_index.evaluation.fullrecall.recorder import Recorder, attach_to, detach_from, recording
from llama_index.evaluation.fullrecall.responses import is_response, response_text
from llama_index.evaluation.fullrecall.selfcheck import broken

Attachable: TypeAlias = BaseQueryEngine | BaseChatEngine | BaseRetriever
"""What can be attached to."""


class Capture:
    """What was seen of one call of an engine or a retriever, or of one block of code.

    Nodes stand as they were when they were returned; nothing that happens later changes them.
    `answer` is the text that an engine returned (None for a stream and for a block). It can be
    read at any time; what has not ended by then is not in it.
    """

    def __init__(self, recorder: Recorder, reading: Reading, answer: str | None = None) -> None:
        self._recorder = recorder
        self._reading = reading
        self.answer = answer

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

    def read(self, reading: Reading) -> Retrieval:
        """Return the record, read by other options."""
        return reading.record_of(
            self.steps,
            root=self._recorder.root,
            response=self.answer,
            partial=self.error or broken() or self._recorder.problem,
            unseen=UNSEEN,
        )

    def contexts(self) -> list[Context] | None:
        """Return the list that is scored; None where nothing was observed or all calls failed.

        Raises `InputError` for nodes that the options cannot read.
        """
        contexts = self.retrieval().contexts
        return None if contexts is None else list(contexts)

    def sample(self, sample: Sample | Mapping[str, Any] | None = None, /, **fields: Any) -> Sample:
        """Return a sample, or the one with these fields, with what this call retrieved.

        A call that failed, and one in which no retrieval was seen, has a `retrieval_error`, so
        that scorers leave it unscored. Raises `InputError` for what makes no sample.
        """
        if sample is None and not fields:
            fields = {"user_input": self.question}
        fields_of_sample = sample.to_dict() if isinstance(sample, Sample) else dict(sample or {})
        return Sample(**{**fields_of_sample, **fields}).with_retrieval(self.retrieval())

    def __repr__(self) -> str:
        retrieval = self.retrieval()
        summary = retrieval.error or f"{len(retrieval.contexts or ())} contexts"
        return f"<Capture of {self.question!r}: {summary}>"


class Attachment:
    """What `attach` returns: it holds the captures of the calls, and ends with `detach`.

    As a context manager it detaches at the end of the block. Calls that run then are still
    captured.
    """

    def __init__(self, engine: Attachable, keep: int | None, reading: Reading) -> None:
        captures: deque[Capture] = deque(maxlen=keep)
        self._captures = captures
        self._engine = weakref.ref(engine)

        def deliver(recorder: Recorder, returned: Any) -> None:
            answer = response_text(returned) if is_response(returned) else None
            answer = returned if isinstance(returned, str) else answer
            capture = Capture(recorder, reading, answer)
            captures.append(capture)
            if is_response(returned):
                _carry(returned, capture)

        self._deliver = deliver
        attach_to(engine, deliver)

    @property
    def captures(self) -> tuple[Capture, ...]:
        """The captures of the last calls, in the order in which they ended; failed ones too."""
        return tuple(self._captures)

    def detach(self) -> None:
        """Capture no further calls. What was captured stays."""
        if (engine := self._engine()) is not None:
            detach_from(engine, self._deliver)

    def __repr__(self) -> str:
        thing = self._engine()
        name = "nothing any more" if thing is None else type(thing).__name__
        return f"<Attachment to {name}: {len(self._captures)} captured>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.detach()


def attach(
    engine: Attachable, /, *, keep: int | None = 1000, **options: Unpack[Options]
) -> Attachment:
    """Capture what each call of a query engine, chat engine or retriever retrieves.

    The object stays what it is: nothing is wrapped or replaced. `RecallEvaluator` scores what was
    seen of a response's call; the attachment holds the last `keep` captures (all of them with
    None), those of failed calls and of retrievers, which return plain lists, included. It works
    in threads, tasks and agents, and for streams, in which the retrieval is over before the first
    word. `options` are those of `observed`; the evaluator reads captures by its own.

    A thread that the engine starts without `contextvars.copy_context()` is seen only by what it
    returned. Where that is not enough, the sample is unscored.

    Raises `ParameterError` for what cannot be attached to: an agent or a workflow is `observed`,
    or run in a `with capture_retrievals():`.
    """
    if not isinstance(engine, (BaseQueryEngine, BaseChatEngine, BaseRetriever)):
        raise ParameterError(
            f"expected a query engine, a chat engine or a retriever, {got(engine)}: "
            "run anything else in `with capture_retrievals() as capture:`"
        )
    if keep is not None:
        check_k(keep, "keep")
    return Attachment(engine, keep, reading_of(**options))


@contextmanager
def capture_retrievals(**options: Unpack[Options]) -> Iterator[Capture]:
    """Capture what is retrieved in the block, by whatever engine, retriever, agent or workflow.

    `with capture_retrievals() as capture:` stands around the calls, awaited ones too: tasks and
    threads that LlamaIndex starts in the block belong to it. What others retrieve meanwhile, with
    no record of their own, may be the block's too (a worker's task, a later task that advances a
    generator): its sample is unscored unless the block's steps handled those nodes. What ends
    after the block is not captured, so await a workflow's handler inside. `options` are those of
    `observed`.
    """
    reading = reading_of(**options)
    with recording() as recorder:
        yield Capture(recorder, reading)


_CAPTURE = "_fullrecall_capture"
"""The attribute under which a response carries its capture."""


class _SourceNodes(list[NodeWithScore]):
    """A response's source nodes, with the capture of its call.

    The list goes wherever the response's nodes go: to `get_response()` of a stream, and to
    `dataclasses.replace`. Pickled and copied, it is a plain list.
    """

    capture: Capture

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[NodeWithScore]]]:
        return list, (list(self),)

    def __reduce_ex__(self, _: Any) -> tuple[type[list[Any]], tuple[list[NodeWithScore]]]:
        return self.__reduce__()


def _carry(response: Any, capture: Capture) -> None:
    setattr(response, _CAPTURE, capture)
    if isinstance(response.source_nodes, list):
        nodes = _SourceNodes(response.source_nodes)
        nodes.capture = capture
        response.source_nodes = nodes


def capture_of(response: object) -> Capture | None:
    """Return what the call retrieved that returned `response`, None if it was not captured."""
    # Not getattr: a PydanticResponse claims to have every attribute.
    carried = getattr(response, "__dict__", None)
    if not isinstance(carried, dict):
        return None
    capture = carried.get(_CAPTURE)
    if capture is None and isinstance(nodes := carried.get("source_nodes"), _SourceNodes):
        capture = nodes.capture
    return capture if isinstance(capture, Capture) else None
