"""One span of any tracing tool in one form: IDs, times, status, and flat attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A finished span, as its exporter wrote it.

    - `trace_id`, `span_id`, `parent_id`: as lowercase hex where they are OpenTelemetry's; the
      parent is None for a root. `remote_parent`: the parent ran in another process.
    - `attributes`: flat, under dotted names.
    - `events`: the name and the attributes of each.
    - `error`: why it failed, None where it did not.
    - `start`, `end`: in nanoseconds of one clock, 0 where unknown.
    - `dropped`: attributes that the exporter left out.
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
        """What is told of an exception with which a step left early, and did not fail.

        LangGraph hands a `Command` to an outer graph so: its repr is all that a span has of it.
        """
        raised = (fields for name, fields in self.events if name == "exception")
        messages = (fields.get("exception.message") for fields in raised)
        return next((str(each) for each in messages if each is not None), None)


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested attributes under dotted names: `{"a": [{"b": 1}]}` as `{"a.0.b": 1}`.

    A list of plain values stays one; an empty list stays, since it says that nothing is there.
    """
    read_attributes: dict[str, Any] = {}
    for name, content in value.items():
        if content is None:
            continue
        key = f"{prefix}{name}"
        if isinstance(content, Mapping):
            read_attributes.update(flat(content, f"{key}."))
        elif isinstance(content, (list, tuple)) and any(
            isinstance(each, Mapping) for each in content
        ):
            items = {str(index): each for index, each in enumerate(content)}
            read_attributes.update(flat(items, f"{key}."))
        else:
            read_attributes[key] = content
    return read_attributes
