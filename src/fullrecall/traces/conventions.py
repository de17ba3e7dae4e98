"""What a span says of a retrieval, in the words of each convention.

OpenInference, the GenAI semantic conventions, OpenLLMetry, MLflow and Langfuse. One table of
names in one place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, TypeAlias

from fullrecall.context import Context
from fullrecall.hits import contexts_of
from fullrecall.identifiers import as_id
from fullrecall.sample import Sample
from fullrecall.traces.span import Span

Kind: TypeAlias = Literal["retriever", "reranker", "tool", "llm", "other"]

_KINDS = ("openinference.span.kind", "mlflow.spanType", "langfuse.observation.type",
          "traceloop.span.kind", "weave.kind")  # fmt: skip
_KIND_OF: dict[str, Kind] = {
    "retriever": "retriever",
    "reranker": "reranker",
    "tool": "tool",
    "llm": "llm",
    "chat_model": "llm",  # MLflow
    "generation": "llm",  # Langfuse
}
_OPERATIONS: dict[str, Kind] = {
    "retrieval": "retriever",
    "execute_tool": "tool",
    "chat": "llm",
    "text_completion": "llm",
    "generate_content": "llm",
}
"""`gen_ai.operation.name` of the GenAI conventions."""

_INPUTS = ("input.value", "mlflow.spanInputs", "langfuse.observation.input",
           "traceloop.entity.input", "weave.inputs")  # fmt: skip
_OUTPUTS = ("output.value", "mlflow.spanOutputs", "langfuse.observation.output",
            "traceloop.entity.output", "weave.output")  # fmt: skip
_QUERIES = ("gen_ai.retrieval.query.text", "reranker.query")
_DOCUMENTS = {"retriever": "retrieval.documents", "reranker": "reranker.output_documents"}
SAMPLE_ID = "fullrecall.sample_id"
"""The attribute, or the key of OpenInference's `metadata`, that names the sample of a trace."""

REDACTED = "__REDACTED__"
"""What OpenInference writes in place of a value that OPENINFERENCE_HIDE_* hides."""

_QUESTION_NAMES = ("user_input", *Sample.names()["user_input"], "query_str", "query_text", "text")
_ASKERS = ("human", "user")
_QUESTION_HOLDERS = ("query_bundle", "q", "data", "inputs", "kwargs", "args", "arguments")
_ANSWER_NAMES = ("response", *Sample.names()["response"], "result", "output_text", "replies")
_LIST_NAMES = ("retrieved_contexts", *Sample.names()["retrieved_contexts"], "context",
               "retrieved_docs", "docs")  # fmt: skip
"""Where a chain's output keeps the documents that it retrieved."""

_REPR = re.compile(r"<NodeWithScore\(node=\w+\(id_=(.+)\), score=[^()]+\)>|Document\(id=([^,]+), ")
"""How LlamaIndex's nodes and Haystack's documents stand in other spans: by their IDs."""

_COUNT_LIMIT = "set OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 where the application runs"


@dataclass(slots=True, kw_only=True)
class Step:
    """What a span says of a retrieval; everything else of it is let go.

    - `contexts`: the list that it returned. `references`: the IDs of that list, where the
      documents themselves stand in other spans. `given`: the list that it took, by identity.
    - `problem`: why its list cannot be read as a whole.
    - `holds`: the list of documents that a chain's output has under a usual name.
    - `prompts`: what a model was sent; None where the span does not say all of it.
    """

    span_id: str
    parent_id: str | None
    remote_parent: bool
    name: str
    kind: Kind
    start: float
    end: float
    query: str | None = None
    contexts: tuple[Context, ...] | None = None
    references: tuple[str, ...] | None = None
    given: frozenset[object] | None = None
    problem: str | None = None
    error: str | None = None
    holds: tuple[Context, ...] | None = None
    prompts: tuple[str, ...] | None = ()
    response: str | None = None
    sample_id: str | None = None


def step_of(span: Span, id_key: str | None = None) -> Step:
    """Return what a span says of a retrieval.

    `id_key` names the key of a document's metadata that has its ID; a document without it has
    none. Without `id_key` the ID is the document's own.
    """
    attributes = span.attributes
    kind = _kind(span)
    step = Step(
        span_id=span.span_id,
        parent_id=span.parent_id,
        remote_parent=span.remote_parent,
        name=span.name,
        kind=kind,
        start=span.start,
        end=span.end,
        error=span.error,
        sample_id=_sample_id(attributes),
    )
    given, output = _first(attributes, _INPUTS), _first(attributes, _OUTPUTS)
    read_in, read_out = _parsed(given), _parsed(output)
    query = _first(attributes, _QUERIES)
    step.query = question_of(read_in) if query is None else str(query)
    if kind == "llm":
        step.prompts = _prompts(span, read_in)
    elif kind in ("retriever", "reranker"):
        _read_list(step, span, read_out, output, id_key)
    else:
        _read_output(step, read_out, id_key)
    if step.error is not None:
        step.contexts = step.references = step.problem = step.holds = None
    step.given = _given(attributes, read_in, id_key)
    step.response = answer_of(read_out)
    return step


