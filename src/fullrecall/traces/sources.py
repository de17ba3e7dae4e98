"""Spans as tools return them: OpenTelemetry's SDK, OTLP JSON, Phoenix, MLflow, Langfuse, Weave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.traces.records import RECORD_FORMS, error_of, hex_id, key_values, mappings, whole
from fullrecall.traces.span import Span, flat

RESOURCE_SPANS = "resourceSpans"
"""The key by which an object of OTLP JSON is known."""

_REMOTE, _KNOWS_REMOTE = 0x200, 0x100
"""Bits of a span's flags in OTLP: whether its parent is remote, and whether that is known."""

_FORMS = (
    "expected spans of OpenTelemetry, OTLP JSON objects, rows of a Phoenix frame, traces of "
    "MLflow, observations of Langfuse, or calls of Weave"
)


def spans_in(item: object) -> Iterator[Span]:
    """Yield the spans of one item: a span, an OTLP object, a row of a frame, or a trace.

    Raises `InputError` for what is none of these.
    """
    dump = getattr(item, "to_dict", None)
    if isinstance(item, Span):
        yield item
    elif isinstance(item, Mapping):
        yield from _of_mapping(item)
    elif hasattr(item, "context") and hasattr(item, "attributes") and hasattr(item, "parent"):
        yield of_sdk(item)
    elif callable(dump):  # a Trace or a Span of MLflow, a Call of Weave
        yield from spans_in(dump())
    else:
        raise InputError(f"{_FORMS}, got {shown(item)}")


def is_span_row(row: object) -> bool:
    """Return whether a row, or a line of a file, holds spans and no sample."""
    if not isinstance(row, Mapping):
        return False
    return (
        isinstance(row.get(RESOURCE_SPANS), list)
        or ("context.trace_id" in row and "context.span_id" in row)
        or _trace_spans(row) is not None
        or ("context" in row and "attributes" in row)
        or any(form.fits(row) for form in RECORD_FORMS[:2])
    )


def of_sdk(span: Any) -> Span:
    """Return a `ReadableSpan` of OpenTelemetry's SDK."""
    context, parent = span.context, span.parent
    status = span.status
    failed = getattr(getattr(status, "status_code", None), "name", "") == "ERROR"
    events = tuple((event.name, dict(event.attributes or {})) for event in span.events or ())
    return Span(
        trace_id=f"{context.trace_id:032x}",
        span_id=f"{context.span_id:016x}",
        parent_id=None if parent is None else f"{parent.span_id:016x}",
        remote_parent=parent is not None and parent.is_remote,
        name=span.name or "span",
        attributes=dict(span.attributes or {}),
        events=events,
        error=error_of(status.description, events) if failed else None,
        start=span.start_time or 0,
        end=span.end_time or 0,
        dropped=span.dropped_attributes,
    )


def _of_mapping(item: Mapping[Any, Any]) -> Iterator[Span]:
    if isinstance(item.get(RESOURCE_SPANS), list):
        for resource in mappings(item[RESOURCE_SPANS]):
            for scope in mappings(resource.get("scopeSpans")):
                yield from map(_of_otlp, mappings(scope.get("spans")))
        return
    spans = _trace_spans(item)
    if spans is None:
        yield _of_one(item)
        return
    for span in spans:  # a trace of MLflow, or a row of its frame
        yield from spans_in(span)


def _of_one(item: Mapping[Any, Any]) -> Span:
    columns = {str(name): value for name, value in item.items()}
    for holder in ("context", "status"):
        if isinstance(nested := columns.get(holder), Mapping):
            columns |= {f"{holder}.{name}": value for name, value in nested.items()}
    form = next((each for each in RECORD_FORMS if each.fits(columns)), None)
    if form is not None:
        return form.span(columns)
    if "spanId" in columns:
        return _of_otlp(item)
    names = ", ".join(map(repr, list(columns)[:8])) or "nothing"
    raise InputError(f"{_FORMS}, got an object with {names}")


def _trace_spans(item: Mapping[Any, Any]) -> Iterable[Any] | None:
    data = item.get("data")
    fields = data if isinstance(data, Mapping) else item
    spans = fields.get("spans", fields.get("observations"))
    if isinstance(spans, (str, Mapping)) or not isinstance(spans, Iterable):
        return None
    return spans


def _of_otlp(span: Mapping[str, Any]) -> Span:
    status = span.get("status")
    status = status if isinstance(status, Mapping) else {}
    events = tuple(
        (str(event.get("name", "")), key_values(event.get("attributes")))
        for event in mappings(span.get("events"))
    )
    flags = whole(span.get("flags"))
    failed = status.get("code") in (2, "2", "STATUS_CODE_ERROR")
    return Span(
        trace_id=hex_id(span.get("traceId"), 16),
        span_id=hex_id(span.get("spanId"), 8),
        parent_id=hex_id(span["parentSpanId"], 8) if span.get("parentSpanId") else None,
        remote_parent=bool(flags & _KNOWS_REMOTE and flags & _REMOTE),
        name=str(span.get("name") or "span"),
        attributes=flat(key_values(span.get("attributes"))),
        events=events,
        error=error_of(status.get("message"), events) if failed else None,
        start=whole(span.get("startTimeUnixNano")),
        end=whole(span.get("endTimeUnixNano")),
        dropped=whole(span.get("droppedAttributesCount")),
    )
