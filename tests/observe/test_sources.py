"""Spans are read from files, from frames, and from the records of other tools."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.observe.spans import ROOT, SPANS, TRACE, otlp, read, retriever, span

from fullrecall import Context, IdRecall, evaluate
from fullrecall import read as datasets
from fullrecall.errors import InputError, ParameterError
from fullrecall.observe.sources import is_span_row
from fullrecall.observe.span import Span
from fullrecall.observe.step import DocumentCopy
from fullrecall.observe.trace import TraceReading


@pytest.mark.parametrize("form", ["lines", "one object", "array", "indented", "base64", "gzip"])
def test_files_of_otlp(form: str, tmp_path: Path) -> None:
    """OTLP files are read in any layout of the exporter, children first, over the whole file."""
    objects = [otlp(each, encoded=form == "base64") for each in SPANS]
    text = "\n".join(map(json.dumps, objects))
    path = tmp_path / "traces.json"
    if form == "one object":
        text = json.dumps({"resourceSpans": [o["resourceSpans"][0] for o in objects]})
    elif form == "array":
        text = json.dumps(objects)
    elif form == "indented":
        text = json.dumps({"resourceSpans": [o["resourceSpans"][0] for o in objects]}, indent=2)
    elif form == "gzip":
        path = tmp_path / "traces.jsonl.gz"
        path.write_bytes(gzip.compress(text.encode()))
    if form != "gzip":
        path.write_text(text, encoding="utf-8")
    (sample,) = datasets.read(path)
    if form != "base64":  # Protobuf's own JSON has these IDs, and they stay unchanged.
        assert sample == read(*SPANS)
        assert sample.id == TRACE
    assert (sample.user_input, sample.response) == ("q", "42")
    assert sample.retrieved_context_ids == ("a", "b")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX named pipes")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """A pipe is read once, with all its samples or spans."""

    def through(text: str) -> Path:
        pipe = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_text, args=(text, "utf-8"), daemon=True).start()
        return pipe

    (sample,) = datasets.read(through('{"user_input": "q"}'))
    assert sample.user_input == "q"
    spans = "\n".join(json.dumps(otlp(each)) for each in SPANS)
    assert list(datasets.read(through(spans))) == [read(*SPANS)]


def phoenix() -> list[dict[str, Any]]:
    """Return rows of Phoenix's frame, the newest first."""
    return [
        {
            "context.trace_id": one.trace_id,
            "context.span_id": one.span_id,
            "parent_id": one.parent_id,
            "name": one.name,
            "span_kind": one.attributes.get("openinference.span.kind", "CHAIN"),
            "status_code": "OK",
            "start_time": f"2026-01-01T00:00:{int(one.start):02}+00:00",
            "end_time": f"2026-01-01T00:00:{min(59, int(one.end)):02}+00:00",
            "attributes.input.value": "q",
            "attributes.output.value": one.attributes.get("output.value"),
            "attributes.retrieval.documents": [phoenix_document(own) for own in "ab"]
            if one.parent_id
            else None,
        }
        for one in SPANS
    ]


def phoenix_document(own: str) -> dict[str, Any]:
    """Return a document in Phoenix's column."""
    return {
        "document.id": own,
        "document.content": f"text {own}",
        "document.metadata": {"n": 1},
    }


@pytest.mark.parametrize("form", ["pandas", "polars", "rows", "parquet", "jsonl"])
def test_frames_of_phoenix(form: str, tmp_path: Path) -> None:
    """Frames of Phoenix are read as returned by its client, and as saved."""
    import pandas as pd
    import polars as pl

    frame = pd.DataFrame(phoenix())
    if form == "parquet":
        frame.to_parquet(tmp_path / "spans.parquet")
        (sample,) = datasets.read(tmp_path / "spans.parquet")
    elif form == "jsonl":
        frame.to_json(tmp_path / "spans.jsonl", orient="records", lines=True)
        (sample,) = datasets.read(tmp_path / "spans.jsonl")
    else:
        given = {"pandas": frame, "polars": pl.DataFrame(phoenix()), "rows": phoenix()}[form]
        (sample,) = datasets.from_spans(given)
    assert (sample.id, sample.user_input, sample.response) == (TRACE, "q", "42")
    assert sample.retrieved_context_ids == ("a", "b")
    assert sample.retrieval_error is None


def test_traces_stand_in_the_order_of_their_start() -> None:
    """Traces are ordered by their start, for any order of their export."""
    other = Span(trace_id="ff" * 16, span_id="f" * 16, name="later", start=500)
    assert [each.id for each in datasets.from_spans([other, *SPANS])] == [TRACE, "ff" * 16]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([{"a": 1}], "sample 1: expected spans of OpenTelemetry"),
        ([SPANS[0], 7], "sample 2: expected spans of OpenTelemetry.* got 7"),
        ([], "holds no spans"),
        ([{"context.span_id": None, "context.trace_id": "x"}], "expected a span with a trace_id"),
    ],
)
def test_a_wrong_item_is_an_error(given: Any, why: str) -> None:
    """An item that is not a span is an error that names the item and the expected type."""
    with pytest.raises(InputError, match=why):
        list(datasets.from_spans(given))


