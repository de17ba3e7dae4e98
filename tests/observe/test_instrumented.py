"""Instrumented applications are evaluated, captured in blocks, and read from files."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from openinference.instrumentation.langchain import LangChainInstrumentor
from tests.observe.instrumented import (  # noqa: F401 - fixtures
    QUESTION,
    Documents,
    Nodes,
    Tracing,
    asked,
    chain,
    fusion,
    instrumented_process,
    tracing_of_a_test,
)

from fullrecall import IdRecall, Retrieval, Sample, evaluate
from fullrecall import read as datasets

pytestmark = [
    pytest.mark.frameworks,
    # An instrumentor swallows its own exceptions: a warning as an error would lose its spans.
    pytest.mark.filterwarnings("ignore"),
]


def test_an_evaluation_asks_an_instrumented_application(tracing: Tracing) -> None:
    """`evaluate` asks an application concurrently, and a failure is that sample's own."""

    def application(question: str) -> str:
        return (
            str(chain().invoke(question).content)
            + Documents(fails=question == "1").invoke(question)[0].page_content
        )

    samples = [
        Sample(id=str(n), user_input=str(n), reference_context_ids=["d0", "d9"]) for n in range(4)
    ]
    report = evaluate(
        samples, IdRecall(), retriever=tracing.processor.observed(application), progress=False
    )
    assert [row.results[0].score for row in report.rows] == [0.5, None, 0.5, 0.5]
    assert "the index is gone" in report.rows[1].results[0].reason


@pytest.mark.parametrize("application", [Documents().ainvoke, fusion().aretrieve])
def test_an_async_application(application: Any, tracing: Tracing) -> None:
    """An async application is awaited in its caller's loop, and questions are kept apart."""

    async def both() -> list[Retrieval]:
        observed = tracing.processor.observed(application)
        return await asyncio.gather(*map(observed, "ab"))

    found = asyncio.run(both())
    assert [each.calls[0].query for each in found] == ["a", "b"]
    for each in found:
        assert each.error is None
        assert [context.id for context in each.contexts or ()][:1] in (["d0"], ["d2"])
        assert len(each.calls) == 1


def test_an_id_in_the_metadata(tracing: Tracing) -> None:
    """`id_key` names the metadata key of the ID, as in the adapters."""
    Documents(count=2).invoke("q")
    Nodes(2).retrieve("q")
    spans = tracing.spans.get_finished_spans()
    found = list(datasets.from_spans(spans, id_key="source"))
    assert found[0].retrieved_context_ids == ("s0", "s1")
    assert found[1].retrieved_context_ids == (None, None)


def test_a_block_records_what_runs_in_it(tracing: Tracing) -> None:
    """A block inside an application's own span records its steps, and the outer trace continues."""
    with tracing.provider.get_tracer("test").start_as_current_span("request"):
        Documents(count=1).invoke("before")
        with tracing.processor.capture() as seen:
            Documents(count=2).invoke("within")
        Documents(count=3).invoke("after")
    sample = seen.sample(user_input="within", reference_context_ids=["d1"])
    assert sample.retrieved_context_ids == ("d0", "d1")


@pytest.mark.parametrize("retrieve", [Documents(count=80).invoke, Nodes(40).retrieve])
def test_beyond_128_attributes_a_list_is_not_whole(retrieve: Any, tracing: Tracing) -> None:
    """A list of more than 128 attributes is unscored, with the setting that allows more."""
    retrieve(QUESTION)
    (sample,) = tracing.exported()
    assert sample.retrieved_context_ids is None
    assert "attributes were dropped: set OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in str(
        sample.retrieval_error
    )


@pytest.mark.parametrize("hidden", ["OUTPUTS", "OUTPUT_TEXT", "INPUTS"])
def test_hidden_values(hidden: str, tracing: Tracing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents hidden by OPENINFERENCE_HIDE_* are unscored; a hidden input is not needed."""
    instrumentor = LangChainInstrumentor()
    instrumentor.uninstrument()
    monkeypatch.setenv(f"OPENINFERENCE_HIDE_{hidden}", "true")
    instrumentor.instrument(tracer_provider=tracing.provider)
    try:
        Documents().invoke(QUESTION)
    finally:
        instrumentor.uninstrument()
        monkeypatch.undo()
        instrumentor.instrument(tracer_provider=tracing.provider)
    (sample,) = tracing.exported()
    if hidden == "INPUTS":
        assert sample.retrieved_context_ids == ("d0", "d1", "d2", "d3")
        assert sample.user_input is None
    elif hidden == "OUTPUTS":
        assert "hidden" in str(sample.retrieval_error)


def test_a_file_of_spans_is_scored_with_labels(tracing: Tracing, tmp_path: Path) -> None:
    """A file of OTLP JSON gives the same samples, joined with labels by ID or question."""
    application = chain()
    for question in ("a", "b", "b", "unlabeled"):
        application.invoke(question)
    with tracing.provider.get_tracer("test").start_as_current_span(
        "request", attributes={"fullrecall.sample_id": "by id"}
    ):
        Documents(count=1).invoke("asked otherwise")
    path = tmp_path / "traces.json"
    write_otlp(path, tracing.spans.get_finished_spans())
    assert list(datasets.read(path)) == tracing.exported()
    references = [
        Sample(id="1", user_input="a", reference_context_ids=["d0", "d9"]),
        Sample(user_input=" b ", reference_context_ids=["d1"]),
        Sample(id="by id", user_input="c", reference_context_ids=["d0"]),
        Sample(id="never", user_input="d", reference_context_ids=["d0"]),
    ]
    joined = datasets.with_references(datasets.read(path), references)
    report = evaluate(joined, IdRecall(), progress=False)
    assert [row.results[0].score for row in report.rows] == [0.5, 1.0, 1.0, 1.0, None]
    assert [row.sample.group for row in report.rows] == [None, " b ", " b ", None, None]
    assert report.rows[-1].results[0].reason == "no retrieval: no trace asks this question"
    assert (joined.left_out, joined.unasked) == (1, 0)


def write_otlp(path: Path, spans: Any) -> None:
    """Write spans as OpenTelemetry's exporters do: one object a line, children first."""

    def value(held: Any) -> dict[str, Any]:
        if isinstance(held, bool):
            return {"boolValue": held}
        if isinstance(held, str):
            return {"stringValue": held}
        if isinstance(held, int):
            return {"intValue": str(held)}
        if isinstance(held, float):
            return {"doubleValue": held}
        return {"arrayValue": {"values": [value(each) for each in held]} if held else {}}

    lines = []
    for span in spans:
        plain = {
            "traceId": f"{span.context.trace_id:032x}",
            "spanId": f"{span.context.span_id:016x}",
            "parentSpanId": f"{span.parent.span_id:016x}" if span.parent else "",
            "flags": 256,
            "name": span.name,
            "kind": 1,
            "startTimeUnixNano": str(span.start_time),
            "endTimeUnixNano": str(span.end_time),
            "attributes": [
                {"key": key, "value": value(held)} for key, held in span.attributes.items()
            ],
            "droppedAttributesCount": span.dropped_attributes,
            "events": [],
            "status": {"code": span.status.status_code.value},
        }
        lines.append(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [plain]}]}]}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