def question_of(value: object) -> str | None:
    """Return the question in a span's input: a text, a mapping, or the last of a human's messages.

    None where it does not say beyond doubt.
    """
    if isinstance(value, str):
        return None if value == REDACTED else value or None
    if isinstance(value, Sequence):
        said = _last_said(value, _ASKERS)
        return question_of(value[0]) if said is None and len(value) == 1 else said
    return _question_in(value) if isinstance(value, Mapping) else None


def _question_in(value: Mapping[str, Any]) -> str | None:
    named = next((value[one] for one in _QUESTION_NAMES if isinstance(value.get(one), str)), None)
    if named is not None:
        return question_of(named)
    if isinstance(value.get("messages"), list):
        return _last_said(value["messages"], _ASKERS)
    held = (value[one] for one in _QUESTION_HOLDERS if isinstance(value.get(one), (Mapping, list)))
    found = next((asked for one in held if (asked := question_of(one)) is not None), None)
    if found is not None:
        return found
    # The components of a pipeline that were asked: each with the same question.
    several = {question_of(one) for one in value.values() if isinstance(one, (Mapping, str))}
    return several.pop() if len(several) == 1 else None


def answer_of(value: object) -> str | None:
    """Return the answer in a span's output: a text, a message, or what a mapping calls one."""
    if isinstance(value, str):
        return None if value in ("", REDACTED) else value
    if not isinstance(value, Mapping):
        return None
    if value.get("type") in ("ai", "AIMessageChunk"):
        return _content(value)
    for name in _ANSWER_NAMES:
        held = value.get(name)
        if isinstance(held, list) and len(held) == 1:
            held = held[0]
        if isinstance(held, (str, Mapping)):
            return answer_of(held)
    if isinstance(value.get("messages"), list):
        return _last_said(value["messages"], ("ai", "assistant"))
    return None


def identity(context: Context) -> object:
    """Return what tells a document from others of its trace: its ID, else its text."""
    return context.id if context.id is not None else ("text", context.text)


def _kind(span: Span) -> Kind:
    for name in _KINDS:
        said = _parsed(span.attributes.get(name))
        if isinstance(said, str) and said.lower() in _KIND_OF:
            return _KIND_OF[said.lower()]
    operation = span.attributes.get("gen_ai.operation.name")
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    if any(name == "db.query.result" for name, _ in span.events):  # OpenLLMetry's vector stores
        return "retriever"
    return "other"


def _read_list(step: Step, span: Span, output: object, raw: object, id_key: str | None) -> None:
    """Read the list that a retriever or a reranker returned, or why it cannot be read."""
    contexts, problem = _attribute_documents(span, _DOCUMENTS[step.kind], id_key)
    written = _written_documents(span, output, id_key)
    references = _references(output)
    whole = span.dropped == 0 and problem is None
    if written is not None and (not whole or contexts is None or len(written) == len(contexts)):
        # One attribute has the whole list, with the IDs that the others lack.
        step.contexts = _completed(written, contexts if whole else None)
    elif whole and contexts is not None:
        step.contexts, step.problem = contexts, _cut_values(step, contexts, raw, output)
    elif whole and references is not None:
        step.references = references
    elif references and _agree(references, contexts):
        # No text at all, rather than some: a missing one would count as missed.
        step.contexts = tuple(Context(id=one) for one in references)
    elif REDACTED in (raw, span.attributes.get(_DOCUMENTS[step.kind])):
        step.problem = "its documents were hidden: OPENINFERENCE_HIDE_OUTPUTS is set"
    elif not whole:
        step.problem = problem or ""
        if span.dropped:
            step.problem = f"{span.dropped} of its attributes were dropped: {_COUNT_LIMIT}"
    if step.problem is None and step.contexts and all(map(_is_hidden, step.contexts)):
        step.contexts, step.problem = None, "its documents were hidden: OPENINFERENCE_HIDE_* is set"


def _is_hidden(context: Context) -> bool:
    return context.id is None and context.text in (None, "", REDACTED)


def _agree(references: Sequence[str], contexts: Sequence[Context] | None) -> bool:
    """Return whether IDs that stand in reprs are those of the documents that are left."""
    left = [context.id for context in contexts or () if context.id is not None]
    return bool(left) and left == list(references[-len(left) :])


