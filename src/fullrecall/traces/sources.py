"""Spans as tools return them: OpenTelemetry's SDK, OTLP JSON, Phoenix, MLflow, Langfuse, Weave."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fullrecall.errors import InputError
from fullrecall.identifiers import shown
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
        or _is_observation(row)
        or _is_call(row)
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
        error=_error(status.description, events) if failed else None,
        start=span.start_time or 0,
        end=span.end_time or 0,
        dropped=span.dropped_attributes,
    )


def _of_mapping(item: Mapping[Any, Any]) -> Iterator[Span]:
    resources = item.get(RESOURCE_SPANS)
    if isinstance(resources, list):
        for resource in resources:
            for scope in _maps(resource, "scopeSpans"):
                for span in _maps(scope, "spans"):
                    yield _of_otlp(span)
        return
    spans = _trace_spans(item)
    if spans is not None:  # a trace of MLflow, or a row of its frame
        for span in spans:
            yield from spans_in(span)
        return
    yield _of_one(item)


def _of_one(item: Mapping[Any, Any]) -> Span:
    columns = {str(name): value for name, value in item.items()}
    context = columns.get("context")
    if isinstance(context, Mapping):
        columns |= {f"context.{name}": value for name, value in context.items()}
    if _is_observation(columns):
        return _of_observation(columns)
    if _is_call(columns):
        return _of_call(columns)
    if "context.span_id" in columns or "span_id" in columns:
        return _of_row(columns)
    if "spanId" in columns:
        return _of_otlp(item)
    names = ", ".join(map(repr, list(columns)[:8])) or "nothing"
    raise InputError(f"{_FORMS}, got an object with {names}")


def _trace_spans(item: Mapping[Any, Any]) -> Iterable[Any] | None:
    data = item.get("data")
    held = data if isinstance(data, Mapping) else item
    spans = held.get("spans", held.get("observations"))
    if isinstance(spans, (str, Mapping)) or not isinstance(spans, Iterable):
        return None
    return spans


def _maps(holder: object, name: str) -> Iterable[Mapping[str, Any]]:
    held = holder.get(name) if isinstance(holder, Mapping) else None
    return [one for one in held if isinstance(one, Mapping)] if isinstance(held, list) else ()


def _of_otlp(span: Mapping[str, Any]) -> Span:
    status = span.get("status")
    status = status if isinstance(status, Mapping) else {}
    events = tuple(
        (str(event.get("name", "")), _key_values(event.get("attributes")))
        for event in _maps(span, "events")
    )
    flags = _whole(span.get("flags"))
    failed = status.get("code") in (2, "2", "STATUS_CODE_ERROR")
    return Span(
        trace_id=_hex(span.get("traceId"), 16),
        span_id=_hex(span.get("spanId"), 8),
        parent_id=_hex(span["parentSpanId"], 8) if span.get("parentSpanId") else None,
        remote_parent=bool(flags & _KNOWS_REMOTE and flags & _REMOTE),
        name=str(span.get("name") or "span"),
        attributes=flat(_key_values(span.get("attributes"))),
        events=events,
        error=_error(status.get("message"), events) if failed else None,
        start=_whole(span.get("startTimeUnixNano")),
        end=_whole(span.get("endTimeUnixNano")),
        dropped=_whole(span.get("droppedAttributesCount")),
    )


def _key_values(pairs: object) -> dict[str, Any]:
    if isinstance(pairs, Mapping):
        return dict(pairs)
    if not isinstance(pairs, list):
        return {}
    return {
        str(pair.get("key")): _any_value(pair.get("value"))
        for pair in pairs
        if isinstance(pair, Mapping)
    }


def _any_value(value: object) -> Any:
    """Return what an `AnyValue` of OTLP JSON holds."""
    if not isinstance(value, Mapping) or not value:
        return None
    kind, held = next(iter(value.items()))
    if kind == "arrayValue":
        values = held.get("values") if isinstance(held, Mapping) else None
        return [_any_value(one) for one in values or ()]
    if kind == "kvlistValue":
        return _key_values(held.get("values") if isinstance(held, Mapping) else None)
    if kind == "intValue":
        return _whole(held)
    return held


def _of_row(row: Mapping[str, Any]) -> Span:
    """Return a row of Phoenix's frame, or a span of MLflow as a mapping."""
    attributes: dict[str, Any] = {}
    held = row.get("attributes")
    if isinstance(held, Mapping):
        attributes |= flat(held)
    attributes |= flat({
        name.removeprefix("attributes."): _listed(value)
        for name, value in row.items()
        if name.startswith("attributes.") and not _is_missing(value)
    })  # fmt: skip
    kind = row.get("span_kind")
    if isinstance(kind, str):
        attributes.setdefault("openinference.span.kind", kind)
    events = tuple(
        (str(event.get("name", "")), _key_values(event.get("attributes")))
        for event in _maps({"events": _listed(row.get("events"))}, "events")
    )
    status = row.get("status")
    code, message = row.get("status_code"), row.get("status_message")
    if isinstance(status, Mapping):
        code, message = status.get("code"), status.get("message")
    elif isinstance(status, str):
        code = status
    parent = next(
        (row[name] for name in ("parent_id", "parent_span_id") if not _is_missing(row.get(name))),
        None,
    )
    own = row.get("context.span_id", row.get("span_id"))
    trace = row.get("context.trace_id", row.get("trace_id"))
    return Span(
        trace_id=_hex(trace, 16),
        span_id=_hex(own, 8),
        parent_id=_hex(parent, 8) if parent else None,
        name=str(row.get("name") or "span"),
        attributes=attributes,
        events=events,
        error=_error(message, events) if str(code).rpartition("_")[2] in ("ERROR", "2") else None,
        start=_time(row, "start_time"),
        end=_time(row, "end_time"),
    )


