"""Parse spans of OpenTelemetry's SDK, OTLP JSON, Phoenix, MLflow, Langfuse and Weave."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from fullrecall._util.dataframes import is_missing, plain_value
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.observe.span import Span, below, error_of, flat, of_sdk, parsed

RESOURCE_SPANS = "resourceSpans"
"""The key by which an object of OTLP JSON is recognized."""

_REMOTE, _KNOWS_REMOTE = 0x200, 0x100
"""Bits of a span's flags in OTLP: whether its parent is remote, and whether that is known."""

_FORMS = (
    "expected spans of OpenTelemetry, OTLP JSON objects, rows of a Phoenix frame, traces of "
    "MLflow, observations of Langfuse, or calls of Weave"
)

# The names of a span's parts in these tools: the first with a value counts.
_TRACE_ID = ("context.trace_id", "trace_id", "traceId")
_SPAN_ID = ("context.span_id", "span_id", "spanId", "id")
_PARENT_ID = (
    "parentSpanId",
    "parent_span_id",
    "parentObservationId",
    "parent_observation_id",
    "parent_id",
)
_NAME = ("display_name", "op_name", "name")
_TIME = ("{}_time_unix_nano", "{}TimeUnixNano", "{}_time_ns", "{}Time", "{}ed_at", "{}_time")
_STATUS = ("status_code", "status.code", "level", "status")
_MESSAGE = ("status_message", "status.message", "statusMessage", "exception")

_COLUMNS = {
    "span_kind": "openinference.span.kind",
    "type": "langfuse.observation.type",
    "input": "langfuse.observation.input",
    "inputs": "weave.inputs",
    "output": "langfuse.observation.output",
}
"""Maps columns of Phoenix, Langfuse and Weave to the attributes whose values they hold."""

_LANGFUSE_TYPES = frozenset(
    "agent chain embedding evaluator event generation guardrail retriever span tool".split()
)


def spans_in(source: object) -> Iterator[Span]:
    """Yield the spans of one item: a span, an OTLP object, a row of a frame, or a trace.

    Raises `InputError` for anything else.
    """
    dump = getattr(source, "to_dict", None)
    if isinstance(source, Span):
        yield source
    elif isinstance(source, Mapping):
        spans = _spans_inside(source)
        if spans is None:
            yield _span_of(source)
        else:
            for span in spans:
                yield from spans_in(span)
    elif hasattr(source, "context") and hasattr(source, "attributes") and hasattr(source, "parent"):
        yield of_sdk(source)
    elif callable(dump):  # Trace or Span of MLflow, or Call of Weave
        yield from spans_in(dump())
    else:
        raise InputError(f"{_FORMS}, got {shown(source)}")


def is_span_row(row: object) -> bool:
    """Return whether a row, or a line of a file, holds spans instead of a sample."""
    if not isinstance(row, Mapping):
        return False
    return (
        ("context.trace_id" in row and "context.span_id" in row)
        or ("context" in row and "attributes" in row)
        or _spans_inside(row) is not None
        or _is_observation(row)
        or {"op_name", "id", "trace_id", "inputs"} <= row.keys()  # a call of Weave
    )


def _spans_inside(item: Mapping[Any, Any]) -> Iterable[Any] | None:
    """Return the spans in an OTLP object, or in a trace of MLflow or Langfuse; else None."""
    if isinstance(item.get(RESOURCE_SPANS), list):
        resources = _mappings(item[RESOURCE_SPANS])
        scopes = [scope for each in resources for scope in _mappings(each.get("scopeSpans"))]
        return [span for scope in scopes for span in _mappings(scope.get("spans"))]
    data = item.get("data")
    fields = data if isinstance(data, Mapping) else item
    spans = fields.get("spans", fields.get("observations"))
    if isinstance(spans, (str, Mapping)) or not isinstance(spans, Iterable):
        return None
    return spans


def _is_observation(row: Mapping[Any, Any]) -> bool:
    """Return whether a row has a Langfuse type, its own ID, and the ID of its trace."""
    kind = row.get("type")
    ids = (row.get("id"), _first(row, ("traceId", "trace_id")))
    is_known = isinstance(kind, str) and kind.lower() in _LANGFUSE_TYPES
    return is_known and all(isinstance(each, str) for each in ids)