def _cut_values(step: Step, contexts: Sequence[Context], raw: object, output: object) -> str | None:
    """Return that values were cut by a limit of characters, where an output ends too early."""
    if not isinstance(raw, str) or raw[:1] not in ("{", "[") or not isinstance(output, str):
        return None
    limit = len(raw)
    lacking = any(context.id is None for context in contexts)
    if lacking or any(len(context.text or "") == limit for context in contexts):
        step.contexts = None
        return (
            f"its values were cut at {limit} characters: unset "
            "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT where the application runs"
        )
    return None


def _attribute_documents(
    span: Span, prefix: str, id_key: str | None
) -> tuple[tuple[Context, ...] | None, str | None]:
    """Return the documents that stand in attributes of their own, and whether some are missing."""
    fields: dict[int, dict[str, Any]] = {}
    for name, value in _below(span.attributes, prefix):
        place, _, field = name.partition(".")
        if place.isdigit():
            fields.setdefault(int(place), {})[field.removeprefix("document.")] = value
    if not fields:
        return ((), None) if _is_empty(span.attributes.get(prefix)) else (None, None)
    found = tuple(
        context
        for place in sorted(fields)
        if (context := _document(fields[place], id_key)) is not None
    )
    if sorted(fields) != list(range(len(fields))) or len(found) != len(fields):
        return found, f"some of its {max(fields) + 1} documents are missing: {_COUNT_LIMIT}"
    return found, None


def _document(fields: Mapping[str, Any], id_key: str | None) -> Context | None:
    text, own_id, score = (fields.get(name) for name in ("content", "id", "score"))
    metadata = _parsed(fields.get("metadata"))
    if not isinstance(metadata, Mapping):
        metadata = dict(_below(fields, "metadata"))  # Phoenix keeps it as a struct
    return _context(text, own_id, score, metadata, id_key)


def _context(
    text: object, own_id: object, score: object, metadata: Mapping[str, Any], id_key: str | None
) -> Context | None:
    found = metadata.get(id_key) if id_key is not None else own_id
    try:
        own = None if found is None else as_id(found) or None
    except ValueError:
        own = None
    if not isinstance(text, str):
        text = None
    if own is None and text is None:
        return None
    return Context(text, id=own, score=_number(score), metadata=metadata)


def _written_documents(
    span: Span, output: object, id_key: str | None
) -> tuple[Context, ...] | None:
    """Return the documents in one JSON value, or in OpenLLMetry's events."""
    told = _parsed(span.attributes.get("gen_ai.retrieval.documents"))
    if told is None:
        events = [fields for name, fields in span.events if name == "db.query.result"]
        if events:
            return _event_documents(events, id_key)
        told = output
    return documents_in(told, id_key)


def documents_in(value: object, id_key: str | None = None) -> tuple[Context, ...] | None:
    """Return a list of documents in a span's output; None for what is not beyond doubt one."""
    if isinstance(value, Mapping) and isinstance(value.get("documents"), list):
        value = value["documents"]
    if not isinstance(value, list) or not all(map(_is_document, value)):
        return None
    try:
        found = contexts_of(value)
    except ValueError:
        return None
    if id_key is None:
        return found
    read = [_context(c.text, None, c.score, c.metadata, id_key) for c in found]
    return tuple(one for one in read if one is not None) if None not in read else None


