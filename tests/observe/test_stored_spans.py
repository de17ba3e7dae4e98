"""One span of any tool as it is stored, read whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fullrecall.errors import InputError
from fullrecall.observe.failures import brief
from fullrecall.observe.sources import is_span_row, spans_in
from fullrecall.observe.span import Span, below, error_of, flat, left_early, numbered, parsed
from fullrecall.observe.words import quotes_in

IDS = {"trace_id": "t", "span_id": "s"}
LANGFUSE = {"id": "s", "traceId": "t"}
OTLP = {
    "traceId": "AB", "spanId": "CD", "parentSpanId": "EF", "name": "search", "flags": 0x300,
    "startTimeUnixNano": "5", "endTimeUnixNano": "9", "status": {"code": 2, "message": "down"},
    "droppedAttributesCount": 2,
    "attributes": [
        {"key": "n", "value": {"intValue": "7"}},
        {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {}]}}},
        {"key": "empty", "value": {"arrayValue": {}}},
        {"key": "map", "value": {"kvlistValue": {"values": [
            {"key": "deep", "value": {"boolValue": True}}]}}},
        {"key": "none", "value": {}},
    ],
    "events": [{"name": "exception", "attributes": [
        {"key": "exception.message", "value": {"stringValue": "left"}}]}, 7],
}  # fmt: skip
PHOENIX = {
    "context.trace_id": "t", "context.span_id": "s", "parent_id": None, "name": "ask",
    "span_kind": "LLM", "attributes.llm": {"model": "m"}, "status_code": "OK",
    "start_time": "1970-01-01T00:00:01+00:00", "end_time": "soon",
}  # fmt: skip
WEAVE = {
    "op_name": "weave:///o/p/op/Search.find:v1", "id": "s", "trace_id": "t", "inputs": {"q": "x"},
    "output": {"outputs": {"a": 1}}, "exception": "ValueError: down",
    "started_at": "1970-01-01T00:00:02Z",
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "spans"),
    [
        (
            OTLP,
            [Span(trace_id="ab", span_id="cd", parent_id="ef", remote_parent=True, name="search",
                  attributes={"n": 7, "list": ["a", None], "empty": [], "map.deep": True},
                  events=(("exception", {"exception.message": "left"}),), error="down", start=5,
                  end=9, dropped=2)],
        ),
        (
            {**OTLP, "flags": 0x200, "status": {"code": 1}, "attributes": [], "events": None},
            [Span(trace_id="ab", span_id="cd", parent_id="ef", name="search", start=5, end=9,
                  dropped=2)],
        ),
        (
            PHOENIX,
            [Span(trace_id="t", span_id="s", name="ask", start=1e9,
                  attributes={"openinference.span.kind": "LLM", "llm.model": "m"})],
        ),
        (
            {**LANGFUSE, "type": "RETRIEVER", "level": "ERROR", "statusMessage": "", "input": "q"},
            [Span(trace_id="t", span_id="s", error="the span failed",
                  attributes={"langfuse.observation.type": "RETRIEVER",
                              "langfuse.observation.input": "q"})],
        ),
        (
            WEAVE,
            [Span(trace_id="t", span_id="s", name="Search.find", error="ValueError: down",
                  start=2e9, attributes={"weave.inputs": {"q": "x"},
                                         "langfuse.observation.output": {"a": 1}})],
        ),
        (
            {"context": IDS, "attributes": {"a": 1}, "status": {"code": "ERROR"}},
            [Span(trace_id="t", span_id="s", attributes={"a": 1}, error="the span failed")],
        ),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [IDS, 7]}, 7]}]},
         [Span(trace_id="t", span_id="s")]),
        ({"data": {"spans": [IDS]}}, [Span(trace_id="t", span_id="s")]),
        ({"observations": [{**LANGFUSE, "type": "SPAN"}]},
         [Span(trace_id="t", span_id="s", attributes={"langfuse.observation.type": "SPAN"})]),
        (Span(trace_id="t", span_id="s"), [Span(trace_id="t", span_id="s")]),
    ],
)  # fmt: skip
def test_a_stored_span_is_read_whole(source: Any, spans: list[Span]) -> None:
    """Spans of each tool have the same fields, whatever their columns are called."""
    assert [*spans_in(source)] == spans


def test_a_span_of_the_sdk_is_read_whole() -> None:
    """Times that are unknown are 0, IDs are hex, and a parent may be in another process."""
    bare = SimpleNamespace(
        context=SimpleNamespace(trace_id=10, span_id=11), parent=None, name="", attributes=None,
        events=None, status=SimpleNamespace(status_code=None, description="x"), start_time=None,
        end_time=None, dropped_attributes=0,
    )  # fmt: skip
    trace, own = f"{10:032x}", f"{11:016x}"
    assert [*spans_in(bare)] == [Span(trace_id=trace, span_id=own)]
    full = SimpleNamespace(**{
        **vars(bare), "parent": SimpleNamespace(span_id=12, is_remote=True), "name": "search",
        "attributes": {"a": 1}, "start_time": 5, "end_time": 9, "dropped_attributes": 2,
        "events": [SimpleNamespace(name="exception", attributes=None)],
        "status": SimpleNamespace(status_code=SimpleNamespace(name="ERROR"), description="down"),
    })  # fmt: skip
    assert [*spans_in(full)] == [
        Span(trace_id=trace, span_id=own, parent_id=f"{12:016x}", remote_parent=True,
             name="search", attributes={"a": 1}, events=(("exception", {}),), error="down", start=5,
             end=9, dropped=2)
    ]  # fmt: skip


@pytest.mark.parametrize("source", [7, {"a": 1}, {}, "span", {"spans": [7]}])
def test_another_object_is_no_span(source: Any) -> None:
    """An object without the IDs of a span is refused with the forms that are read."""
    with pytest.raises(InputError, match="expected spans of OpenTelemetry, OTLP JSON objects"):
        list(spans_in(source))


@pytest.mark.parametrize(
    ("row", "is_span"),
    [
        (PHOENIX, True),
        ({"context.trace_id": "t"}, False),
        ({"context.span_id": "s"}, False),
        ({"context": {}, "attributes": {}}, True),
        ({"context": "c", "question": "q"}, False),
        ({"attributes": {}, "question": "q"}, False),
        ({"resourceSpans": []}, True),
        ({"resourceSpans": {}}, False),
        ({"data": {"spans": []}}, True),
        ({"spans": "x"}, False),
        ({"spans": {}}, False),
        ({**LANGFUSE, "type": "SPAN"}, True),
        ({**LANGFUSE, "type": "fact"}, False),
        ({**LANGFUSE, "type": 7}, False),
        ({"id": 7, "traceId": "t", "type": "SPAN"}, False),
        ({"id": "s", "type": "SPAN"}, False),
        (WEAVE, True),
        ({"op_name": "x", "id": "s", "trace_id": "t"}, False),
        ("row", False),
    ],
)
def test_a_row_of_spans_is_no_sample(row: Any, *, is_span: bool) -> None:
    """A row is a span's if it has the columns of a tracing tool, and not just one of them."""
    assert is_span_row(row) is is_span