def _span_of(item: Mapping[Any, Any]) -> Span:
    """Parse one row or object as a span; raise `InputError` if it lacks a span's IDs."""
    row = {str(name): value for name, value in item.items()}
    for holder in ("context", "status"):
        if isinstance(nested := row.get(holder), Mapping):
            row |= {f"{holder}.{name}": value for name, value in nested.items()}
    if not (is_span_row(row) or any(name in row for name in _SPAN_ID[:3])):
        names = ", ".join(map(repr, list(row)[:8])) or "nothing"
        raise InputError(f"{_FORMS}, got an object with {names}")
    events = tuple(
        (str(event.get("name", "")), _key_values(event.get("attributes")))
        for event in _mappings(plain_value(row.get("events")))
    )
    name = str(_first(row, _NAME) or "span")
    if name.startswith(_OP):
        name = name.rpartition("/")[2].partition(":")[0]
    parent, flags = _first(row, _PARENT_ID), _whole(row.get("flags"))
    code = str(_first(row, _STATUS)).upper().rpartition("_")[2]
    failed = code in ("ERROR", "2") or not is_missing(row.get("exception"))
    return Span(
        trace_id=_own_id(_first(row, _TRACE_ID)),
        span_id=_own_id(_first(row, _SPAN_ID)),
        parent_id=_own_id(parent) if parent else None,
        remote_parent=bool(flags & _KNOWS_REMOTE and flags & _REMOTE),
        name=name,
        attributes=_attributes(row),
        events=events,
        error=error_of(parsed(_first(row, _MESSAGE)), events) if failed else None,
        start=_nanoseconds(row, "start"),
        end=_nanoseconds(row, "end"),
        dropped=_whole(row.get("droppedAttributesCount")),
    )


_OP = "weave:///"
"""The beginning of the address of a Weave op; the address ends with the op's name and version."""


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's attributes under dotted names, including those in separate columns."""
    attributes = flat(_key_values(parsed(_first(row, ("attributes", "metadata")))))
    values = {n: plain_value(value) for n, value in row.items() if not is_missing(value)}
    attributes |= flat(dict(below(values, "attributes")))
    output = values.get("output")
    if isinstance(output, Mapping) and isinstance(output.get("outputs"), Mapping):
        values["output"] = output["outputs"]  # a LangChain run, in Weave
    own = {attribute: values[name] for name, attribute in _COLUMNS.items() if name in values}
    return {**own, **attributes}


def _first(row: Mapping[Any, Any], names: Sequence[str]) -> Any:
    """Return the first value that a row has in the columns `names`; None if it has none."""
    return next((row[name] for name in names if not is_missing(row.get(name))), None)


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _key_values(pairs: object) -> dict[str, Any]:
    """Return attributes as a dict, from a mapping or from OTLP JSON's pairs."""
    if isinstance(pairs, Mapping):
        return dict(pairs)
    return {str(pair.get("key")): _any_value(pair.get("value")) for pair in _mappings(pairs)}


def _any_value(value: object) -> Any:
    """Return the plain value of an `AnyValue` of OTLP JSON."""
    if not isinstance(value, Mapping) or not value:
        return None
    kind, content = next(iter(value.items()))
    inside = content.get("values") if isinstance(content, Mapping) else None
    if kind == "arrayValue":
        return [_any_value(each) for each in inside or ()]
    if kind == "kvlistValue":
        return _key_values(inside)
    return _whole(content) if kind == "intValue" else content


def _own_id(value: object) -> str:
    """Return the ID of a span or a trace as its exporter wrote it, but hex in lower case.

    Raises `InputError` without an ID.
    """
    if not isinstance(value, str) or not value:
        raise InputError(f"expected a span with a trace_id and a span_id, got {shown(value)}")
    return value.lower() if _HEX.fullmatch(value) else value


_HEX = re.compile(r"[0-9a-fA-F]+")


def _nanoseconds(row: Mapping[str, Any], moment: str) -> float:
    """Return when a row's span began ("start") or ended ("end"), in nanoseconds; 0 if unknown.

    Whole numbers in the row are nanoseconds.
    """
    value = _first(row, [name.format(moment) for name in _TIME])
    if isinstance(value, str) and not value.isdigit():
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return 0
    stamp = getattr(value, "timestamp", None)
    return float(stamp()) * 1e9 if callable(stamp) else _whole(value)


def _whole(value: object) -> int:
    """Convert a value to a whole number; return 0 if that fails."""
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return 0
