"""A span processor that makes records of retrievals while an application runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from inspect import iscoroutinefunction
from itertools import count
from time import time_ns
from typing import TYPE_CHECKING, Any

from fullrecall.errors import MissingExtraError, ParameterError
from fullrecall.observe.captured import Captured
from fullrecall.observe.reading import ToolDocuments
from fullrecall.observe.reported import on_record
from fullrecall.observe.span import of_sdk
from fullrecall.observe.step import Step
from fullrecall.observe.trace import Trace, TraceReading
from fullrecall.observe.translation import TracedStep, TraceValueReader, step_of
from fullrecall.samples.retrieval import FailedCalls, Retrieval

try:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import get_current_span
except ImportError:
    raise MissingExtraError("opentelemetry-sdk", "otel", "a span processor") from None

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span


class RetrievalProcessor(SpanProcessor):
    """Records the retrieval of an instrumented application for a question, while it runs.

        processor = RetrievalProcessor()
        provider.add_span_processor(processor)
        report = evaluate(samples, IdRecall(), retriever=processor.observed(chain.invoke))

    - `id_key`: the key of a document's metadata that has its ID.
    - `failed_calls`: "unscored", or "score" to score the contexts of the other calls.
    - `other_tools`, `tool_documents`: those of `from_spans`.

    Needs OpenTelemetry's SDK (`fullrecall[otel]`) and an instrumentor, such as
    openinference-instrumentation-langchain. Thread-safe. Spans outside `capture` and `observed` are
    ignored: export them, and read them by `fullrecall.read`.
    """

    def __init__(
        self,
        *,
        id_key: str | None = None,
        failed_calls: FailedCalls = "unscored",
        other_tools: Collection[str] = (),
        tool_documents: ToolDocuments = None,
    ) -> None:
        self._reading = TraceReading(
            id_key=id_key,
            failed_calls=failed_calls,
            other_tools=other_tools,
            tool_documents=tool_documents,
        )
        # The capture of each span that has not ended, by the span's ID.
        self._captures: dict[str, SpanCapture] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002
        """Assign a span to its capture."""
        capture = _capturing.get()
        if capture is None and span.parent is not None:
            # Instrumentors may start spans in their own threads: then the parent names the capture.
            capture = self._captures.get(_id(span.parent))
        if capture is not None and capture.owner is self:
            capture.started(span)
            self._captures[_id(span.context)] = capture

    def on_end(self, span: ReadableSpan) -> None:
        """Copy the retrieval data of an ended span."""
        capture = self._captures.pop(_id(span.context), None)
        if capture is not None:
            capture.ended(step_of(of_sdk(span)))

    @contextmanager
    def capture(self) -> Iterator[SpanCapture]:
        """Record the retrieval within the block, in its thread and in the functions that it calls.

            with processor.capture() as seen:
                answer = chain.invoke(question)
            sample = seen.sample(user_input=question, reference_context_ids=["d1"])

        Threads that the application starts belong to the block if they run in its context, or if
        their spans have a parent from the block. LangChain's own threads do; those of a plain
        `ThreadPoolExecutor` do not.
        """
        capture = SpanCapture(self, self._reading)
        token = _capturing.set(capture)
        try:
            yield capture
        finally:
            # If the block was closed in another context, the token is invalid: nothing to reset.
            with suppress(ValueError):
                _capturing.reset(token)
            for span_id in capture.going_on():
                self._captures.pop(span_id, None)

    def observed(self, application: Callable[[str], Any]) -> Callable[[str], Any]:
        """Wrap an application as a retriever that returns the contexts in the application's spans.

        `application` is a function of the question, sync or async, such as `chain.invoke` or
        `engine.query`. Documents that it returns are the final list; a text is the response.
        """
        if not callable(application):
            raise ParameterError(
                f"must be a function of the question, got {application!r}", "application"
            )

        def recorded(question: str) -> Retrieval:
            with self.capture() as captured:
                output = application(question)
            return captured.retrieval(output)

        async def recorded_and_awaited(question: str) -> Retrieval:
            with self.capture() as captured:
                output = await application(question)
            return captured.retrieval(output)

        return recorded_and_awaited if iscoroutinefunction(application) else recorded


class SpanCapture(Captured):
    """The spans of a block, which may still be running. It is thread-safe."""

    def __init__(self, owner: RetrievalProcessor, reading: TraceReading) -> None:
        self.owner = owner
        self._reading = reading
        self._lock = threading.Lock()
        self._steps: list[TracedStep] = []
        self._open: dict[str, Span] = {}

    def started(self, span: Span) -> None:
        """Note that a span has started."""
        with self._lock:
            self._open[_id(span.context)] = span

    def ended(self, step: TracedStep) -> None:
        """Add the step of an ended span."""
        with self._lock:
            self._steps.append(step)
            self._open.pop(str(step.step.id), None)

    def reported(self, documents: object, query: str | None) -> None:
        """Add documents that the application itself reports, to the current span."""
        parent, now = get_current_span().get_span_context(), time_ns()
        returned = (TraceValueReader().read_documents(documents),)
        own_id = f"record {next(_numbers)}"
        step = Step(own_id, _id(parent), "retriever", "record", returned=returned, query=query)
        self.ended(TracedStep(step, now, now, remote_parent=False, question=query))

    def going_on(self) -> list[str]:
        """Return the IDs of the spans that have not ended."""
        with self._lock:
            return list(self._open)

    def retrieval(self, output: object = None) -> Retrieval:
        """Return the record of the block; if no retrieval was observed, its `error` is set.

        `output` is the block's output: documents in it are the final list, and a text is the
        response. A span whose caller is outside the block is an outermost span.
        """
        with self._lock:
            steps, open_spans = list(self._steps), list(self._open.values())
        # A stream that is not read to its end leaves the spans around it open: use them without
        # their output.
        for span in open_spans:
            step = step_of(of_sdk(span))
            step.is_open, step.problem = True, None
            step.step.returned = ()
            steps.append(step)
        inside = {step.step.id for step in steps}
        for step in steps:
            step.remote_parent = step.step.parent not in inside
        return Trace(steps).retrieval(self._reading, output)


_capturing: ContextVar[SpanCapture | None] = ContextVar("fullrecall_spans", default=None)

_numbers = count(1)


@on_record
def _take(documents: object, query: str | None) -> None:
    capture = _capturing.get()
    if capture is not None:
        capture.reported(documents, query)


def _id(context: Any) -> str:
    return f"{context.span_id:016x}"