_OBSERVATIONS = frozenset(
    "agent chain embedding evaluator event generation guardrail retriever span tool".split()
)
"""The types of Langfuse."""


def _is_observation(row: Mapping[Any, Any]) -> bool:
    """Return whether a row is an observation of Langfuse: its type, its ID, that of its trace."""
    kind, trace = row.get("type"), row.get("traceId", row.get("trace_id"))
    return (
        isinstance(kind, str)
        and kind.lower() in _OBSERVATIONS
        and all(isinstance(own, str) for own in (row.get("id"), trace))
    )


def _of_observation(row: Mapping[str, Any]) -> Span:
    """Return an observation of Langfuse, in the names of its API or of its Python client."""

    def of(camel: str, snake: str) -> Any:
        value = row.get(camel, row.get(snake))
        return None if _is_missing(value) else _listed(value)

    metadata = of("metadata", "metadata")
    if isinstance(metadata, str) and metadata.lstrip().startswith("{"):
        metadata = _json(metadata)
    attributes = flat(metadata) if isinstance(metadata, Mapping) else {}
    attributes["langfuse.observation.type"] = row["type"].lower()
    for name in ("input", "output"):
        value = of(name, name)
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            attributes[f"langfuse.observation.{name}"] = text
    failed = str(row.get("level")).upper() == "ERROR"
    parent = of("parentObservationId", "parent_observation_id")
    return Span(
        trace_id=_hex(of("traceId", "trace_id"), 16),
        span_id=_hex(row["id"], 8),
        parent_id=_hex(parent, 8) if parent else None,
        name=str(row.get("name") or "span"),
        attributes=attributes,
        error=_error(of("statusMessage", "status_message"), ()) if failed else None,
        start=_time({"start": of("startTime", "start_time")}, "start"),
        end=_time({"end": of("endTime", "end_time")}, "end"),
    )


def _is_call(row: Mapping[Any, Any]) -> bool:
    """Return whether a row is a call of Weave: an op, its ID, that of its trace, its inputs."""
    named = all(isinstance(row.get(name), str) for name in ("op_name", "id", "trace_id"))
    return named and "inputs" in row


def _of_call(row: Mapping[str, Any]) -> Span:
    """Return a call of Weave. An op that searches says so: `@weave.op(kind="search")`."""
    held = row.get("attributes")
    attributes = flat(held) if isinstance(held, Mapping) else {}
    inputs, output = _listed(row["inputs"]), _listed(row.get("output"))
    if isinstance(output, Mapping) and isinstance(output.get("outputs"), Mapping):
        output = output["outputs"]  # a run of LangChain
    for name, value in (("inputs", inputs), ("output", output)):
        if not _is_missing(value):
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            attributes[f"weave.{name}"] = text
    problem = row.get("exception")
    if isinstance(problem, str) and isinstance(told := _json(problem), Mapping):
        problem = ": ".join(str(told[name]) for name in ("type", "message") if told.get(name))
    parent = row.get("parent_id")
    return Span(
        trace_id=_hex(row["trace_id"], 16),
        span_id=_hex(row["id"], 8),
        parent_id=_hex(parent, 8) if isinstance(parent, str) and parent else None,
        name=str(row.get("display_name") or row["op_name"]).rpartition("/")[2].partition(":")[0],
        attributes=attributes,
        error=None if _is_missing(problem) else _error(problem, ()),
        start=_time({"start": row.get("started_at")}, "start"),
        end=_time({"end": row.get("ended_at")}, "end"),
    )


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _time(row: Mapping[str, Any], name: str) -> float:
    value = next(
        (row[key] for key in (f"{name}_unix_nano", f"{name}_ns", name) if row.get(key) is not None),
        0,
    )
    stamp = getattr(value, "timestamp", None)
    if callable(stamp):
        return float(stamp())
    if isinstance(value, str):
        from datetime import datetime

        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return _whole(value)
    return _whole(value)


def _hex(value: object, size: int) -> str:
    """Return an ID of `size` bytes as hex; what protobuf's own JSON wrote is base64."""
    if not isinstance(value, str) or not value:
        raise InputError(f"expected a span with a trace_id and a span_id, got {shown(value)}")
    if len(value) == 2 * size:
        return value.lower()
    try:
        read = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value
    return read.hex() if len(read) == size else value


def _error(description: object, events: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Return why a span failed, in one line."""
    text = description if isinstance(description, str) else ""
    if not text.strip():
        raised = next((fields for name, fields in events if name == "exception"), {})
        kind, message = raised.get("exception.type"), raised.get("exception.message")
        text = ": ".join(str(part) for part in (kind, message) if part) or "the span failed"
    line = " ".join(text.partition("Traceback (most recent call last)")[0].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


_LONGEST = 200
"""Characters of a message that a reason shows."""


def _whole(value: object) -> int:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return 0


def _listed(value: object) -> Any:
    """Return arrays, also within lists and mappings, as plain values."""
    convert = getattr(value, "tolist", None)
    if callable(convert):
        value = convert()
    if isinstance(value, Mapping):
        return {name: _listed(held) for name, held in value.items()}
    return [_listed(one) for one in value] if isinstance(value, (list, tuple)) else value


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value  # noqa: PLR0124 - NaN