def test_attributes_are_flat() -> None:
    """Objects and lists of objects are dotted names; lists of plain values stay lists."""
    nested = {"a": [{"b": 1}, 7], "c": {"d": None, "e": []}, "f": [1, 2], "g": 0}
    assert flat(nested) == {"a.0.b": 1, "a.1": 7, "c.e": [], "f": [1, 2], "g": 0}
    assert dict(below({"a.b": 1, "a.b.c": 2, "ab": 3, "a": 4}, "a")) == {"b": 1, "b.c": 2}
    documents = {"d.1.document.id": "y", "d.0.document.id": "x", "d.0.score": 1, "d.n.id": 2}
    assert numbered(documents, "d", "document") == {0: {"id": "x", "score": 1}, 1: {"id": "y"}}
    assert [*numbered(documents, "d", "document")] == [0, 1]


@pytest.mark.parametrize(
    ("value", "plain"),
    [('{"a": 1}', {"a": 1}), ("[1]", [1]), ('"a"', "a"), ("1", "1"), ("[1", "[1"), ("", ""), (7, 7),
     ("null", "null")],
)  # fmt: skip
def test_json_in_an_attribute_is_parsed(value: Any, plain: Any) -> None:
    """Only objects, lists and texts are parsed; a broken one stays a text."""
    assert parsed(value) == plain


@pytest.mark.parametrize(
    ("description", "events", "error"),
    [
        ("down", (), "down"),
        (" ", (), "the span failed"),
        ({"type": "E", "message": "m"}, (), "E: m"),
        ({"message": "m"}, (), "m"),
        (
            None,
            [("other", {}), ("exception", {"exception.type": "E", "exception.message": ""})],
            "E",
        ),
    ],
)
def test_the_error_of_a_span(description: Any, events: Any, error: str) -> None:
    """The error is the status, else the recorded exception."""
    assert error_of(description, events) == error


@pytest.mark.parametrize(
    ("error", "left"),
    [("GraphInterrupt: x", True), ("langgraph.errors.GraphInterrupt(())", True),
     ("GeneratorExit", True), ("ValueError: GraphInterrupt", False)],
)  # fmt: skip
def test_a_step_that_left_early(error: str, *, left: bool) -> None:
    """The class of the error, with or without its module, decides."""
    assert left_early(error) is left


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("a\nb"), "ValueError: a b"),
        (ValueError(), "ValueError"),
        ("KeyError('x')Traceback (most recent call last): y", "KeyError: x"),
        ("KeyError()", "KeyError"),
        ("down NoneType: None", "down"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
    ],
)
def test_an_error_is_one_line(error: Any, line: str) -> None:
    """An error is its class and message, without a traceback, in at most 200 characters."""
    assert brief(error) == line


@pytest.mark.parametrize(
    ("passages", "quotes"),
    [
        (["one two"], [(0, 2, [0], True)]),
        (["two"], [(1, 2, [0], True)]),
        (["nine ten eleven twelve thirteen fourteen"], []),
        (["one two", "one two"], [(0, 2, [0, 1], True)]),
        (["five six seven", "one two"], [(0, 2, [1], True), (4, 7, [0], True)]),
        (["x one two three four five six seven eight y"], [(0, 8, [0], False)]),
        (["one two three", "two three"], [(0, 3, [0], True)]),
    ],
)
def test_quotes_of_passages(passages: list[str], quotes: list[Any]) -> None:
    """A text's longest run of each passage is a quote, unless a longer run has its words."""
    words = "one two three four five six seven eight".split()
    assert [tuple(each) for each in quotes_in(words, map(str.split, passages))] == quotes