def test_a_file_of_samples_is_no_file_of_spans(tmp_path: Path) -> None:
    """A file of samples is read as before, and a file of spans has no columns to rename."""
    samples, spans = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    samples.write_text('{"user_input": "q", "retrieved_ids": ["a"]}\n', encoding="utf-8")
    spans.write_text(json.dumps(otlp(SPANS[1])), encoding="utf-8")
    (sample,) = datasets.read(samples)
    assert sample.retrieved_context_ids == ("a",)
    with pytest.raises(ParameterError, match="this one holds spans"):
        list(datasets.read(spans, rename={"a": None}))
    with pytest.raises(InputError, match=r"a\.jsonl:1: expected spans"):
        list(datasets.from_spans(samples))


def observation(own: int, kind: str, parent: int | None, **fields: Any) -> dict[str, Any]:
    """Return an observation as Langfuse's API writes it."""
    return {
        "id": f"obs-{own}",
        "traceId": "trace-1",
        "type": kind,
        "name": kind.lower(),
        "parentObservationId": parent and f"obs-{parent}",
        "startTime": f"2026-01-02T03:04:0{own}.000Z",
        "endTime": f"2026-01-02T03:04:1{own}.000Z",
        "level": "DEFAULT",
        "statusMessage": None,
        **fields,
    }


FOUND = [{"id": "a", "page_content": "t", "metadata": {"source": "s"}}, {"id": "b", "content": "u"}]
OBSERVATIONS = [
    observation(2, "RETRIEVER", 1, input={"query": "q"}, output=FOUND),
    observation(1, "SPAN", None, input={"question": "q"}, output={"answer": "330 metres"}),
]


def snake(row: dict[str, Any]) -> dict[str, Any]:
    """Return an observation in the names of Langfuse's Python client, nested values as JSON."""
    return {
        re.sub("([A-Z])", r"_\1", name).lower(): json.dumps(held)
        if isinstance(held, (dict, list))
        else held
        for name, held in row.items()
    }


LANGFUSE: dict[str, Any] = {
    "observations": OBSERVATIONS,
    "one trace": [{"id": "trace-1", "name": "chain", "observations": OBSERVATIONS}],
    "rows of the client": [snake(row) for row in OBSERVATIONS],
    "a frame": pd.DataFrame([snake(row) for row in OBSERVATIONS]),
}


@pytest.mark.parametrize("form", LANGFUSE)
def test_observations_of_langfuse(form: str) -> None:
    """Langfuse's observations are read in any order, in either case of names, nested or as text."""
    (sample,) = datasets.from_spans(LANGFUSE[form])
    assert sample.retrieved_context_ids == ("a", "b")
    assert [context.text for context in sample.retrieved_contexts or ()] == ["t", "u"]
    assert (sample.user_input, sample.response) == ("q", "330 metres")


def test_observations_in_a_file(tmp_path: Path) -> None:
    """Observations are read from a JSON list, a trace, or lines; an ERROR is unscored."""
    failed = observation(
        2, "RETRIEVER", 1, input={"query": "q"}, level="ERROR", statusMessage="the index is gone"
    )
    for name, text in (
        ("list.json", json.dumps(OBSERVATIONS)),
        ("trace.json", json.dumps({"id": "trace-1", "observations": OBSERVATIONS})),
        ("lines.jsonl", "".join(f"{json.dumps(one)}\n" for one in OBSERVATIONS)),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        (sample,) = datasets.read(tmp_path / name)
        assert sample.retrieved_context_ids == ("a", "b"), name
    (sample,) = datasets.from_spans([failed, OBSERVATIONS[1]])
    (result,) = evaluate([sample], IdRecall(), progress=False).rows[0].results
    assert result.status == "unscored"
    assert "the index is gone" in result.reason


def test_a_sample_with_a_type_is_no_observation() -> None:
    """A sample with a `type` is an observation only with Langfuse's type and a trace's ID."""
    plain = {"id": "1", "type": "retriever", "user_input": "q"}
    assert not is_span_row(plain)
    assert not is_span_row({**plain, "traceId": "t", "type": "faq"})


def call(own: int, parent: int | None, name: str, **fields: Any) -> dict[str, Any]:
    """Return a call as Weave's `Call.to_dict()` has it."""
    kind = fields.pop("kind", None)
    return {
        "id": f"01a20392-5e2a-748b-8ece-b7a4de792f0{own}",
        "trace_id": "01a20392-5e29-7de0-b36e-5eb78eab5a95",
        "parent_id": parent and f"01a20392-5e2a-748b-8ece-b7a4de792f0{parent}",
        "op_name": f"weave:///team/project/op/{name}:abc",
        "display_name": None,
        "exception": None,
        "output": None,
        "attributes": {"weave": {"client_version": "0.54.0", **({"kind": kind} if kind else {})}},
        "started_at": f"2026-11-22 14:04:1{own}.738587+00:00",
        "ended_at": f"2026-11-22 14:04:2{own}.738587+00:00",
        **fields,
    }


CALLS = [
    call(2, 1, "search", kind="search", inputs={"question": "q"}, output=FOUND),
    call(1, None, "answer", inputs={"question": "q"}, output="330 metres"),
]
LANGCHAIN_CALLS = [
    call(
        2,
        1,
        "langchain.Retriever.R",
        kind="search",
        inputs={"query": "q"},
        output={
            "run_type": "retriever",
            "name": "R",
            "outputs": {
                "documents": [
                    {
                        "_type": "Document",
                        "_class_name": "Document",
                        "type": "Document",
                        "page_content": text,
                        "id": own,
                        "metadata": {},
                    }
                    for own, text in (("a", "t"), ("b", "u"))
                ]
            },
        },
    ),
    call(
        1,
        None,
        "langchain.Chain.RunnableLambda",
        inputs={"input": "q"},
        output={"name": "RunnableLambda", "outputs": {"output": "330 metres"}},
    ),
]


@pytest.mark.parametrize("calls", [CALLS, LANGCHAIN_CALLS], ids=["ops", "LangChain"])
def test_calls_of_weave(calls: list[dict[str, Any]], tmp_path: Path) -> None:
    """A Weave op of the kind "search" is the retriever, in memory and in a file."""
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in calls), encoding="utf-8")
    for (sample,) in (list(datasets.from_spans(calls)), list(datasets.read(path))):
        assert sample.retrieved_context_ids == ("a", "b")
        assert [context.text for context in sample.retrieved_contexts or ()] == ["t", "u"]
        assert (sample.user_input, sample.response) == ("q", "330 metres")