def _is_document(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    named = any(isinstance(value.get(name), str) for name in ("page_content", "content", "text"))
    # GenAI's have an ID and a score, which may be null.
    return named or ("score" in value and value.get("id") is not None)


def _event_documents(
    events: Sequence[Mapping[str, Any]], id_key: str | None
) -> tuple[Context, ...] | None:
    found = []
    for event in events:
        fields = {name.removeprefix("db.query.result."): held for name, held in event.items()}
        metadata = _parsed(fields.get("metadata"))
        held = metadata if isinstance(metadata, Mapping) else {}
        # A distance is no score: the smaller is the better.
        found.append(_context(fields.get("document"), fields.get("id"), None, held, id_key))
    return None if None in found else tuple(one for one in found if one is not None)


def _completed(
    written: tuple[Context, ...], others: Sequence[Context] | None
) -> tuple[Context, ...]:
    """Return documents with the scores that stand in attributes of their own."""
    if others is None:
        return written
    return tuple(
        Context(
            one.text if one.text is not None else other.text,
            id=one.id if one.id is not None else other.id,
            score=one.score if one.score is not None else other.score,
            metadata=one.metadata or other.metadata,
        )
        for one, other in zip(written, others, strict=True)
    )


def _read_output(step: Step, output: object, id_key: str | None) -> None:
    """Read the documents that a chain or a tool returned, beside what they say."""
    if isinstance(output, Mapping) and output.get("type") == "tool":
        data = output.get("data")
        output = data.get("artifact") if isinstance(data, Mapping) else None
    if isinstance(output, list):
        if output and all(_is_langchain(one) for one in output):
            step.contexts = documents_in(output, id_key)
        step.references = _references(output) or None
    elif isinstance(output, Mapping):
        if set(output) == {"documents"}:  # a component of Haystack's
            step.references = _references(output) or None
        for name in _LIST_NAMES:
            held = output.get(name)
            if isinstance(held, list) and held and all(map(_is_langchain, held)):
                step.holds = documents_in(held, id_key)
                break


def _is_langchain(value: object) -> bool:
    return (
        isinstance(value, Mapping) and "page_content" in value and value.get("type") == "Document"
    )


def _references(value: object) -> tuple[str, ...] | None:
    """Return the IDs of nodes or documents that stand as their repr; None for anything else."""
    if isinstance(value, Mapping) and isinstance(value.get("documents"), list):
        value = value["documents"]
    if not isinstance(value, list):
        return None
    found = [_REPR.match(one) if isinstance(one, str) else None for one in value]
    return None if None in found else tuple(one[1] or one[2] for one in found if one is not None)


def _given(
    attributes: Mapping[str, Any], value: object, id_key: str | None
) -> frozenset[object] | None:
    """Return which documents a step took, where its input says."""
    lists: list[object] = [value]
    if isinstance(value, Mapping):
        lists = [held for held in value.values() if isinstance(held, list)]
        lists += [inner for held in lists for inner in held if isinstance(inner, list)]  # type: ignore[attr-defined]
    found: set[object] = set()
    for held in lists:
        found.update(map(identity, documents_in(held, id_key) or ()))
        found.update(_references(held) or ())
    for name, held in _below(attributes, "reranker.input_documents"):
        if name.endswith("document.id") and id_key is None:
            found.add(str(held))
        elif name.endswith("document.content"):
            found.add(("text", held))
    return frozenset(found) or None


def _prompts(span: Span, given: object) -> tuple[str, ...] | None:
    """Return the texts that a model was sent; None where some of them are missing or hidden."""
    if span.dropped:
        return None
    found = [str(held) for name, held in _below(span.attributes, "llm.input_messages")
             if name.endswith(("message.content", "message_content.text"))]  # fmt: skip
    prompts = span.attributes.get("llm.prompts")
    if isinstance(prompts, (list, tuple)):
        found += map(str, prompts)
    for prefix, end in (("llm.prompts", "prompt.text"), ("gen_ai.prompt", "content")):
        found += [str(held) for name, held in _below(span.attributes, prefix) if name.endswith(end)]
    for name in ("gen_ai.input.messages", "gen_ai.system_instructions"):
        found += _texts_in(_parsed(span.attributes.get(name)))
    if not found:
        found = list(_texts_in(given))
    return None if not found or REDACTED in found else tuple(found)


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for held in value.values():
            yield from _texts_in(held)
    elif isinstance(value, (list, tuple)):
        for held in value:
            yield from _texts_in(held)


def _sample_id(attributes: Mapping[str, Any]) -> str | None:
    found = attributes.get(SAMPLE_ID)
    if found is None:
        metadata = _parsed(attributes.get("metadata"))
        if isinstance(metadata, Mapping):
            found = metadata.get(SAMPLE_ID)
    try:
        return None if found is None else as_id(found) or None
    except ValueError:
        return None


def _last_said(messages: Sequence[Any], roles: Sequence[str]) -> str | None:
    for message in reversed(messages):
        if isinstance(message, Sequence) and not isinstance(message, str):
            if len(message) == 2 and message[0] in roles and isinstance(message[1], str):  # noqa: PLR2004
                return str(message[1])
            found = _last_said(message, roles)
            if found is not None:
                return found
        elif isinstance(message, Mapping):
            held = message.get("kwargs") if "kwargs" in message else message
            said = held.get("type", held.get("role")) if isinstance(held, Mapping) else None
            if said in roles or message.get("role") in roles:
                return _content(message)
    return None


def _content(message: Mapping[str, Any]) -> str | None:
    for holder in (message, message.get("data"), message.get("kwargs")):
        held = holder.get("content") if isinstance(holder, Mapping) else None
        if isinstance(held, str):
            return held or None
        if isinstance(held, list):
            parts = [one.get("text") for one in held if isinstance(one, Mapping)]
            return "".join(part for part in parts if isinstance(part, str)) or None
    return None


def _parsed(value: object) -> Any:
    """Return what a text of JSON holds; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _first(attributes: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def _below(attributes: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            yield name[len(start) :], value


def _is_empty(value: object) -> bool:
    return isinstance(value, (list, tuple)) and not value


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        return None
    return float(value)
