"""Spans of the real instrumentors of Haystack and DSPy, and the values that these omit.

Opt-in: `-m libraries`, with openinference-instrumentation-haystack, haystack-ai,
openinference-instrumentation-dspy and dspy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fullrecall import read

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("ignore")]

QUESTION = "high tower"


@pytest.fixture
def spans() -> Any:
    """Return an exporter that keeps the spans in memory."""
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    return InMemorySpanExporter()


@pytest.fixture
def provider(spans: Any) -> Any:
    """Return a provider whose spans the exporter keeps."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(spans))
    return made


@pytest.fixture
def haystack(provider: Any) -> Iterator[Any]:
    """Return Haystack, instrumented."""
    from openinference.instrumentation.haystack import HaystackInstrumentor

    instrumentor = HaystackInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    import haystack

    yield haystack
    instrumentor.uninstrument()


def pipeline(haystack: Any, *retrievers: int) -> Any:
    """Return a pipeline of `counts` retrievers, joined if there are several."""
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    texts = ["The tower is high.", "A high tower, high above.", "A cat.", "Towers are old."]
    store.write_documents(
        [haystack.Document(id=f"d{n}", content=text) for n, text in enumerate(texts)]
    )
    made = haystack.Pipeline()
    for n, count in enumerate(retrievers):
        made.add_component(f"search {n}", InMemoryBM25Retriever(store, top_k=count))
    if len(retrievers) > 1:
        made.add_component("joiner", DocumentJoiner())
        for n in range(len(retrievers)):
            made.connect(f"search {n}", "joiner")
    return made


def run(pipeline: Any, retrievers: int) -> list[str]:
    """Return the IDs of the documents that a pipeline returns."""
    asked = {f"search {n}": {"query": QUESTION} for n in range(retrievers)}
    (output,) = pipeline.run(asked).values()
    return [one.id for one in output["documents"]]


def test_haystack(haystack: Any, spans: Any) -> None:
    """A Haystack retriever's span gives its documents, with IDs, texts and scores."""
    expected = run(pipeline(haystack, 3), 1)
    (sample,) = read.from_spans(spans.get_finished_spans())
    assert sample.user_input == QUESTION
    assert list(sample.retrieved_context_ids or ()) == expected
    assert all(one.text and one.score is not None for one in sample.retrieved_contexts or ())


def test_a_joiner_of_haystack(haystack: Any, spans: Any) -> None:
    """A joiner's span shows its documents as reprs; their IDs name the retrieved documents."""
    expected = run(pipeline(haystack, 1, 3), 2)
    (sample,) = read.from_spans(spans.get_finished_spans())
    assert list(sample.retrieved_context_ids or ()) == expected
    assert sample.ranks is None
    (call,) = sample.retrieval.calls  # type: ignore[union-attr]
    # The joined list is the second retriever's own list object, so that this list counts.
    assert sorted(len(each.contexts or ()) for each in call.walk()) == [1, 2]


def test_dspy(provider: Any, spans: Any) -> None:
    """DSPy's passages have no IDs, and a module with its own `forward` has no span."""
    import dspy
    from openinference.instrumentation.dspy import DSPyInstrumentor

    class Passage(dict):  # type: ignore[type-arg]
        __getattr__ = dict.get  # type: ignore[assignment]

    class Own(dspy.Retrieve):  # type: ignore[misc]
        def forward(self, query: str, **_: Any) -> Any:
            return dspy.Prediction(passages=[query])

    instrumentor = DSPyInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        with dspy.context(rm=lambda query, k, **_: [Passage(long_text=query)] * k):
            dspy.Retrieve(k=2)(QUESTION)
        Own()(QUESTION)
    finally:
        instrumentor.uninstrument()
    (sample,) = read.from_spans(spans.get_finished_spans())
    assert [(one.id, one.text) for one in sample.retrieved_contexts or ()] == [(None, QUESTION)] * 2
