"""Spans in every shape: conventions, files, frames, and what was cut, hidden, or lost."""

from __future__ import annotations

import base64
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
from typer.testing import CliRunner

from fullrecall import IdRecall, Report, Sample, datasets, evaluate
from fullrecall.cli import app
from fullrecall.errors import InputError, ParameterError
from fullrecall.traces.sources import is_span_row
from fullrecall.traces.span import Span

TRACE = "0af7651916cd43dd8448eb211c80319c"


def span(number: int, name: str, parent: int | None = None, **given: Any) -> Span:
    """Return a span that starts at its number; children end before their parents do."""
    fields = {"start": number, "end": given.pop("end", number + 0.5), **given}
    return Span(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id=None if parent is None else f"{parent:016x}",
        name=name,
        **fields,
    )


def documents(*ids: str | None, prefix: str = "retrieval.documents") -> dict[str, Any]:
    """Return documents as OpenInference has them."""
    found: dict[str, Any] = {}
    for n, own in enumerate(ids):
        found[f"{prefix}.{n}.document.content"] = f"text {own}"
        if own is not None:
            found[f"{prefix}.{n}.document.id"] = own
    return found


def retriever(number: int, parent: int | None = None, *ids: str, **given: Any) -> Span:
    """Return a retriever's span of OpenInference with these documents."""
    attributes = {"openinference.span.kind": "RETRIEVER", **documents(*ids)}
    if not ids:
        attributes["retrieval.documents"] = ()
    attributes |= {"input.value": "q", **given.pop("attributes", {})}
    return span(
        number, given.pop("name", f"search {number}"), parent, attributes=attributes, **given
    )


def read(*spans: Span, **options: Any) -> Sample:
    """Return the only trace."""
    (sample,) = datasets.from_spans(spans, **options)
    return sample


ROOT = span(1, "chain", end=99, attributes={"openinference.span.kind": "CHAIN"})