def test_a_call_of_weave_that_failed() -> None:
    """A failed Weave call is unscored, with the type and message of its exception."""
    exception = json.dumps({"type": "ValueError", "message": "down", "traceback": []})
    failed = {**CALLS[0], "output": None, "exception": exception}
    (sample,) = datasets.from_spans([failed, CALLS[1]])
    assert sample.retrieval_error is not None
    assert "ValueError: down" in sample.retrieval_error


def test_a_call_of_weave_that_names_no_kind() -> None:
    """A Weave op without a kind retrieved if it returns documents; texts alone do not count."""
    unnamed = {**CALLS[0], "attributes": {}}
    (sample,) = datasets.from_spans([unnamed, CALLS[1]])
    assert sample.retrieved_context_ids == ("a", "b")
    (sample,) = datasets.from_spans([{**unnamed, "output": ["t", "u"]}, CALLS[1]])
    assert sample.retrieved_contexts is None


def test_a_reranker_that_records_only_ids_has_the_texts_of_the_search() -> None:
    """A reranker that records only IDs has the search's documents, even without a traced input."""
    ids = {f"reranker.output_documents.{n}.document.id": own for n, own in enumerate("ba")}
    attributes = {"openinference.span.kind": "RERANKER", "input.value": "q", **ids}
    sample = read(ROOT, retriever(2, 1, "a", "b"), span(3, "rerank", 1, attributes=attributes))
    found = {context.id: context.text for context in sample.retrieved_contexts or ()}
    assert found == {"a": "text a", "b": "text b"}
    assert len(sample.retrieved_contexts or ()) == 2


@pytest.mark.parametrize(
    ("asked", "searched", "question"),
    [
        (["one"], ["two"], "one"),
        (["one", "two"], ["three"], "three"),
        (["one", "two"], ["three", "four"], None),
        ([None], ["three"], "three"),
        ([None], ["three", "three"], "three"),
        ([None], ["three", "four"], None),
        ([None], [], None),
    ],
)
def test_the_question_is_that_of_the_outermost_span_or_of_all_searches(
    asked: list[str | None], searched: list[str], question: str | None
) -> None:
    """The outermost span's question counts, else the one that all retrievers were asked."""
    tops = [
        span(n, "chain", end=99, attributes={"input.value": each} if each else {})
        for n, each in enumerate(asked, start=1)
    ]
    searches = [
        retriever(n, 1, "a", attributes={"input.value": each})
        for n, each in enumerate(searched, start=10)
    ]
    assert read(*tops, *searches).user_input == question


def test_ids_of_documents_in_a_trace() -> None:
    """`id_key` reads contexts; other documents keep their IDs, and without it all do."""
    context = Context("t", id="own", metadata={"x": "m"})
    copy = DocumentCopy(0, "own", "t", context)
    plain = copy._replace(detail=None)
    for id_key, document, own_id in [
        ("x", copy, "m"), ("y", copy, None), (None, copy, "own"), ("x", plain, "own"),
    ]:  # fmt: skip
        reading = TraceReading(id_key=id_key)
        assert [each.id for each in reading.documents_of(document, 1)] == [own_id]
        assert reading.changes_documents == (id_key is not None)
