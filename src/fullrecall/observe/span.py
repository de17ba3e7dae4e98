"""One span of any tracing tool, in one form: IDs, times, status, and flat attributes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A finished span, as its exporter wrote it.

    - `trace_id`, `span_id`, `parent_id`: as the exporter wrote them; the parent of a root is None.
      `remote_parent`: whether the parent ran in another process.
    - `attributes`: flat, under dotted names.
    - `events`: the name and the attributes of each.
    - `error`: why the span failed; None without a failure.
    - `start`, `end`: in nanoseconds of one clock; 0 if unknown.
    - `dropped`: the number of attributes that the exporter left out.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    remote_parent: bool = False
    name: str = "span"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[tuple[str, Mapping[str, Any]]] = ()
    error: str | None = None
    start: float = 0
    end: float = 0
    dropped: int = 0

    @property
    def departure(self) -> str | None:
        """The first message of an exception that the span recorded, or None.

        A step that left early without failing has such a message, but no `error`.
        """
        raised = (fields for name, fields in self.events if name == "exception")
        messages = (fields.get("exception.message") for fields in raised)
        return next((str(each) for each in messages if each is not None), None)


def of_sdk(span: Any) -> Span:
    """Convert a `ReadableSpan` of OpenTelemetry's SDK."""
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


def error_of(description: object, events: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Return the reason why a span failed, in one line.

    `description` is a text, or a mapping with an exception's type and message.
    """
    # Import here: reading samples then loads fewer modules.
    from fullrecall.observe import brief

    text = description if isinstance(description, str) else ""
    if not text.strip():
        raised = next((fields for name, fields in events if name == "exception"), {})
        fields = (
            description if isinstance(description, Mapping) else dict(below(raised, "exception"))
        )
        parts = (fields.get("type"), fields.get("message"))
        text = ": ".join(str(part) for part in parts if part) or "the span failed"
    return brief(text)


_CLASS = re.compile(r"[(:\s]")
_DEPARTURES = frozenset(
    {"GeneratorExit", "GraphInterrupt", "NodeInterrupt", "GraphDrained", "ParentCommand"}
)


def left_early(error: str) -> bool:
    """Return whether an error, which begins with its class, only means that a step left early.

    LangGraph raises an exception if a step's stream is no longer read, if the step waits for a
    human, or if it hands over to the outer graph. Traces record these exceptions as errors.
    """
    return _CLASS.split(error, maxsplit=1)[0].rpartition(".")[2] in _DEPARTURES


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested attributes under dotted names: `{"a": [{"b": 1}]}` as `{"a.0.b": 1}`.

    A list of plain values stays a list. An empty list stays too, since it means no items.
    """
    attributes: dict[str, Any] = {}
    for name, content in value.items():
        if content is None:
            continue
        key = f"{prefix}{name}"
        if isinstance(content, Mapping):
            attributes |= flat(content, f"{key}.")
        elif isinstance(content, (list, tuple)) and any(isinstance(i, Mapping) for i in content):
            attributes |= flat({str(index): item for index, item in enumerate(content)}, f"{key}.")
        else:
            attributes[key] = content
    return attributes


def parsed(value: object) -> Any:
    """Parse a JSON object, list or string; return any other value unchanged."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def below(attributes: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield each attribute whose name begins with `prefix.`: the rest of the name and the value."""
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            yield name[len(start) :], value


def numbered(attributes: Mapping[str, Any], prefix: str, kind: str) -> dict[int, dict[str, Any]]:
    """Return the fields (`id`) of attributes such as `PREFIX.0.KIND.id`, by number, in order."""
    fields: dict[int, dict[str, Any]] = {}
    for name, value in below(attributes, prefix):
        position, _, field_name = name.partition(".")
        if position.isdigit():
            own = fields.setdefault(int(position), {})
            own[field_name.removeprefix(f"{kind}.")] = value
    return dict(sorted(fields.items()))
