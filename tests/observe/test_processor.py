"""The span processor works with threads, any order of spans, repeated ends, and little memory."""

from __future__ import annotations

import gc
import os
import random
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import Span, TracerProvider

from fullrecall import Sample, record
from fullrecall.observe import RetrievalProcessor
from fullrecall.observe.processor import SpanCapture
from fullrecall.run.retrievers import as_retriever

RUNS = int(os.environ.get("FULLRECALL_RUNS", "8"))


class Application:
    """An application that makes traces by hand, span by span."""

    def __init__(self) -> None:
        self.processor = RetrievalProcessor()
        self.provider = TracerProvider()
        self.provider.add_span_processor(self.processor)
        self._tracer = self.provider.get_tracer("tests")

    def start(self, name: str, parent: Span | None = None, ids: tuple[str, ...] = ()) -> Any:
        """Start a span: a retriever that returns `ids`, or a chain."""
        context = None if parent is None else otel.set_span_in_context(parent)
        span = self._tracer.start_span(name, context or otel.set_span_in_context(otel.INVALID_SPAN))
        span.set_attribute("openinference.span.kind", "RETRIEVER" if ids else "CHAIN")
        # Each call has its own query, since the same query again would recover a failure.
        span.set_attribute("input.value", " ".join([name, *ids]))
        for n, own in enumerate(ids):
            span.set_attribute(f"retrieval.documents.{n}.document.id", own)
        return span


def ids_of(seen: SpanCapture) -> list[Any]:
    """Return the retrieved IDs in any order, since the order of concurrent calls is no rank."""
    return sorted(context.id or "" for context in seen.retrieval().contexts or ())


@pytest.mark.parametrize("seed", range(RUNS))
def test_any_interleaving_gives_each_block_its_own(seed: int) -> None:
    """Threads start, end, and end again the spans of many blocks, in any order."""
    app = Application()

    def block(number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        with app.processor.capture() as seen:
            root = app.start(f"q{number}")
            ids = [f"{number}.{n}" for n in range(rng.randint(1, 4))]
            work = [app.start("search", root, (own,)) for own in ids]
            work += rng.sample(work, k=rng.randint(0, len(work)))  # Some spans are ended twice.
            rng.shuffle(work)
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda span: span.end(), work))
                list(pool.map(app.processor.on_end, work))  # This provider reports an end twice.
            root.end()
        assert ids_of(seen) == ids

    switches = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(block, range(20)))
    finally:
        sys.setswitchinterval(switches)
    assert app.processor._captures == {}


def test_threads_without_the_context_belong_by_their_parents() -> None:
    """Spans of threads without the context belong to the block of their parent."""
    app = Application()
    with app.processor.capture() as seen, ThreadPoolExecutor(1) as pool:
        root = app.start("q")
        pool.submit(lambda: app.start("search", root, ("a",)).end()).result()
        pool.submit(lambda: app.start("search", None, ("b",)).end()).result()
        root.end()
    app.start("search", root, ("late",)).end()
    assert ids_of(seen) == ["a"]


@pytest.mark.parametrize(
    "result",
    [["c", "a"], [("c", 0.9), ("a", 0.1)], {"answer": "x", "hits": [{"id": "c"}, {"id": "a"}]}],
)
def test_what_an_application_returns_counts_in_any_form(result: Any) -> None:
    """IDs and rows that an application returns name documents of its spans."""
    application = Application()

    def ask(question: str) -> Any:
        application.start("search", ids=("a", "b", "c")).end()
        return result

    found = as_retriever(application.processor.observed(ask)).retrieve(Sample(user_input="q"))
    assert found.error is None
    assert [context.id for context in found.contexts or ()] == ["c", "a"]


def test_spans_that_never_end_are_let_go() -> None:
    """Spans that never end are freed with their block, and those outside of blocks at once."""
    app = Application()
    with app.processor.capture() as seen:
        spans = [app.start(f"q{n}") for n in range(10)]
    spans += [app.start("outside") for _ in range(10)]
    assert app.processor._captures == {}
    held = [weakref.ref(span) for span in spans]
    del seen, spans
    gc.collect()
    assert not any(each() for each in held)


@pytest.mark.parametrize("documents", [[{"id": "a", "text": "x"}, "b"], ["a", "b"]])
def test_documents_that_the_application_reports_count(documents: Any) -> None:
    """A vector store that no instrumentor knows is reported by `record`, inside a span or not."""
    application = Application()

    def ask(question: str) -> str:
        with otel.use_span(application.start("chain"), end_on_exit=True):
            record(documents, query=question)
        return "An answer."

    found = as_retriever(application.processor.observed(ask)).retrieve(Sample(user_input="q"))
    assert [context.id or context.label for context in found.contexts or ()] == ["a", "b"]
    assert [(call.source, call.query) for call in found.calls] == [("record", "q")]


def test_tools_of_an_application() -> None:
    """A function reads the documents of one tool, and another tool does not retrieve."""
    app = Application()
    processor = RetrievalProcessor(
        tool_documents={"kb": lambda text: text.split(";")}, other_tools=["weather"]
    )
    app.provider.add_span_processor(processor)
    with processor.capture() as seen:
        root = app.start("q")
        for name, output in (("kb", "d1;d2"), ("weather", "Sunny and mild all day long. " * 9)):
            tool = app.start(name, root)
            tool.set_attribute("openinference.span.kind", "TOOL")
            tool.set_attribute("output.value", output)
            tool.end()
        root.end()
    assert ids_of(seen) == ["d1", "d2"]


def test_a_span_that_is_open_when_the_record_is_read() -> None:
    """An open caller is no problem, and an open search is named."""
    app = Application()
    with app.processor.capture() as seen:
        root = app.start("answer")
        app.start("search", root, ("a",)).end()
        assert ids_of(seen) == ["a"]
        late = app.start("late", root, ("b",))
        assert seen.retrieval().error == "late has not ended"
        late.end()
        assert ids_of(seen) == ["a", "b"]
