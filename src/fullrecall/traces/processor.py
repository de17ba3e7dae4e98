"""A span processor that makes records of retrievals while an application runs."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from fullrecall.captured import Captured
from fullrecall.errors import MissingExtraError, ParameterError
from fullrecall.retrieval import FailedCalls, Retrieval
from fullrecall.sample import Sample
from fullrecall.traces.span import of_sdk
from fullrecall.traces.trace import Reading, retrieval_of, sample_of
from fullrecall.traces.translation import TracedStep, step_of

try:
    from opentelemetry.sdk.trace import SpanProcessor
except ImportError:
    raise MissingExtraError("opentelemetry-sdk", "otel", "a span processor") from None

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span


class RetrievalProcessor(SpanProcessor):
    """Makes a sample of each trace as it ends, and records what is retrieved for a question.

        processor = RetrievalProcessor()
        provider.add_span_processor(processor)
        report = evaluate(samples, IdRecall(), retriever=processor.observed(chain.invoke))

    - `on_sample`: called with the sample of each trace whose outermost span of this process has
      ended, in the thread in which the last span ended. It must not block; what it raises is
      raised in the application. Spans within `capture` and `observed` make no such sample.
    - `id_key`: the key of a document's metadata that has its ID.
    - `name`: only calls of this retriever, or of one of several: the source of a call.
    - `failed_calls`: "unscored", or "score" for what other calls returned.
    - `max_open`: traces that may be open at once. The oldest makes room: it is handed out as it
      is, unscored.
    - `max_spans`: spans that a trace may have. One with more, such as that of a worker whose root
      never ends, is handed out as it is, unscored.

    Needs OpenTelemetry's SDK (`fullrecall[otel]`) and an instrumentor, such as
    openinference-instrumentation-langchain. Thread-safe; a forked process starts without the traces
    of its parent, which hands them out itself.
    """

    def __init__(
        self,
        on_sample: Callable[[Sample], object] | None = None,
        *,
        id_key: str | None = None,
        name: str | Sequence[str] | None = None,
        failed_calls: FailedCalls = "unscored",
        max_open: int = 1000,
        max_spans: int = 10_000,
    ) -> None:
        for option, value in (("max_open", max_open), ("max_spans", max_spans)):
            if value < 1:
                raise ParameterError(f"{option} must be at least 1, got {value!r}")
        self._on_sample = on_sample
        self._reading = Reading(id_key=id_key, name=name, failed_calls=failed_calls)
        self._max_open, self._max_spans = max_open, max_spans
        self._begin_anew()
        _processors.add(self)

    def _begin_anew(self) -> None:
        """Forget all; in a forked child, another thread may hold the lock for ever."""
        self._lock = threading.Lock()
        self._open: dict[str, Capture] = {}
        self._traces: OrderedDict[str, Capture] = OrderedDict()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002
        """Note to which capture, or to which trace, a span belongs."""
        trace_id, span_id = _ids(span)
        capture = _capturing.get()
        full: list[tuple[str, Capture]] = []
        with self._lock:
            if capture is None and span.parent is not None:
                # Where an instrumentor starts spans in threads of its own, the parent tells.
                capture = self._open.get(f"{span.parent.span_id:016x}")
            if capture is None or capture.owner is not self:
                if self._on_sample is None:
                    return
                capture = self._traces.setdefault(trace_id, Capture(self, self._reading))
            self._open[span_id] = capture
            if capture.started(span_id, span) > self._max_spans and trace_id in self._traces:
                full.append((trace_id, self._traces.pop(trace_id)))
            while len(self._traces) > self._max_open:
                full.append(self._traces.popitem(last=False))
            self._forget(each for _, each in full)
        self._hand_out(full)

    def on_end(self, span: ReadableSpan) -> None:
        """Copy what a span says of a retrieval."""
        trace_id, span_id = _ids(span)
        capture = self._open.get(span_id)
        if capture is None:
            return
        step = step_of(of_sdk(span), self._reading.id_key)
        with self._lock:
            if self._open.pop(span_id, None) is None:
                return
            has_ended = capture.ended(step) and self._traces.get(trace_id) is capture
            ended = [(trace_id, self._traces.pop(trace_id))] if has_ended else []
        self._hand_out(ended)

    def _forget(self, captures: Iterable[Capture]) -> None:
        for capture in captures:
            for span_id in [own for own, of in self._open.items() if of is capture]:
                del self._open[span_id]

    def shutdown(self) -> None:
        """Hand out the traces that are still open, unscored."""
        with self._lock:
            left = list(self._traces.items())
            self._traces.clear()
            self._open.clear()
        self._hand_out(left)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002
        """Return True: nothing waits here but traces that go on."""
        return True

    @contextmanager
    def capture(self) -> Iterator[Capture]:
        """Record what is retrieved within the block, in its thread and in what it calls.

            with processor.capture() as seen:
                answer = chain.invoke(question)
            sample = seen.sample(user_input=question, reference_context_ids=["d1"])

        Threads that the application starts belong to the block where they run in its context, or
        where their spans have a parent from the block: LangChain's own do, a plain
        `ThreadPoolExecutor` does not.
        """
        capture = Capture(self, self._reading)
        token = _capturing.set(capture)
        try:
            yield capture
        finally:
            with suppress(ValueError):  # closed in another context, where nothing was set
                _capturing.reset(token)
            with self._lock:
                self._forget([capture])

    def observed(self, application: Callable[[str], Any]) -> Callable[[str], Any]:
        """Return an application as a retriever: what its spans say it retrieves for a question.

        `application` is a function of the question, sync or async, such as `chain.invoke` or
        `engine.query`. Documents that it returns are what was handed on last; a text is the
        response.
        """
        if not callable(application):
            raise ParameterError(
                f"application must be a function of the question, got {application!r}"
            )

        def asked(question: str) -> Retrieval:
            with self.capture() as captured:
                output = application(question)
            return captured.retrieval(output)

        async def asked_and_awaited(question: str) -> Retrieval:
            with self.capture() as captured:
                output = await application(question)
            return captured.retrieval(output)

        return asked_and_awaited if iscoroutinefunction(application) else asked

    def _hand_out(self, traces: Sequence[tuple[str, Capture]]) -> None:
        if self._on_sample is None:
            return
        for trace_id, trace in traces:
            steps = trace.steps()
            self._on_sample(sample_of(trace_id, steps, self._reading, ended=trace.root_ended))


class Capture(Captured):
    """What was seen in a block, or of a trace, which may go on still. Safe under threads.

    `root_ended` says whether its outermost span of this process has ended.
    """

    def __init__(self, owner: RetrievalProcessor, reading: Reading) -> None:
        self.owner = owner
        self.root_ended = False
        self._reading = reading
        self._lock = threading.Lock()
        self._steps: list[TracedStep] = []
        self._open: dict[str, Span] = {}

    def started(self, span_id: str, span: Span) -> int:
        """Note that a span has started; return how many there are."""
        with self._lock:
            self._open[span_id] = span
            return len(self._open) + len(self._steps)

    def ended(self, step: TracedStep) -> bool:
        """Add what an ended span says; return whether all have ended, the outermost one too."""
        with self._lock:
            self._steps.append(step)
            self._open.pop(str(step.step.id), None)
            self.root_ended |= step.step.parent is None or step.remote_parent
            return self.root_ended and not self._open

    def steps(self) -> list[TracedStep]:
        """Return what the spans say, those that go on too: a stream that nobody reads does."""
        with self._lock:
            steps, open_spans = list(self._steps), list(self._open.values())
        for span in open_spans:
            step = step_of(of_sdk(span), self._reading.id_key)
            step.is_open, step.problem = True, None
            step.step.returned = ()
            steps.append(step)
        return steps

    def retrieval(self, output: object = None) -> Retrieval:
        """Return the record of the block; where nothing was observed, its `error` says so.

        `output` is what the block returned: documents in it are what was handed on last, and a
        text is the response. A span that a span from outside of the block called is an outermost
        one.
        """
        steps = self.steps()
        inside = {step.step.id for step in steps}
        for step in steps:
            step.remote_parent = step.step.parent not in inside
        return retrieval_of(steps, self._reading, output)


_processors: WeakSet[RetrievalProcessor] = WeakSet()


def _after_fork() -> None:
    for processor in _processors:
        processor._begin_anew()  # noqa: SLF001 - of the same module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_capturing: ContextVar[Capture | None] = ContextVar("fullrecall_spans", default=None)


def _ids(span: Any) -> tuple[str, str]:
    context = span.context
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"