CONVENTIONS: dict[str, Span] = {
    "GenAI, JSON": span(1, "retrieval", attributes={
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "q",
        "gen_ai.retrieval.documents": '[{"id": "a", "score": null}, {"id": "b", "score": null}]',
    }),
    "OpenLLMetry": span(
        1, "chroma.query",
        attributes={"db.system": "chroma", "input.value": "q"},
        events=[
            ("db.query.result", {"db.query.result.id": own, "db.query.result.distance": 0.1})
            for own in "ab"
        ],
    ),
    "Langfuse": span(1, "search", attributes={
        "langfuse.observation.type": "retriever",
        "langfuse.observation.input": '{"query": "q"}',
        "langfuse.observation.output": '[{"id": "a", "content": "t"}, {"id": "b", "content": "u"}]',
    }),
    "MLflow": span(1, "search", attributes={
        "mlflow.spanType": '"RETRIEVER"',
        "mlflow.spanInputs": '{"query": "q"}',
        "mlflow.spanOutputs": json.dumps([{"page_content": "t", "id": own} for own in "ab"]),
    }),
    "OpenInference, IDs in the output": span(1, "search", attributes={
        "openinference.span.kind": "RETRIEVER",
        "input.value": "q",
        "output.value": json.dumps(
            {"documents": [{"page_content": "", "id": own, "type": "Document"} for own in "ab"]}
        ),
        **documents(None, None),
    }),
    "OpenInference, an output of another length": span(1, "search", attributes={
        "openinference.span.kind": "RETRIEVER",
        "input.value": "q",
        "output.value": '{"documents": [{"page_content": "", "id": "z", "type": "Document"}]}',
        **documents("a", "b"),
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVENTIONS)
def test_conventions(name: str) -> None:
    """Each convention's words for a retriever, its question and its documents; no distance."""
    sample = read(CONVENTIONS[name])
    assert sample.user_input == "q"
    assert sample.retrieved_context_ids == ("a", "b")
    assert all(one.score is None for one in sample.retrieved_contexts or ())


def test_a_later_reranker_has_the_final_list() -> None:
    """Its documents count; what it took are its stages."""
    reranker = span(5, "rerank", 1, attributes={
        "openinference.span.kind": "RERANKER",
        **documents("c", "a", prefix="reranker.output_documents"),
        **documents("a", "b", "c", prefix="reranker.input_documents"),
    })  # fmt: skip
    sample = read(ROOT, retriever(2, 1, "a", "b"), retriever(3, 1, "c"), reranker)
    assert sample.retrieved_context_ids == ("c", "a")
    assert [stage.name for stage in sample.stages] == ["search 2", "search 3"]


def test_a_reranker_of_another_list_leaves_this_one() -> None:
    """What it did not take stays a list of its own: they are united, and none is ranked first."""
    reranker = span(5, "rerank", 1, attributes={
        "openinference.span.kind": "RERANKER",
        **documents("a", prefix="reranker.output_documents"),
        **documents("a", "b", prefix="reranker.input_documents"),
    })  # fmt: skip
    sample = read(ROOT, retriever(2, 1, "a", "b"), retriever(3, 1, "x"), reranker)
    assert sorted(sample.retrieved_context_ids or ()) == ["a", "x"]  # type: ignore[type-var]
    assert sample.ranks == (1, 1)


def test_an_outer_retriever_counts() -> None:
    """The lists below it are its stages."""
    sample = read(retriever(1, None, "a", end=9), retriever(2, 1, "a", "b"), retriever(3, 1, "c"))
    assert sample.retrieved_context_ids == ("a",)
    assert [stage.name for stage in sample.stages] == ["search 2", "search 3"]


def test_a_span_that_is_exported_twice_counts_once() -> None:
    """An exporter tries again after a lost answer."""
    assert read(retriever(1, None, "a"), retriever(1, None, "a")).ranks is None


UNSCORED: dict[str, tuple[list[Span], str]] = {
    "failed": ([retriever(1, error="TimeoutError: 3 s")], "TimeoutError: 3 s"),
    "one of two failed": (
        [ROOT, retriever(2, 1, "a"), retriever(3, 1, error="TimeoutError")],
        "1 of 2 calls failed",
    ),
    "dropped attributes": (
        [retriever(1, None, "a", dropped=3)],
        "3 of its attributes were dropped: set OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000",
    ),
    "a gap": (
        [retriever(1, attributes={"retrieval.documents.1.document.id": "b"})],
        "some of its 2 documents are missing",
    ),
    "a document without anything": (
        [retriever(1, None, "a", attributes={"retrieval.documents.1.document.score": 0.5})],
        "some of its 2 documents are missing",
    ),
    "hidden": (
        [span(1, "s", attributes={"openinference.span.kind": "RETRIEVER",
                                  "output.value": "__REDACTED__"})],
        "its documents were hidden",
    ),
    "hidden texts without IDs": (
        [span(1, "s", attributes={"openinference.span.kind": "RETRIEVER",
                                  "retrieval.documents.0.document.content": "__REDACTED__"})],
        "its documents were hidden",
    ),
    "cut values": (
        [span(1, "s", attributes={"openinference.span.kind": "RETRIEVER",
                                  "output.value": '{"documents": [{"id": "a", "page_con',
                                  **documents(None)})],
        "its values were cut at 36 characters",
    ),
    "a lost parent": ([retriever(2, 1, "a")], "the trace is cut"),
    "no retriever": ([ROOT], "no retriever was traced"),
    "a failed run": ([span(1, "run", error="ValueError: x")], "the run failed: ValueError: x"),
    "nothing readable": (
        [span(1, "s", attributes={"openinference.span.kind": "RETRIEVER", "output.value": "42"})],
        "s returned nothing that can be read as contexts",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSCORED)
def test_what_is_not_whole_is_unscored(name: str) -> None:
    """With a reason that names the way out; never an empty list."""
    spans, why = UNSCORED[name]
    sample = read(*spans)
    assert why in str(sample.retrieval_error)


def test_a_call_that_failed_and_was_made_again() -> None:
    """The retry's list counts."""
    failed = retriever(2, 1, error="TimeoutError", name="search")
    sample = read(ROOT, failed, retriever(3, 1, "a", name="search"))
    assert sample.retrieval_error is None
    assert sample.retrieved_context_ids == ("a",)


def test_failed_calls_may_be_left_out() -> None:
    """`failed_calls="score"` scores what the others returned."""
    spans = [ROOT, retriever(2, 1, "a"), retriever(3, 1, error="TimeoutError")]
    assert read(*spans, failed_calls="score").retrieval_error is None


def test_a_parent_in_another_process_is_no_cut() -> None:
    """A request that another service made."""
    assert read(retriever(2, 1, "a", remote_parent=True)).retrieved_context_ids == ("a",)


def prompt(number: int, parent: int, *texts: str, **given: Any) -> Span:
    """Return a model's span with these messages."""
    messages = {f"llm.input_messages.{n}.message.content": text for n, text in enumerate(texts)}
    attributes = {"openinference.span.kind": "LLM", **messages}
    return span(number, "model", parent, attributes=attributes, **given)


def test_what_the_prompt_had() -> None:
    """By the model's messages; those of a model inside of a retriever are none."""
    search = retriever(2, 1, "a", "b")
    found = read(ROOT, search, prompt(3, 2, "text b"), prompt(4, 1, "… text a …"))
    assert found.retrieval.read == ("yes", "no")  # type: ignore[union-attr]


@pytest.mark.parametrize("given", [{"dropped": 1}, {}])
def test_a_prompt_that_is_not_whole_says_nothing(given: dict[str, Any]) -> None:
    """Messages that were dropped or hidden may have had every context."""
    text = "text a" if given else "__REDACTED__"
    found = read(ROOT, retriever(2, 1, "a"), prompt(3, 1, text, **given))
    assert found.retrieval.read is None  # type: ignore[union-attr]


QUESTIONS = {
    "why?": "why?",
    '{"query": "why?"}': "why?",
    '{"query_bundle": {"query_str": "why?", "embedding": null}}': "why?",
    '{"messages": [["human", "before"], ["ai", "x"], ["human", "why?"]]}': "why?",
    '{"messages": [{"role": "user", "content": [{"type": "text", "text": "why?"}]}]}': "why?",
    '{"data": {"bm25": {"query": "why?"}, "dense": {"query": "why?"}}}': "why?",
    '{"data": {"bm25": {"query": "why?"}, "dense": {"query": "how?"}}}': None,
    '{"a": 1}': None,
    "__REDACTED__": None,
}


@pytest.mark.parametrize("value", QUESTIONS)
def test_questions(value: str) -> None:
    """The outermost span's input, if it says beyond doubt what was asked."""
    root = span(1, "chain", attributes={"input.value": value})
    assert read(root, retriever(2, 1, "a")).user_input in (QUESTIONS[value], "q")
    assert read(root).user_input == QUESTIONS[value]


ANSWERS = {
    "42": "42",
    '{"answer": "42", "context": []}': "42",
    '{"type": "ai", "data": {"content": "42", "type": "ai"}}': "42",
    '{"messages": [{"type": "human", "content": "q"}, {"type": "ai", "content": "42"}]}': "42",
    '{"llm": 1}': None,
}


@pytest.mark.parametrize("value", ANSWERS)
def test_answers(value: str) -> None:
    """The outermost span's output."""
    root = span(1, "chain", attributes={"output.value": value})
    assert read(root, retriever(2, 1, "a")).response == ANSWERS[value]


def otlp(one: Span, *, encoded: bool = False) -> dict[str, Any]:
    """Return a span in OTLP JSON; `encoded`: with IDs in base64, as protobuf's own JSON has."""

    def own_id(value: str) -> str:
        return base64.b64encode(bytes.fromhex(value)).decode() if encoded else value

    plain: dict[str, Any] = {
        "traceId": own_id(one.trace_id),
        "spanId": own_id(one.span_id),
        "name": one.name,
        "startTimeUnixNano": str(int(one.start * 10)),
        "endTimeUnixNano": str(int(one.end * 10)),
        "attributes": [
            {"key": key, "value": {"arrayValue": {}} if held == () else {"stringValue": held}}
            for key, held in one.attributes.items()
        ],
        "status": {"code": "STATUS_CODE_ERROR", "message": one.error} if one.error else {},
    }
    if one.parent_id:
        plain["parentSpanId"] = own_id(one.parent_id)
    return {"resourceSpans": [{"scopeSpans": [{"spans": [plain]}]}]}


SPANS = [
    retriever(3, 1, "a", "b"),
    span(1, "chain", end=99, attributes={"input.value": "q", "output.value": "42"}),
]


@pytest.mark.parametrize("form", ["lines", "one object", "array", "indented", "base64", "gzip"])
def test_files_of_otlp(form: str, tmp_path: Path) -> None:
    """However the exporter wrote them: children first, over the whole file."""
    objects = [otlp(one, encoded=form == "base64") for one in SPANS]
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
    assert sample == read(*SPANS)
    assert (sample.id, sample.user_input, sample.response) == (TRACE, "q", "42")
    assert sample.retrieved_context_ids == ("a", "b")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX named pipes")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """Samples come through it whole; spans do, where the format is given."""

    def through(text: str) -> Path:
        pipe = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_text, args=(text, "utf-8"), daemon=True).start()
        return pipe

    (sample,) = datasets.read(through('{"user_input": "q"}'))
    assert sample.user_input == "q"
    spans = "\n".join(json.dumps(otlp(one)) for one in SPANS)
    assert list(datasets.read(through(spans), format="spans")) == [read(*SPANS)]


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
    """As it hands them out, and as they are saved."""
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
    """Whatever the order in which they were exported."""
    other = Span(trace_id="ff" * 16, span_id="f" * 16, name="later", start=500)
    assert [one.id for one in datasets.from_spans([other, *SPANS])] == [TRACE, "ff" * 16]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([{"a": 1}], "sample 1: expected spans of OpenTelemetry"),
        ([SPANS[0], 7], "sample 2: expected spans of OpenTelemetry.* got 7"),
        ([], "holds no spans"),
        ([{"context.span_id": None, "context.trace_id": "x"}], "a span has a trace_id"),
    ],
)
def test_what_is_no_span(given: Any, why: str) -> None:
    """The item, and what is taken."""
    with pytest.raises(InputError, match=why):
        list(datasets.from_spans(given))


def test_a_file_of_samples_is_no_file_of_spans(tmp_path: Path) -> None:
    """It is read as before; a file of spans has no columns to rename."""
    samples, spans = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    samples.write_text('{"user_input": "q", "retrieved_ids": ["a"]}\n', encoding="utf-8")
    spans.write_text(json.dumps(otlp(SPANS[1])), encoding="utf-8")
    (sample,) = datasets.read(samples)
    assert sample.retrieved_context_ids == ("a",)
    with pytest.raises(ParameterError, match="this one holds spans"):
        datasets.read(spans, rename={"a": None})
    with pytest.raises(InputError, match=r"a\.jsonl:1: expected spans"):
        list(datasets.read(samples, format="spans"))


class TestReferences:
    """Samples joined with references."""

    def test_the_same_question_twice_is_one_group(self) -> None:
        """Two traces of one question are not independent."""
        asked = [Sample(id=n, user_input="q", retrieved_context_ids=[n]) for n in "12"]
        joined = list(
            datasets.with_references(asked, [Sample(user_input="q", reference_context_ids=["1"])])
        )
        assert [(one.id, one.group) for one in joined] == [("1", "q"), ("2", "q")]

    def test_an_id_goes_before_the_question(self) -> None:
        """Of two references, the one of the sample's ID."""
        references = [Sample(id=n, user_input="q", reference_context_ids=[n]) for n in "12"]
        (first, missing) = datasets.with_references(
            [Sample(id="2", user_input="q", retrieved_context_ids=["2"])], references
        )
        assert (first.id, first.reference_context_ids[0].any_of) == ("2", ("2",))  # type: ignore[index]
        assert (missing.id, missing.retrieval_error) == ("1", "no trace asks this question")

    def test_what_is_ambiguous(self) -> None:
        """A question that two references ask names neither."""
        references = [Sample(id=n, user_input="q", reference_context_ids=[n]) for n in "12"]
        with pytest.raises(InputError, match="2 references ask 'q'"):
            list(datasets.with_references([Sample(id="3", user_input="q")], references))
        with pytest.raises(InputError, match="two references have the id '1'"):
            list(datasets.with_references([], [references[0], references[0]]))

    def test_what_was_retrieved_stays_as_it_was(self) -> None:
        """The record, the answer, and the metadata of both."""
        trace = read(*SPANS)
        reference = Sample(user_input="q", reference_context_ids=["a"], metadata={"lang": "en"})
        joined = datasets.with_references([trace, Sample(retrieved_context_ids=[])], [reference])
        (sample,) = joined
        assert sample.retrieval == trace.retrieval
        assert sample.response == "42"
        assert sample.metadata == {"trace_id": TRACE, "lang": "en"}
        assert (joined.left_out, joined.unasked) == (1, 1)


def test_the_command_line_joins_traces_with_labels(tmp_path: Path) -> None:
    """`evaluate traces.json --references labels.jsonl`: what is scored, unscored, and left out."""
    traces, labels = tmp_path / "traces.json", tmp_path / "labels.jsonl"
    other = Span(trace_id="ff" * 16, span_id="f" * 16, name="other", start=500)
    traces.write_text("\n".join(json.dumps(otlp(one)) for one in [*SPANS, other]), "utf-8")
    rows = [{"user_input": one, "reference_ids": ["a", "c"]} for one in ("q", "never asked")]
    labels.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    runner = CliRunner()
    given = ["evaluate", str(traces), "--references", str(labels), "-o", str(tmp_path / "r.jsonl")]
    done = runner.invoke(app, given)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "Left out, since no reference fits: 1 sample, 1 of them without a question." in said
    assert "no trace asks this question" in said
    report = Report.load(tmp_path / "r.jsonl")
    assert [row.results[0].score for row in report.rows] == [0.5, None]
    refused = runner.invoke(app, ["evaluate", str(labels), "--run", str(labels), "--id-key", "x"])
    assert refused.exit_code == 2
    assert "--id-key" in refused.output


def test_the_command_line_takes_ids_from_metadata(tmp_path: Path) -> None:
    """`--id-key`, as `id_key` in Python."""
    traces, labels = tmp_path / "traces.json", tmp_path / "labels.jsonl"
    held = {"retrieval.documents.0.document.metadata": '{"source": "s"}'}
    one = retriever(1, None, "a", attributes=held)
    traces.write_text(json.dumps(otlp(one)), "utf-8")
    labels.write_text('{"user_input": "q", "reference_ids": ["s"]}', "utf-8")
    given = ["evaluate", str(traces), "--references", str(labels), "--id-key", "source", "--json"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    (score,) = json.loads(done.stdout)["scores"]
    assert score["measures"]["recall"]["mean"] == 1.0


def observation(own: int, kind: str, parent: int | None, **fields: Any) -> dict[str, Any]:
    """Return an observation as Langfuse's API writes it."""
    return {
        "id": f"obs-{own}", "traceId": "trace-1", "type": kind, "name": kind.lower(),
        "parentObservationId": parent and f"obs-{parent}",
        "startTime": f"2026-01-02T03:04:0{own}.000Z", "endTime": f"2026-01-02T03:04:1{own}.000Z",
        "level": "DEFAULT", "statusMessage": None, **fields,
    }  # fmt: skip


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
    """Children first, in either case, nested or as text, with NaN for a missing parent."""
    (sample,) = datasets.from_spans(LANGFUSE[form])
    assert sample.retrieved_context_ids == ("a", "b")
    assert [context.text for context in sample.retrieved_contexts or ()] == ["t", "u"]
    assert (sample.user_input, sample.response) == ("q", "330 metres")


def test_observations_in_a_file(tmp_path: Path) -> None:
    """A JSON list, a trace, or a line each; a level of ERROR is unscored with its message."""
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
    """Only Langfuse's own types, with the ID of a trace, are."""
    plain = {"id": "1", "type": "retriever", "user_input": "q"}
    assert not is_span_row(plain)
    assert not is_span_row({**plain, "traceId": "t", "type": "faq"})
