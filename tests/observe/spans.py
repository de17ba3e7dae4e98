"""Spans made by hand, for the tests of their reader."""

from __future__ import annotations

import base64
from typing import Any

from fullrecall import Sample
from fullrecall import read as datasets
from fullrecall.observe.span import Span

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


def otlp(one: Span, *, encoded: bool = False) -> dict[str, Any]:
    """Return a span in OTLP JSON; with `encoded`, its IDs are base64, as in protobuf's JSON."""

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
