"""A span as one flat record of a tool: a row of Phoenix or MLflow, an observation, a call."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, TypeAlias

from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.traces.span import Span, flat

Names: TypeAlias = tuple[str, ...]

_LONGEST = 200
"""Characters of a message that a reason shows."""


class RecordForm:
    """Under which names one tool keeps the parts of a span; the first that has a value counts.

    - `values`: attributes of the span, by the names of their columns. What is no text is put
      there as JSON.
    - `messages`: why it failed.
    """

    trace_id: ClassVar[Names] = ("trace_id",)
    span_id: ClassVar[Names] = ("id",)
    parent_id: ClassVar[Names] = ("parent_id",)
    name: ClassVar[Names] = ("name",)
    start: ClassVar[Names] = ("start_time",)
    end: ClassVar[Names] = ("end_time",)
    attributes: ClassVar[Names] = ("attributes",)
    values: ClassVar[Mapping[str, Names]] = {}
    messages: ClassVar[Names] = ()

    def fits(self, row: Mapping[Any, Any]) -> bool:
        """Return whether a row is a record of this form."""
        raise NotImplementedError

    def failed(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row says that its span failed."""
        raise NotImplementedError

    def span(self, row: Mapping[str, Any]) -> Span:
        """Return a row as a span; raise `InputError` for one without the IDs of one."""
        events = tuple(
            (str(event.get("name", "")), key_values(event.get("attributes")))
            for event in mappings(listed(row.get("events")))
        )
        parent = first(row, self.parent_id)
        return Span(
            trace_id=hex_id(first(row, self.trace_id), 16),
            span_id=hex_id(first(row, self.span_id), 8),
            parent_id=hex_id(parent, 8) if parent else None,
            name=str(first(row, self.name) or "span"),
            attributes=self.attributes_of(row),
            events=events,
            error=error_of(first(row, self.messages), events) if self.failed(row) else None,
            start=nanoseconds(row, self.start),
            end=nanoseconds(row, self.end),
        )

    def attributes_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of a row under dotted names."""
        payload = from_json(first(row, self.attributes))
        attributes = flat(payload) if isinstance(payload, Mapping) else {}
        for attribute, names in self.values.items():
            value = listed(first(row, names))
            if value is not None:
                text = value if isinstance(value, str) else json.dumps(value, default=str)
                attributes[attribute] = text
        return attributes


class SpanRow(RecordForm):
    """A row of Phoenix's frame, or a span of MLflow or of OpenTelemetry's SDK as a mapping."""

    trace_id = ("context.trace_id", "trace_id")
    span_id = ("context.span_id", "span_id")
    parent_id = ("parent_id", "parent_span_id")
    start = ("start_time_unix_nano", "start_time_ns", "start_time")
    end = ("end_time_unix_nano", "end_time_ns", "end_time")
    messages = ("status_message", "status.message")

    def fits(self, row: Mapping[Any, Any]) -> bool:
        """Return whether a row has the ID of a span."""
        return "context.span_id" in row or "span_id" in row

    def failed(self, row: Mapping[str, Any]) -> bool:
        """Return whether its status is an error, as a number or a name."""
        code = first(row, ("status_code", "status.code", "status"))
        return str(code).rpartition("_")[2] in ("ERROR", "2")

    def attributes_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return its attributes, those in columns of their own too."""
        columns = {
            name.removeprefix("attributes."): listed(value)
            for name, value in row.items()
            if name.startswith("attributes.") and not is_missing(value)
        }
        attributes = {**super().attributes_of(row), **flat(columns)}
        if isinstance(row.get("span_kind"), str):
            attributes.setdefault("openinference.span.kind", row["span_kind"])
        return attributes


class Observation(RecordForm):
    """An observation of Langfuse, in the names of its API or of its Python client."""

    trace_id = ("traceId", "trace_id")
    parent_id = ("parentObservationId", "parent_observation_id")
    start = ("startTime", "start_time")
    end = ("endTime", "end_time")
    attributes = ("metadata",)
    values: ClassVar[Mapping[str, Names]] = {
        "langfuse.observation.type": ("type",),
        "langfuse.observation.input": ("input",),
        "langfuse.observation.output": ("output",),
    }
    messages = ("statusMessage", "status_message")
    _types: ClassVar[frozenset[str]] = frozenset(
        "agent chain embedding evaluator event generation guardrail retriever span tool".split()
    )

    def fits(self, row: Mapping[Any, Any]) -> bool:
        """Return whether a row has a type of Langfuse's, its ID, and that of its trace."""
        kind = row.get("type")
        ids = (row.get("id"), first(row, self.trace_id))
        is_known = isinstance(kind, str) and kind.lower() in self._types
        return is_known and all(isinstance(each, str) for each in ids)

    def failed(self, row: Mapping[str, Any]) -> bool:
        """Return whether its level is an error."""
        return str(row.get("level")).upper() == "ERROR"


class WeaveCall(RecordForm):
    """A call of Weave. An op that searches says so: `@weave.op(kind="search")`."""

    name = ("display_name", "op_name")
    start = ("started_at",)
    end = ("ended_at",)
    values: ClassVar[Mapping[str, Names]] = {
        "weave.inputs": ("inputs",),
        "weave.output": ("output",),
    }
    messages = ("exception",)

    def fits(self, row: Mapping[Any, Any]) -> bool:
        """Return whether a row has an op, its ID, that of its trace, and its inputs."""
        named = all(isinstance(row.get(name), str) for name in ("op_name", "id", "trace_id"))
        return named and "inputs" in row

    def failed(self, row: Mapping[str, Any]) -> bool:
        """Return whether it raised."""
        return not is_missing(row.get("exception"))

    def span(self, row: Mapping[str, Any]) -> Span:
        """Return a call: its op without the address, its exception in a line."""
        output, problem = listed(row.get("output")), from_json(row.get("exception"))
        if isinstance(output, Mapping) and isinstance(output.get("outputs"), Mapping):
            output = output["outputs"]  # a run of LangChain
        if isinstance(problem, Mapping):
            parts = (problem.get(name) for name in ("type", "message"))
            problem = ": ".join(str(part) for part in parts if part)
        name = str(first(row, self.name)).rpartition("/")[2].partition(":")[0]
        return super().span(
            {
                **row,
                "output": output,
                "exception": problem,
                "display_name": name,
            }
        )


RECORD_FORMS = (Observation(), WeaveCall(), SpanRow())
"""Tried in this order: an observation may have the column of a span's ID, too."""


def first(row: Mapping[Any, Any], names: Sequence[str]) -> Any:
    """Return the first of these columns that has a value; None if none has."""
    return next((row[name] for name in names if not is_missing(row.get(name))), None)


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings in a list; of anything else none."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def key_values(pairs: object) -> dict[str, Any]:
    """Return attributes, as a mapping or as pairs of OTLP JSON."""
    if isinstance(pairs, Mapping):
        return dict(pairs)
    return {str(pair.get("key")): _any_value(pair.get("value")) for pair in mappings(pairs)}


def _any_value(value: object) -> Any:
    """Return what an `AnyValue` of OTLP JSON holds."""
    if not isinstance(value, Mapping) or not value:
        return None
    kind, content = next(iter(value.items()))
    inside = content.get("values") if isinstance(content, Mapping) else None
    if kind == "arrayValue":
        return [_any_value(each) for each in inside or ()]
    if kind == "kvlistValue":
        return key_values(inside)
    return whole(content) if kind == "intValue" else content


def hex_id(value: object, size: int) -> str:
    """Return an ID of `size` bytes as hex; what protobuf's own JSON wrote is base64."""
    if not isinstance(value, str) or not value:
        raise InputError(f"expected a span with a trace_id and a span_id, got {shown(value)}")
    if len(value) == 2 * size:
        return value.lower()
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value
    return decoded.hex() if len(decoded) == size else value


def error_of(description: object, events: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Return why a span failed, in one line."""
    text = description if isinstance(description, str) else ""
    if not text.strip():
        raised = next((fields for name, fields in events if name == "exception"), {})
        kind, message = raised.get("exception.type"), raised.get("exception.message")
        text = ": ".join(str(part) for part in (kind, message) if part) or "the span failed"
    line = " ".join(text.partition("Traceback (most recent call last)")[0].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def nanoseconds(row: Mapping[str, Any], names: Sequence[str]) -> float:
    """Return a time in nanoseconds: whole numbers are; 0 where there is none."""
    value = first(row, names)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return whole(value)
    stamp = getattr(value, "timestamp", None)
    return float(stamp()) * 1e9 if callable(stamp) else whole(value)


def whole(value: object) -> int:
    """Return a whole number; 0 for what is none."""
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return 0


def from_json(value: object) -> Any:
    """Return what a text of JSON holds; any other value as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def listed(value: object) -> Any:
    """Return arrays, also within lists and mappings, as plain values."""
    convert = getattr(value, "tolist", None)
    if callable(convert):
        value = convert()
    if isinstance(value, Mapping):
        return {name: listed(item) for name, item in value.items()}
    return [listed(each) for each in value] if isinstance(value, (list, tuple)) else value


def is_missing(value: object) -> bool:
    """Return whether a cell of a frame has no value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value  # noqa: PLR0124 - NaN


_DEPARTURES = frozenset(
    {"GeneratorExit", "GraphInterrupt", "NodeInterrupt", "GraphDrained", "ParentCommand"}
)


def left_early(error: str) -> bool:
    """Return whether this error, beginning with its class, says of a step no more than that.

    A stream that nobody reads on, a step that waits for a human, one that hands over to the graph
    around its own: LangGraph raises what these are, and traces write down errors.
    """
    return _CLASS.split(error, maxsplit=1)[0].rpartition(".")[2] in _DEPARTURES


_CLASS = re.compile(r"[(:\s]")
